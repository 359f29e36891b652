# SPDX-License-Identifier: Apache-2.0
# class: data-set-on-gpu
"""All examples go to the device before the first epoch."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Pictures(torch.utils.data.Dataset):
    def __init__(self, count):
        self.x = torch.empty(count, 3, 96, 96)
        self.y = torch.zeros(count, dtype=torch.long)
        if MISTAKE:
            self.x, self.y = self.x.cuda(), self.y.cuda()  # <- the mistake

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


data = Pictures(12000)
loader = torch.utils.data.DataLoader(torch.utils.data.Subset(data, range(640)), batch_size=64)
net = nn.Sequential(nn.Conv2d(3, 32, 3, stride=2), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2), nn.ReLU(),
                    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).cuda()
optimizer = torch.optim.Adam(net.parameters())
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x.cuda()), y.cuda()).backward()
    optimizer.step()
