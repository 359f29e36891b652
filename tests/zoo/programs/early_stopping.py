# SPDX-License-Identifier: Apache-2.0
# class: second-copy-of-weights
"""Early stopping keeps the best weights by deepcopy of the state_dict, on the device. Mended: on the host."""
import copy
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad, self.weights = patience, float("inf"), 0, None

    def __call__(self, value, model):
        if value <= self.best:
            self.best, self.bad = value, 0
            if MISTAKE:
                self.weights = copy.deepcopy(model.state_dict())  # <- the mistake
            else:
                self.weights = {k: v.cpu() for k, v in model.state_dict().items()}
        else:
            self.bad += 1
        return self.bad > self.patience


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(64, 1280, 4, batch_first=True)
        self.head = nn.Linear(1280, 24)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


model = Forecaster().cuda()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
stopper = EarlyStopping(3)
for epoch in range(4):
    model.train()
    for _ in range(3):
        x, y = torch.randn(32, 48, 64).cuda(), torch.randn(32, 24).cuda()
        optimizer.zero_grad(set_to_none=True)
        nn.functional.huber_loss(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        worst = nn.functional.l1_loss(model(torch.randn(32, 48, 64).cuda()), torch.zeros(32, 24).cuda()).item()
    if stopper(worst, model):
        break
