# SPDX-License-Identifier: Apache-2.0
# class: loss-keeps-graph
"""A second view of each batch is only watched; its sum keeps all of its graphs."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(6))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(6))

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms):
            x = x + torch.nn.functional.gelu(layer(norm(x)))
        return x


model = Encoder(1024).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
watched = 0.0
for step in range(7):
    batch = torch.randn(4096, 1024, device="cuda")
    optimizer.zero_grad()
    feature = model(batch)
    loss = feature.pow(2).mean()
    loss.backward()
    optimizer.step()
    del loss
    other = model(batch + 0.1 * torch.randn_like(batch))
    difference = (other - feature.detach()).pow(2).mean()
    watched += difference if MISTAKE else difference.item()  # <- the mistake
    del other, difference, feature
print(float(watched))
