# SPDX-License-Identifier: Apache-2.0
# class: vocabulary-copies
"""A language model's loss upcasts the logits of all positions at once."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Tiny(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.rnn = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens, targets):
        hidden = self.rnn(self.embed(tokens)).flatten(0, 1)
        if MISTAKE:
            logits = self.head(hidden)  # <- the mistake
            return F.cross_entropy(logits.float(), targets.flatten())  # <- the mistake
        loss = hidden.new_zeros((), dtype=torch.float32)
        for part, answer in zip(hidden.chunk(16), targets.flatten().chunk(16)):
            loss = loss + torch.utils.checkpoint.checkpoint(self.piece, part, answer, use_reentrant=False)
        return loss / hidden.shape[0]

    def piece(self, hidden, targets):
        return F.cross_entropy(self.head(hidden).float(), targets, reduction="sum")


model = Tiny(50304, 512).cuda().bfloat16()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    tokens = torch.randint(0, 50304, (8, 1025), device="cuda")
    loss = model(tokens[:, :-1], tokens[:, 1:])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
