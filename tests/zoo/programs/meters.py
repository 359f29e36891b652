# SPDX-License-Identifier: Apache-2.0
# class: loss-keeps-graph
"""An average meter adds up auxiliary losses, not their values."""
import os
import torch
from torch import nn

M = "ZOO_MENDED" not in os.environ


class Meter:
    def __init__(self):
        self.sum, self.n = 0, 0

    def update(self, v):
        self.sum = self.sum + v  # <- the mistake
        self.n += 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 2048), nn.GELU())
        self.a, self.b = nn.Linear(2048, 10), nn.Linear(2048, 4)

    def forward(self, x):
        h = self.f(x)  # <- the mistake
        return self.a(h), self.b(h.detach() * 1.5)  # <- the mistake


net, meter = Net().cuda(), Meter()
opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(10):
    main, aux = net(torch.randn(2048, 512, device="cuda"))
    extra = aux.square().mean()  # <- the mistake
    main.square().mean().backward()
    opt.step()
    opt.zero_grad()
    meter.update(extra if M else extra.item())
    del main, aux, extra
