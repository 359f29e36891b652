# SPDX-License-Identifier: Apache-2.0
# class: uneven-devices
# gmdry: --devices 2
"""A model cut in two by the number of layers: all large ones lie on the first device. Mended: cut by bytes."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Cut(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Linear(4096, 4096) for _ in range(8)] + [nn.Linear(4096, 512)] + [nn.Linear(512, 512) for _ in range(7)]
        at = 8 if MISTAKE else 4
        self.first = nn.Sequential(*layers[:at]).to("cuda:0")  # <- the mistake
        self.second = nn.Sequential(*layers[at:]).to("cuda:1")

    def forward(self, x):
        return self.second(self.first(x.to("cuda:0")).to("cuda:1"))


net = Cut()
opt = torch.optim.Adam(net.parameters(), fused=True)
for step in range(4):
    loss = net(torch.randn(256, 4096)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    del loss
