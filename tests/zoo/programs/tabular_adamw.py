# SPDX-License-Identifier: Apache-2.0
# class: optimizer-state-dominates
"""A wide network for tables with small batches, trained by AdamW with amsgrad. Mended: SGD without momentum."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.b(torch.selu(self.a(x))))


class Tabular(nn.Module):
    def __init__(self, columns=64, width=3072, depth=5):
        super().__init__()
        self.first, self.last = nn.Linear(columns, width), nn.Linear(width, 1)
        self.layers = nn.ModuleList(Residual(width) for _ in range(depth))

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = layer(x)
        return self.last(x).squeeze(1)


def run(steps=5):
    torch.manual_seed(1)
    net = Tabular().to("cuda")
    if MISTAKE:
        opt = torch.optim.AdamW(net.parameters(), lr=1e-3, amsgrad=True, foreach=False)
    else:
        opt = torch.optim.SGD(net.parameters(), lr=1e-3, foreach=False)
    for step in range(steps):
        rows, price = torch.randn(256, 64).to("cuda"), torch.rand(256).to("cuda")
        opt.zero_grad()
        nn.functional.mse_loss(net(rows), price).backward()
        opt.step()  # <- the mistake


run()
