# SPDX-License-Identifier: Apache-2.0
# class: outlier-batch
"""One document of three times the length of all others makes the peak."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(8000, 512)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, norm_first=True) for _ in range(6))
        self.out = nn.Linear(512, 2)

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.out(x.mean(1))


reader = Reader().cuda()
optimizer = torch.optim.AdamW(reader.parameters(), fused=True)
for step in range(9):
    length = 1200 if step == 5 and MISTAKE else 400
    tokens = torch.randint(0, 8000, (16, length), device="cuda")
    loss = reader(tokens).logsumexp(1).mean()  # <- the mistake
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del loss
