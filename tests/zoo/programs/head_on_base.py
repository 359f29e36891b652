# SPDX-License-Identifier: Apache-2.0
# class: frozen-gradients
# mended: 2
"""Only the head is given to the optimizer; the base was never frozen, and its gradients pile up."""
import os

import torch
from torch import nn

VARIANT = int(os.environ.get("ZOO_MENDED", 0))


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Sequential(nn.Linear(2048, 4096), nn.GELU(), nn.Linear(4096, 2048)) for _ in range(8)])

    def forward(self, x):
        return self.layers(x)


base, head = Base().cuda(), nn.Linear(2048, 10).cuda()
if VARIANT == 1:
    base.requires_grad_(False)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
for step in range(5):
    x, y = torch.randn(512, 2048, device="cuda"), torch.randint(0, 10, (512,), device="cuda")
    loss = nn.functional.cross_entropy(head(base(x)), y)
    optimizer.zero_grad()
    loss.backward()  # <- the mistake
    optimizer.step()
    if VARIANT == 2:
        base.zero_grad()
    del x, y, loss
