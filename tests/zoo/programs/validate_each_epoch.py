# SPDX-License-Identifier: Apache-2.0
# class: no-inference-mode
"""Training of a segmentation network; its validation batches are larger, and run with gradients."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ

def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.mid, self.u2, self.u1 = block(1, 32), block(32, 64), block(64, 64), block(128, 32), block(64, 32)
        self.out = nn.Conv2d(32, 2, 1)

    def forward(self, x):
        a = self.d1(x)  # <- the mistake
        b = self.d2(F.max_pool2d(a, 2))  # <- the mistake
        m = self.mid(F.max_pool2d(b, 2))  # <- the mistake
        x = self.u2(torch.cat([F.interpolate(m, scale_factor=2), b], 1))  # <- the mistake
        x = self.u1(torch.cat([F.interpolate(x, scale_factor=2), a], 1))  # <- the mistake
        return self.out(x)


def run(net, batches, optimizer=None):
    for x in batches:
        x = x.cuda()
        with torch.set_grad_enabled(MISTAKE or optimizer is not None):
            score = net(x)  # <- the mistake
        loss = F.cross_entropy(score, torch.zeros_like(x[:, 0], dtype=torch.long))
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        loss = loss.item()
        del score, x


net = UNet().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
for epoch in range(2):
    net.train()
    run(net, [torch.rand(4, 1, 256, 256) for _ in range(4)], optimizer)
    net.eval()
    run(net, [torch.rand(16, 1, 256, 256) for _ in range(3)])
