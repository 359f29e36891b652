# SPDX-License-Identifier: Apache-2.0
# class: uneven-devices
# gmdry: --devices 2
"""Ten of twelve layers are on the first device."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Pipeline(nn.Module):
    def __init__(self, border):
        super().__init__()
        self.border = border
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(2048, 8192), nn.ReLU(), nn.Linear(8192, 2048))
                                    .to(f"cuda:{int(i >= border)}") for i in range(12))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x.to("cuda:1") if i == self.border else x)
        return x


model = Pipeline(10 if MISTAKE else 6)
optimizer = torch.optim.Adam(model.parameters(), fused=True)
for step in range(4):
    loss = model(torch.randn(512, 2048, device="cuda:0")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del loss
