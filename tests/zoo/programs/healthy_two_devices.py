# SPDX-License-Identifier: Apache-2.0
# class: healthy
# gmdry: --devices 2
"""The first half of the layers on one device, the second on the other; as much on each."""
import torch
from torch import nn


def half():
    return nn.Sequential(*[nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)) for _ in range(4)])


class Split(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = half().to("cuda:0"), half().to("cuda:1")

    def forward(self, x):
        return self.second(self.first(x).to("cuda:1"))


model = Split()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
for step in range(5):
    x = torch.randn(1024, 1024, device="cuda:0")
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    del x, loss
