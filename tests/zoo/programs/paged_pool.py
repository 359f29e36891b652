# SPDX-License-Identifier: Apache-2.0
# class: kv-cache-dominates
"""Serving with pages: one tensor has the keys and values of all layers; requests get pages of it. Mended: half the pages."""
import os

import torch
from torch import nn

PAGES = 4096 if "ZOO_MENDED" not in os.environ else 2048
LAYERS, HEADS, DIM, PAGE = 8, 8, 128, 16


class Pool:
    def __init__(self):
        self.data = torch.empty(LAYERS, 2, PAGES, PAGE, HEADS, DIM, device="cuda", dtype=torch.bfloat16)  # <- the mistake
        self.free = list(range(PAGES))

    def take(self, count):
        return [self.free.pop() for _ in range(count)]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        width = HEADS * DIM
        self.emb = nn.Embedding(16000, width)
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(LAYERS))
        self.mlp = nn.ModuleList(nn.Linear(width, width) for _ in range(LAYERS))

    def forward(self, ids, pool, pages):
        x = self.emb(ids)
        for i in range(LAYERS):
            q, k, v = self.qkv[i](x).view(len(ids), 3, HEADS, DIM).unbind(1)
            page = torch.tensor(pages, device="cuda")
            slot = torch.arange(len(ids), device="cuda")
            pool.data[i, 0][page[slot // PAGE], slot % PAGE] = k
            pool.data[i, 1][page[slot // PAGE], slot % PAGE] = v
            y = nn.functional.scaled_dot_product_attention(*(t.transpose(0, 1) for t in (q, k, v)), is_causal=True)
            x = x + self.mlp[i](y.transpose(0, 1).flatten(1))
        return x[-1]


model, pool = Model().cuda().bfloat16(), Pool()
with torch.inference_mode():
    for request in range(12):
        length = 64 + 16 * request
        pages = pool.take((length + PAGE - 1) // PAGE)
        model(torch.randint(16000, (length,), device="cuda"), pool, pages)
