# SPDX-License-Identifier: Apache-2.0
# environment: PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync
# gmdry: --memory 2GiB
# trace: none
# verdict: OOM
"""The driver's own allocator, more than there is."""
import torch

held = [torch.empty(1 << 28, dtype=torch.uint8, device="cuda") for _ in range(10)]
