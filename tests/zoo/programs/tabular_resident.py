# SPDX-License-Identifier: Apache-2.0
# class: data-set-on-gpu
# compare: peak
"""A tabular transformer on transactions; the table was small when somebody moved all of it to the card."""
import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

MENDED = os.environ.get("ZOO_MENDED")
ROWS, COLUMNS = 1_200_000, 320


class Table:
    def __init__(self):
        self.values = torch.empty(ROWS, COLUMNS)
        self.fraud = torch.zeros(ROWS)

    def to(self, device):
        self.values = self.values.to(device)  # <- the mistake
        self.fraud = self.fraud.to(device)
        return self

    def loader(self, batch):
        data = TensorDataset(self.values, self.fraud)
        order = torch.randperm(ROWS)[:batch * 6].split(batch)
        return DataLoader(data, sampler=order, batch_size=None)


class ColumnTransformer(nn.Module):
    def __init__(self, width=128, depth=3):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(COLUMNS, width))
        layer = nn.TransformerEncoderLayer(width, 8, 2 * width, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, depth)
        self.out = nn.Linear(width, 1)

    def forward(self, values):
        return self.out(self.body(values[..., None] * self.scale).mean(1)).squeeze(1)


def main():
    table = Table()
    if not MENDED:
        table.to("cuda")
    model = ColumnTransformer().cuda()
    optimizer = torch.optim.RAdam(model.parameters(), lr=1e-3, foreach=False)
    for values, fraud in table.loader(512):
        values, fraud = values.cuda(), fraud.cuda()
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.binary_cross_entropy_with_logits(model(values), fraud)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        del loss


if __name__ == "__main__":
    main()
