# SPDX-License-Identifier: Apache-2.0
# class: frozen-gradients
# compare: peak
"""Adapters in a conformer-like speech encoder. The base was meant to be frozen, but only eval() was called on it."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")


class Adapter(nn.Module):
    def __init__(self, width, rank=32):
        super().__init__()
        self.down, self.up = nn.Linear(width, rank), nn.Linear(rank, width)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return x + self.up(self.down(x).relu())


class Conformer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))
        self.wave = nn.Conv1d(width, width, 15, padding=7, groups=width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        x = x + 0.5 * self.mlp(self.norms[0](x))
        q, k, v = self.qkv(self.norms[1](x)).unflatten(-1, (3, 16, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.wave(self.norms[2](x).transpose(1, 2)).transpose(1, 2)


class Recogniser(nn.Module):
    def __init__(self, width=1024, depth=14, letters=64):
        super().__init__()
        self.front = nn.Conv1d(80, width, 3, stride=2, padding=1)
        self.base = nn.ModuleList(Conformer(width) for _ in range(depth))
        self.adapters = nn.ModuleList(Adapter(width) for _ in range(depth))
        self.letters = nn.Linear(width, letters)

    def freeze(self):
        for module in (self.front, self.base):
            module.eval()
            if MENDED:
                module.requires_grad_(False)

    def forward(self, mel):
        x = self.front(mel).transpose(1, 2)
        for block, adapter in zip(self.base, self.adapters):
            x = adapter(block(x))
        return self.letters(x)


def main():
    model = Recogniser().cuda()
    model.freeze()
    trained = [*model.adapters.parameters(), *model.letters.parameters()]
    optimizer = torch.optim.AdamW(trained, lr=1e-3, fused=True)
    for _ in range(6):
        mel, target = torch.randn(2, 80, 400).cuda(), torch.randint(0, 64, (2, 200)).cuda()
        loss = F.cross_entropy(model(mel).transpose(1, 2), target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # <- the mistake
        optimizer.step()
        del loss


if __name__ == "__main__":
    main()
