# SPDX-License-Identifier: Apache-2.0
# environment: PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync
"""The driver's own allocator in place of PyTorch's."""
import torch

x = torch.randn(1024, 1024, device="cuda")
y = x @ x
