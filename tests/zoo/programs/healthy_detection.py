# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Detection with a pyramid of features and two sizes of pictures in turn."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ

class Fpn(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 7, 4, 3), nn.BatchNorm2d(32), nn.ReLU(inplace=True))
        self.downs = nn.ModuleList(nn.Sequential(nn.Conv2d(32 * 2**i, 64 * 2**i, 3, 2, 1), nn.BatchNorm2d(64 * 2**i), nn.ReLU(inplace=True)) for i in range(3))
        self.sides = nn.ModuleList(nn.Conv2d(64 * 2**i, 64, 1) for i in range(3))
        self.head = nn.Conv2d(64, 9, 3, padding=1)

    def forward(self, x):
        x, features = self.stem(x), []
        for down in self.downs:
            x = down(x)
            features.append(x)
        top, outs = None, []
        for side, f in zip(reversed(self.sides), reversed(features)):
            f = side(f)
            top = f if top is None else f + F.interpolate(top, size=f.shape[-2:])
            outs.append(self.head(top))
        return outs


net = Fpn().cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
for i in range(8):
    side = (512, 448)[i % 2]
    loss = sum(out.abs().mean() for out in net(torch.rand(8, 3, side, side).cuda()))
    opt.zero_grad()
    loss.backward()
    opt.step()
