# SPDX-License-Identifier: Apache-2.0
# class: dense-embedding-gradients
# compare: peak
"""Click-through model: four hashed categorical fields, a small tower, plain SGD on the tables."""
import os

import torch
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")
FIELDS = {"user": 2_000_000, "creative": 800_000, "page": 1_200_000, "query": 1_000_000}


class ClickModel(nn.Module):
    def __init__(self, dim=96):
        super().__init__()
        self.tables = nn.ModuleDict({
            name: nn.Embedding(rows, dim, sparse=bool(MENDED))  # <- the mistake
            for name, rows in FIELDS.items()})
        wide = dim * len(FIELDS)
        self.tower = nn.Sequential(nn.Linear(wide, 512), nn.ReLU(), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, ids):
        parts = [table(ids[name]) for name, table in self.tables.items()]  # <- the mistake
        return self.tower(torch.cat(parts, 1)).squeeze(1)


def impressions(batch, count):
    for _ in range(count):
        ids = {name: torch.randint(0, rows, (batch,)).cuda(non_blocking=True) for name, rows in FIELDS.items()}
        yield ids, torch.rand(batch).round().cuda(non_blocking=True)


def fit(model, steps=6):
    tables = torch.optim.SGD(model.tables.parameters(), lr=0.1)
    tower = torch.optim.Adam(model.tower.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    for ids, clicked in impressions(16384, steps):
        for optimizer in (tables, tower):
            optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(ids), clicked)
        loss.backward()  # <- the mistake
        for optimizer in (tables, tower):
            optimizer.step()


if __name__ == "__main__":
    with torch.device("cuda"):
        click_model = ClickModel()
    fit(click_model)
