# SPDX-License-Identifier: Apache-2.0
# class: second-copy-of-weights
"""A moving average of the weights lives on the device beside them."""
import copy
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Generator(nn.Module):
    def __init__(self, width=2048):
        super().__init__()
        self.parts = nn.Sequential(*[nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))
                                     for _ in range(8)])

    def forward(self, noise):
        return self.parts(noise)


model = Generator().cuda()
average = copy.deepcopy(model if MISTAKE else model.cpu()).requires_grad_(False)  # <- the mistake
model.cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, foreach=False)
for step in range(5):
    optimizer.zero_grad()
    model(torch.randn(512, 2048, device="cuda")).square().mean().backward()
    optimizer.step()
    with torch.no_grad():
        for old, new in zip(average.parameters(), model.parameters()):
            old.lerp_(new.to(old.device), 0.01)
