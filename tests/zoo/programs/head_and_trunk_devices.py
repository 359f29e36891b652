# SPDX-License-Identifier: Apache-2.0
# class: uneven-devices
# gmdry: --devices 2
"""A diffusion transformer is cut over two devices by the number of its parts, not by their weight. Mended: cut by weight."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Part(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))  # <- the mistake


class Split(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([*[Part(1024, 8192) for _ in range(6)], *[Part(1024, 1024) for _ in range(6)]])
        cut = 6 if MISTAKE else 3
        for i, part in enumerate(self.parts):
            part.to("cuda:0" if i < cut else "cuda:1")  # <- the mistake
        self.out = nn.Linear(1024, 1024).to("cuda:1")

    def forward(self, x):
        for part in self.parts:
            x = part(x.to(part.up.weight.device))  # <- the mistake
        return self.out(x)


model = Split()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
for step in range(4):
    noise = torch.randn(16, 512, 1024, device="cuda:0")
    model(noise).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    del noise
