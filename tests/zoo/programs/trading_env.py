# SPDX-License-Identifier: Apache-2.0
# class: slow-leak
# also: tensors-in-a-list
# compare: peak
"""Q-learning on an order book; novelty is measured against an archive of states that nobody ever shortens."""
import os
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")
DEPTH, AGENTS, MOVES = 200, 1024, 5


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.book = nn.Conv1d(4, 32, 5, padding=2)
        self.rest = nn.Sequential(nn.Flatten(), nn.ReLU(), nn.Linear(32 * DEPTH, 512), nn.ReLU(), nn.Linear(512, MOVES))

    def forward(self, book):
        return self.rest(self.book(book))


class Novelty:
    def __init__(self, neighbours=8):
        self.archive = deque(maxlen=neighbours if MENDED else None)
        self.neighbours = neighbours

    def bonus(self, book):
        code = book.flatten(1).half()  # <- the mistake
        recent = list(self.archive)[-self.neighbours:]
        apart = [(code - old).float().norm(dim=1) for old in recent]
        self.archive.append(code)  # <- the mistake
        return torch.stack(apart).amin(0) if apart else torch.zeros(len(book), device=book.device)


class Market:
    def __init__(self):
        self.book = torch.rand(AGENTS, 4, DEPTH, device="cuda")

    def move(self, choice):
        self.book.mul_(0.99).add_(torch.rand_like(self.book), alpha=0.01)
        return self.book.clone(), choice.float().neg()


def learn(steps=220):
    market, net, novelty = Market(), QNet().cuda(), Novelty()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-4)
    book = market.book.clone()
    for step in range(steps):
        values = net(book)
        choice = values.argmax(1)
        following, reward = market.move(choice)
        with torch.no_grad():
            target = reward + novelty.bonus(book) + 0.99 * net(following).amax(1)
        loss = F.smooth_l1_loss(values.gather(1, choice[:, None]).squeeze(1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        book = following
    return step + 1


if __name__ == "__main__":
    print(learn(), "steps")
