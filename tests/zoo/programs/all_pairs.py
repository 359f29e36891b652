# SPDX-License-Identifier: Apache-2.0
# class: giant-tensor
# gmdry: --memory 12GiB
# compare: need
"""Distances between all points, with all differences in one tensor: out of memory at once."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Kernel(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(32))

    def forward(self, x, y):
        apart = x[:, None] - y[None]  # <- the mistake
        return torch.exp(-apart.mul_(self.scale).square_().sum(-1))


kernel = Kernel().cuda()
points = torch.randn(12000, 32, device="cuda")
with torch.no_grad():
    for epoch in range(2):
        if MISTAKE:
            weights = kernel(points, points).sum(1)  # <- the mistake
        else:
            weights = torch.cat([kernel(part, points).sum(1) for part in points.split(100)])
        points = points * weights[:, None]
