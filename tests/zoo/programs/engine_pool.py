# SPDX-License-Identifier: Apache-2.0
# class: kv-cache-dominates
# mended: 1
"""A serving engine with a pool of pages for each layer, made after the weights were loaded."""
import os
import torch
from torch import nn

M = "ZOO_MENDED" not in os.environ


class Pool:
    def __init__(self, layers, pages, dtype):
        self.k = [torch.zeros(pages, 16, 8, 64, dtype=dtype, device="cuda") for _ in range(layers)]  # <- the mistake
        self.v = [torch.zeros(pages, 16, 8, 64, dtype=dtype, device="cuda") for _ in range(layers)]  # <- the mistake


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.o = nn.Linear(512, 1536), nn.Linear(512, 512)

    def forward(self, x, k, v, page, slot):
        q, a, b = self.qkv(x).chunk(3, -1)
        k[page, slot], v[page, slot] = a.view(-1, 8, 64).to(k.dtype), b.view(-1, 8, 64).to(v.dtype)
        s = torch.einsum("bhd,bthd->bht", q.view(-1, 8, 64), k[page].to(x.dtype)).softmax(-1)
        return x + self.o(torch.einsum("bht,bthd->bhd", s, v[page].to(x.dtype)).flatten(1))


class Engine:
    def __init__(self):
        self.layers = nn.ModuleList(Layer() for _ in range(10)).cuda().half()
        self.pool = Pool(10, 6000, torch.float16 if M else torch.int8)

    @torch.inference_mode()
    def run(self, tokens):
        x, page = torch.randn(48, 512, device="cuda", dtype=torch.half), torch.arange(48, device="cuda")
        for t in range(tokens):
            for l, k, v in zip(self.layers, self.pool.k, self.pool.v):
                x = l(x, k, v, page, t % 16)


Engine().run(24)
