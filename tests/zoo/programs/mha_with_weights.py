# SPDX-License-Identifier: Apache-2.0
# class: unfused-attention
"""nn.MultiheadAttention as it is called everywhere: need_weights is True by default, so the weights are made."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ

class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, x):
        y = self.norm1(x)
        y, _ = self.attention(y, y, y, need_weights=MISTAKE)  # <- the mistake
        x = x + y
        return x + self.mlp(self.norm2(x))


class Series(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.out = nn.Linear(7, 128), nn.Linear(128, 7)
        self.layers = nn.Sequential(*[Layer(128, 8) for _ in range(3)])

    def forward(self, x):
        return self.out(self.layers(self.inp(x)))  # <- the mistake


series = Series().cuda()
adam = torch.optim.Adam(series.parameters())
for _ in range(4):
    x = torch.randn(8, 1440, 7).cuda()
    loss = F.l1_loss(series(x)[:, :-1], x[:, 1:])  # <- the mistake
    adam.zero_grad()
    loss.backward()
    adam.step()
    del loss, x
