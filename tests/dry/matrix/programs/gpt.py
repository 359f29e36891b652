# SPDX-License-Identifier: Apache-2.0
"""A small GPT trained from scratch."""
import torch
from torch import nn

model = nn.Sequential(nn.Embedding(1000, 128), nn.TransformerEncoderLayer(128, 4, batch_first=True), nn.Linear(128, 1000))
model.cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(5):
    ids = torch.randint(0, 1000, (4, 64), device="cuda")
    loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
