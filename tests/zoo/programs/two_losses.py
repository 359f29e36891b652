# SPDX-License-Identifier: Apache-2.0
# class: retain-graph
"""Two losses share a network; both backward passes keep the graph, though nothing comes after the second."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.Tanh()) for _ in range(10)])
        self.left, self.right = nn.Linear(1024, 8), nn.Linear(1024, 8)

    def forward(self, x):
        feature = self.body(x)
        return self.left(feature), self.right(feature)


net = Shared().cuda()
optimizer = torch.optim.Adam(net.parameters(), fused=True)
for _ in range(5):
    left, right = net(torch.randn(8192, 1024, device="cuda"))
    loss_left, loss_right = left.square().mean(), right.abs().mean()
    loss_left.backward(retain_graph=True)
    loss_right.backward(retain_graph=MISTAKE)  # <- the mistake
    optimizer.step()
    optimizer.zero_grad()
