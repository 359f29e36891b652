# SPDX-License-Identifier: Apache-2.0
# since: 2.5
"""cuDNN's attention."""
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

q, k, v = (torch.randn(2, 8, 256, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
    torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
