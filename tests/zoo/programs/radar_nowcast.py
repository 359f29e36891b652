# SPDX-License-Identifier: Apache-2.0
# class: stale-reference
# compare: peak
"""Rain of the next hours from radar images; the maps of one step are still named while those of the next are made."""
import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

MENDED = os.environ.get("ZOO_MENDED")
HOURS = 24


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Conv2d(2 * width, 2 * width, 5, padding=2)

    def forward(self, image, state):
        gate, value = self.mix(torch.cat([image, state], 1)).chunk(2, 1)
        return state + gate.sigmoid() * (value.tanh() - state)


class Nowcast(nn.Module):
    """How much it rains in each hour, and a map of each hour to look at."""

    def __init__(self, width=24):
        super().__init__()
        self.enter, self.cell = nn.Conv2d(1, width, 3, padding=1), Cell(width)
        self.amount = nn.Linear(width, 1)

    def forward(self, images):
        state = torch.zeros_like(self.enter(images[:, :1]))
        maps = []
        for hour in range(HOURS):
            view = self.enter(images[:, min(hour, images.shape[1] - 1)][:, None])
            state = checkpoint(self.cell, view, state, use_reentrant=False)
            maps.append(state)
        amounts = torch.stack([self.amount(one.mean((2, 3))).squeeze(1) for one in maps], 1)
        return amounts, torch.stack([one.detach() for one in maps], 1)  # <- the mistake


def days(count, batch=4, side=256):
    for day in range(count):
        yield day, torch.rand(batch, 6, side, side).cuda(), torch.rand(batch, HOURS).cuda()


def train(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    for day, past, rain in days(5):
        amounts, maps = model(past)  # <- the mistake
        loss = F.mse_loss(amounts, rain)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if day % 2 == 0:
            print(day, "wettest", maps[0, :, 0].amax().item())
        if MENDED:
            del maps, amounts, loss
    return day + 1


if __name__ == "__main__":
    print(train(Nowcast().cuda()), "days")
