# SPDX-License-Identifier: Apache-2.0
# class: foreach-transients
"""The optimizer's step works on all parameters at once: its temporaries set the peak."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3072, 3072) for _ in range(20))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x


tower = Tower().cuda()
optimizer = torch.optim.AdamW(tower.parameters(), lr=1e-3, fused=None if MISTAKE else True)
for _ in range(5):
    optimizer.zero_grad()
    tower(torch.randn(64, 3072, device="cuda")).mean().backward()
    optimizer.step()  # <- the mistake
