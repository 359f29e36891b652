# SPDX-License-Identifier: Apache-2.0
# class: activations-dominate
"""An MLP-mixer of residual blocks in a Sequential; mended with checkpoint_sequential."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ

from torch.utils.checkpoint import checkpoint_sequential


class Residual(nn.Module):
    def __init__(self, width, inner, dim):
        super().__init__()
        self.dim, self.norm = dim, nn.LayerNorm(192)
        self.body = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))

    def forward(self, x):
        y = self.norm(x)  # <- the mistake
        y = y.transpose(1, 2) if self.dim == 1 else y
        y = self.body(y)  # <- the mistake
        return x + (y.transpose(1, 2) if self.dim == 1 else y)  # <- the mistake


blocks = nn.Sequential(*[Residual(256 if i % 2 == 0 else 192, 768, 1 if i % 2 == 0 else 2) for i in range(16)]).cuda()
head = nn.Linear(192, 10).cuda()
opt = torch.optim.SGD([*blocks.parameters(), *head.parameters()], lr=0.1)
for _ in range(4):
    x = torch.randn(256, 256, 192, device="cuda", requires_grad=True)
    y = blocks(x) if MISTAKE else checkpoint_sequential(blocks, 16, x, use_reentrant=False)  # <- the mistake
    loss = head(y.mean(1)).logsumexp(-1).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    del x, y, loss
