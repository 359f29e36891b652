# SPDX-License-Identifier: Apache-2.0
# class: kv-cache-dominates
"""A server in vLLM's way: after loading, a block pool for each layer takes most of the card; sequences get pages. Mended: half as many pages."""
import os

import torch
from torch import nn

PAGES = 2400 if "ZOO_MENDED" not in os.environ else 1200
LAYERS, HEADS, DIM, PAGE = 10, 8, 64, 16


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.pages = None

    def forward(self, x, slots, table):
        q, k, v = self.qkv(x).view(-1, 3, HEADS, DIM).unbind(1)
        self.pages[0].view(-1, HEADS, DIM)[slots] = k
        self.pages[1].view(-1, HEADS, DIM)[slots] = v
        out = []
        for row, pages in enumerate(table):
            keys, values = (self.pages[i][pages].flatten(0, 1).transpose(0, 1) for i in range(2))
            out.append(nn.functional.scaled_dot_product_attention(q[row, :, None], keys, values))
        return self.out(torch.stack(out).flatten(1))


class Worker:
    def __init__(self):
        width = HEADS * DIM
        self.words = nn.Embedding(20000, width).to("cuda", torch.half)
        self.layers = nn.ModuleList(Attention(width) for _ in range(LAYERS)).to("cuda", torch.half)

    def initialize_blocks(self):
        for layer in self.layers:
            layer.pages = torch.zeros(2, PAGES, PAGE, HEADS, DIM, dtype=torch.half, device="cuda")  # <- the mistake

    @torch.inference_mode()
    def step(self, tokens, position, table):
        slots = torch.tensor([pages[position // PAGE] * PAGE + position % PAGE for pages in table], device="cuda")
        tables = [torch.tensor(pages[:position // PAGE + 1], device="cuda") for pages in table]
        x = self.words(tokens)
        for layer in self.layers:
            x = x + layer(x, slots, tables)
        return (x @ self.words.weight.t()).argmax(-1)


worker = Worker()
worker.initialize_blocks()
tables = [[i * 8 + j for j in range(8)] for i in range(12)]
tokens = torch.zeros(12, dtype=torch.long, device="cuda")
for position in range(40):
    tokens = worker.step(tokens, position, tables)
