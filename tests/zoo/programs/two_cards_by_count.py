# SPDX-License-Identifier: Apache-2.0
# class: uneven-devices
# gmdry: --devices 2
"""A convolutional net is split over two cards by number of layers; the early ones work on large pictures. Mended: split after the first downsampling steps."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ
CUT = 8 if MISTAKE else 4


class Stage(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(a, b, 3, stride, 1), nn.BatchNorm2d(b)

    def forward(self, x):
        return nn.functional.relu(self.norm(self.conv(x)))  # <- the mistake


class Split(nn.Module):
    def __init__(self):
        super().__init__()
        plan = [(3, 32, 1), (32, 32, 1), (32, 32, 1), (32, 32, 1), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2),
                (256, 256, 1), (256, 512, 2), (512, 512, 1), (512, 512, 1)]
        self.stages = nn.ModuleList(Stage(*p).to("cuda:0" if i < CUT else "cuda:1") for i, p in enumerate(plan))  # <- the mistake
        self.head = nn.Linear(512, 100).to("cuda:1")

    def forward(self, x):
        for i, stage in enumerate(self.stages):
            if i == CUT:
                x = x.to("cuda:1")
            x = stage(x)  # <- the mistake
        return self.head(x.mean((2, 3)))


net = Split()
optimizer = torch.optim.SGD(net.parameters(), 0.1, 0.9)
for step in range(5):
    x, y = torch.randn(24, 3, 224, 224).to("cuda:0"), torch.zeros(24, dtype=torch.long).to("cuda:1")
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del x, y, loss
