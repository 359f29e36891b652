# SPDX-License-Identifier: Apache-2.0
# class: autocast-weight-casts
# mended: 2
"""Samples under one autocast around everything: its cache holds a half precision copy of every weight."""
import os

import torch
from torch import nn

VARIANT = int(os.environ.get("ZOO_MENDED", 0))


class Mixer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Linear(width, 2 * width)
        self.b = nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(self.norm(x))))  # <- the mistake


model = nn.Sequential(*[Mixer(2560) for _ in range(12)]).cuda().eval()
if VARIANT == 2:
    model.bfloat16()
x = torch.randn(256, 2560, device="cuda")
with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=VARIANT != 2, cache_enabled=VARIANT == 0):
    for _ in range(20):
        x = model(x.bfloat16() if VARIANT == 2 else x)  # <- the mistake
print(x.shape)
