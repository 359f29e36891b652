# SPDX-License-Identifier: Apache-2.0
# class: unfused-attention
# compare: peak
"""Masked modelling of genomes: attention with a learned bias for distance, written out."""
import math
import os

import torch
import torch.nn.functional as F
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")
BASES = 1536


class DistanceAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def split(self, x):
        b, n, c = x.shape
        return x.view(b, n, self.heads, c // self.heads).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        if MENDED:
            mixed = F.scaled_dot_product_attention(q, k, v)
        else:
            affinity = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])  # <- the mistake
            weights = affinity.softmax(-1)  # <- the mistake
            mixed = torch.einsum("bhij,bhjd->bhid", weights, v)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, width=640, heads=10):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = DistanceAttention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class Genome(nn.Module):
    def __init__(self, depth=6, width=640):
        super().__init__()
        self.letters, self.places = nn.Embedding(8, width), nn.Embedding(BASES, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))
        self.head = nn.Linear(width, 8)

    def forward(self, x):
        x = self.letters(x) + self.places.weight
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def main():
    model = Genome().to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    for _ in range(4):
        genome = torch.randint(0, 4, (8, BASES), device="cuda")
        loss = F.cross_entropy(model(genome.clone()).flatten(0, 1).float(), genome.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del loss


main()
