# SPDX-License-Identifier: Apache-2.0
# class: foreach-transients
# compare: peak
"""A catalogue ranker with many wide layers, NAdam, and rows so short that the optimizer's step is the peak."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")


class HighwayLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.change, self.gate = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        gate = self.gate(x).sigmoid()
        return gate * self.change(x).relu() + (1 - gate) * x


class Ranker(nn.Module):
    def __init__(self, features=900, width=2816, depth=14):
        super().__init__()
        self.enter = nn.Linear(features, width)
        self.layers = nn.Sequential(*(HighwayLayer(width) for _ in range(depth)))
        self.leave = nn.Linear(width, 1)

    def forward(self, items):
        return self.leave(self.layers(self.enter(items))).squeeze(-1)


def listwise(scores, clicks):
    return -(F.log_softmax(scores, 1) * clicks).sum(1).mean()


class Catalogue:
    def __init__(self, lists, items):
        self.lists, self.items = lists, items

    def __call__(self):
        items = torch.randn(self.lists, self.items, 900)
        clicks = F.one_hot(torch.randint(0, self.items, (self.lists,)), self.items).float()
        return items.cuda(non_blocking=True), clicks.cuda(non_blocking=True)


def main(steps=8):
    torch.manual_seed(21)
    ranker, catalogue = Ranker().cuda(), Catalogue(16, 20)
    slow = {"foreach": False} if MENDED else {}
    optimizer = torch.optim.NAdam(ranker.parameters(), lr=2e-4, **slow)  # <- the mistake
    for step in range(steps):
        items, clicks = catalogue()
        loss = listwise(ranker(items), clicks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # <- the mistake
        del loss
        if step % 4 == 0:
            print("lists seen", (step + 1) * catalogue.lists)


main()
