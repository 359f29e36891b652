# SPDX-License-Identifier: Apache-2.0
# class: activations-dominate
"""A stack of identical gated blocks in a ModuleList, with a wide batch."""
import os
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

M = "ZOO_MENDED" not in os.environ


class Gate(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n, self.u, self.g, self.o = nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        y = self.n(x)
        return x + self.o(torch.sigmoid(self.g(y)) * self.u(y))


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Gate(384) for _ in range(12))

    def forward(self, x):
        for b in self.blocks:
            x = b(x) if M else checkpoint(b, x, use_reentrant=False)  # <- the mistake
        return x


tower = Tower().cuda()
opt = torch.optim.SGD(tower.parameters(), 0.01)
for i in range(4):
    tower(torch.randn(8192, 384, device="cuda")).square().mean().backward()
    opt.step()
    opt.zero_grad()
