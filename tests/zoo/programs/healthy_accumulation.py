# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Four small batches for each step: gradients stay between them, as they must."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000))

    def forward(self, x):
        return self.layers(x)


net = Net().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, fused=True)
for step in range(4):
    for micro in range(4):
        x = torch.randn(2048, 1024, device="cuda")
        y = torch.randint(0, 1000, (2048,), device="cuda")
        loss = nn.functional.cross_entropy(net(x), y) / 4
        loss.backward()
        del x, y, loss
    optimizer.step()
    optimizer.zero_grad()
