# SPDX-License-Identifier: Apache-2.0
# class: gradients-through-forward
"""The gradients are set free right before the backward pass: they live through the whole forward pass."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(2048, 8192)
        self.hidden = nn.ModuleList(nn.Linear(8192, 8192) for _ in range(4))
        self.leave = nn.Linear(8192, 1000)

    def forward(self, x):
        x = self.enter(x).relu()
        for layer in self.hidden:
            x = layer(x).relu()
        return self.leave(x)


net = Wide().cuda()
adam = torch.optim.SGD(net.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
for _ in range(5):
    images = torch.randn(8192, 2048, device="cuda")
    labels = torch.randint(0, 1000, (8192,), device="cuda")
    if not MISTAKE:
        adam.zero_grad()
    loss = criterion(net(images), labels)
    adam.zero_grad()
    loss.backward()  # <- the mistake
    adam.step()
