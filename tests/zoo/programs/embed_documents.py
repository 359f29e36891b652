# SPDX-License-Identifier: Apache-2.0
# class: no-inference-mode
"""Embeds documents with a model in eval(), but with autograd on."""
import contextlib
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Embedder(nn.Module):
    def __init__(self, width=512, layers=8):
        super().__init__()
        self.words = nn.Embedding(20000, width)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(layers)])

    def forward(self, tokens):
        return self.blocks(self.words(tokens)).mean(1)


embedder = Embedder().cuda().eval()
vectors = []
with contextlib.nullcontext() if MISTAKE else torch.inference_mode():
    for _ in range(5):
        tokens = torch.randint(0, 20000, (24, 512), device="cuda")
        vectors.append(embedder(tokens).detach().cpu())  # <- the mistake
