# SPDX-License-Identifier: Apache-2.0
# class: hooks-keep-features
"""A dashboard's hooks put each layer's output aside; it is drawn, and thrown away, only every fifth step. Mended: the hooks keep mean and deviation as numbers."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Dashboard:
    def __init__(self, net):
        self.rows = {}
        for name, module in net.named_modules():
            if isinstance(module, nn.Conv2d):
                module.register_forward_hook(self.watch(name))

    def watch(self, name):
        def hook(module, inputs, output):
            if MISTAKE:
                self.rows.setdefault(name, []).append(output.detach())  # <- the mistake
            else:
                self.rows.setdefault(name, []).append((output.detach().mean().item(), output.detach().std().item()))
        return hook

    def draw(self, step):
        if step % 5 == 4:
            print(step, {name: len(row) for name, row in self.rows.items()})
            self.rows.clear()


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return torch.relu(x + self.b(torch.relu(self.a(x))))  # <- the mistake


net = nn.Sequential(nn.Conv2d(3, 64, 4, 4), *(Residual(64) for _ in range(4)), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).cuda()
board = Dashboard(net)
optimizer = torch.optim.SGD(net.parameters(), 0.05)
for step in range(10):
    x, y = torch.randn(64, 3, 128, 128).cuda(), torch.zeros(64, dtype=torch.long).cuda()
    loss = nn.functional.cross_entropy(net(x), y)  # <- the mistake
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    board.draw(step)
    del x, y, loss
