# SPDX-License-Identifier: Apache-2.0
# class: dense-embedding-gradients
"""Tables of millions of rows, of which a batch touches some thousand: their gradients are dense."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(2000000, 96, sparse=not MISTAKE)
        self.items = nn.Embedding(700000, 96, sparse=not MISTAKE)
        self.mix = nn.Linear(192, 1)

    def forward(self, user, item):
        return self.mix(torch.cat([self.users(user), self.items(item)], 1))  # <- the mistake


model = Recommender().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
for step in range(5):
    user = torch.randint(0, 2000000, (4096,), device="cuda")
    item = torch.randint(0, 700000, (4096,), device="cuda")
    loss = model(user, item).square().mean()
    loss.backward()  # <- the mistake
    optimizer.step()
    optimizer.zero_grad()
