# SPDX-License-Identifier: Apache-2.0
# class: slow-leak
"""Masks are kept in a dictionary by their step, so that none is ever found there again."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.masks = {}
        self.layers = nn.ModuleList(nn.Linear(1024, 1024) for _ in range(6))

    def mask(self, key, rows):
        if key not in self.masks:
            self.masks[key] = torch.rand(rows, 1024, device="cuda") > 0.1  # <- the mistake
        return self.masks[key]

    def forward(self, x, step):
        mask = self.mask(step if MISTAKE else 0, x.shape[0])
        for layer in self.layers:
            x = torch.relu(layer(x * mask))
        return x


model = Masked().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
for step in range(60):
    loss = model(torch.randn(2048, 1024, device="cuda"), step).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del loss
