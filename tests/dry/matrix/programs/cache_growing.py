# SPDX-License-Identifier: Apache-2.0
"""Inference with a cache that grows."""
import torch

cache = torch.empty(2, 8, 0, 64, device="cuda", dtype=torch.float16)
with torch.no_grad():
    for _ in range(64):
        new = torch.randn(2, 8, 4, 64, device="cuda", dtype=torch.float16)
        cache = torch.cat([cache, new], 2)
        out = torch.nn.functional.scaled_dot_product_attention(new, cache, cache)
