# SPDX-License-Identifier: Apache-2.0
"""Inference with a cache that is written in place."""
import torch

cache = torch.zeros(2, 2, 8, 256, 64, device="cuda", dtype=torch.bfloat16)
with torch.inference_mode():
    for i in range(64):
        new = torch.randn(2, 8, 1, 64, device="cuda", dtype=torch.bfloat16)
        at = torch.tensor([i], device="cuda")
        cache[0].index_copy_(2, at, new)
        cache[1].index_copy_(2, at, new)
        mask = torch.arange(256, device="cuda")[None, None, None] <= at
        out = torch.nn.functional.scaled_dot_product_attention(new, cache[0], cache[1], attn_mask=mask)
