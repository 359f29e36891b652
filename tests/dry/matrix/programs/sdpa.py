# SPDX-License-Identifier: Apache-2.0
"""Each kernel of scaled dot product attention that the card has."""
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

for backend in (SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION):
    q, k, v = (torch.randn(2, 8, 256, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    with sdpa_kernel(backend):
        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
