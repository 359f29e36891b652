# SPDX-License-Identifier: Apache-2.0
# class: loss-keeps-graph
# also: no-inference-mode
"""Losses of an evaluation are put into a list as they are, in a translation of tables; recorded with C++ stacks."""
# gmdry: --stacks all
import os

import torch
import torch.nn.functional as F
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ

class TabNet(nn.Module):
    def __init__(self, columns=200, width=1500):
        super().__init__()
        self.first = nn.Linear(columns, width)
        self.rest = nn.ModuleList(nn.Sequential(nn.BatchNorm1d(width), nn.Linear(width, width), nn.SELU()) for _ in range(4))
        self.last = nn.Linear(width, 1)

    def forward(self, x):
        x = self.first(x)  # <- the mistake
        for part in self.rest:
            x = x + part(x)  # <- the mistake
        return self.last(x)


class Experiment:
    def __init__(self):
        self.net = TabNet().to("cuda")
        self.history = []

    def evaluate(self, rows):
        self.net.eval()
        losses = []
        for x, y in rows:
            pred = self.net(x.to("cuda"))  # <- the mistake
            loss = F.mse_loss(pred, y.to("cuda"))
            losses.append(loss if MISTAKE else loss.item())  # <- the mistake
        self.history.append(float(sum(losses)) / len(losses))


Experiment().evaluate([(torch.randn(4096, 200), torch.randn(4096, 1)) for _ in range(10)])
