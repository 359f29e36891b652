# SPDX-License-Identifier: Apache-2.0
# class: cache-of-finished-phase
"""The pictures are encoded once, with many middle-sized blocks; the training after it needs large ones."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(c, 32, 3, padding=1) for c in [3] + [32] * 39)

    def forward(self, x):
        states = []
        for layer in self.layers:
            x = torch.relu(layer(x))  # <- the mistake
            states.append(x)
        return torch.stack([state.mean((2, 3)) for state in states], 1)


coder = Coder().cuda()
with torch.no_grad():
    codes = torch.cat([coder(torch.rand(12, 3, 224, 224, device="cuda")) for _ in range(8)])  # <- the mistake
if not MISTAKE:
    torch.cuda.empty_cache()
model = nn.Sequential(nn.Linear(32, 4096), nn.GELU(), nn.Linear(4096, 4096), nn.GELU(), nn.Linear(4096, 32)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    optimizer.zero_grad()
    model(codes.flatten(0, 1).repeat(12, 1)).square().mean().backward()
    optimizer.step()
