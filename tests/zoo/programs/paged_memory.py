# SPDX-License-Identifier: Apache-2.0
# class: kv-cache-dominates
# mended: 2
"""Pages for keys and values, laid out before the first request: nine tenths of all memory."""
import os

import torch

VARIANT = int(os.environ.get("ZOO_MENDED", 0))
kind = torch.int8 if VARIANT == 1 else torch.bfloat16
heads = 2 if VARIANT == 2 else 8
matrices = [torch.randn(768, 768, device="cuda", dtype=torch.bfloat16) for _ in range(18)]
pages = [torch.zeros(2, 4096, 16, heads, 96, device="cuda", dtype=kind) for _ in range(18)]  # <- the mistake


@torch.no_grad()
def decode(x, slots):
    for w, page in zip(matrices, pages):
        part = (x @ w)[:, :heads * 96].view(-1, heads, 96)
        page[0, slots, 0] = part.to(kind)
        page[1, slots, 1] = part.to(kind)
        seen = page[:, slots].float().mean(2).sum(0).view(x.shape[0], -1)
        x = x + torch.nn.functional.pad(seen, (0, 768 - heads * 96)).bfloat16()
    return x


state = torch.randn(64, 768, device="cuda", dtype=torch.bfloat16)
for step in range(30):
    slots = torch.arange(64, device="cuda") + step
    state = decode(state, slots)
