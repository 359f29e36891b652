# SPDX-License-Identifier: Apache-2.0
# class: unfused-attention
"""Reads a long prompt with the math kernel of scaled_dot_product_attention only."""
import os

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

MISTAKE = "ZOO_MENDED" not in os.environ
kind = dict(device="cuda", dtype=torch.float16)
layers = [(torch.randn(1024, 3072, **kind), torch.randn(1024, 1024, **kind)) for _ in range(8)]


def attend(x, wqkv, wo):
    length = x.shape[0]
    q, k, v = (x @ wqkv).view(length, 3, 16, 64).permute(1, 2, 0, 3).unsqueeze(1)
    with sdpa_kernel(SDPBackend.MATH if MISTAKE else SDPBackend.FLASH_ATTENTION):
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # <- the mistake
    return x + mixed[0].transpose(0, 1).reshape(length, 1024) @ wo


with torch.no_grad():
    for length in (2048, 4096, 4096):
        state = torch.randn(length, 1024, **kind)
        for layer in layers:
            state = attend(state, *layer)
