# SPDX-License-Identifier: Apache-2.0
# class: loss-keeps-graph
"""Gradient accumulation by a sum of losses: one backward at the end, so all graphs are there at once."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Ranker(nn.Module):
    def __init__(self, fields=24, width=1024):
        super().__init__()
        self.inputs = nn.Linear(fields * 16, width)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(6))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        x = torch.relu(self.inputs(x))  # <- the mistake
        for block in self.blocks:
            x = x + torch.tanh(block(x))  # <- the mistake
        return self.out(x).squeeze(-1)


def main():
    model = Ranker().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    criterion = nn.BCEWithLogitsLoss()
    for step in range(4):
        total = 0.0
        for micro in range(8):
            x, y = torch.randn(8192, 384, device="cuda"), torch.rand(8192, device="cuda")
            loss = criterion(model(x), y) / 8
            if MISTAKE:
                total = total + loss  # <- the mistake
            else:
                loss.backward()
                total += loss.item()
        if MISTAKE:
            total.backward()
        optimizer.step()
        optimizer.zero_grad()
        del total, loss


main()
