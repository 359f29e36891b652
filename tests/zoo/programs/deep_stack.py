# SPDX-License-Identifier: Apache-2.0
# class: activations-dominate
"""A deep transformer without checkpointing: nearly all memory is activations."""
import os

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

MISTAKE = "ZOO_MENDED" not in os.environ


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 8, batch_first=True)
        self.ff = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.ff(x)


class Deep(nn.Module):
    def __init__(self, layers, width):
        super().__init__()
        self.layers = nn.ModuleList(Residual(width) for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x) if MISTAKE else checkpoint(layer, x, use_reentrant=False)  # <- the mistake
        return x


net = Deep(16, 384).cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
for _ in range(4):
    signal = torch.randn(16, 512, 384, device="cuda")
    error = (net(signal) - signal).square().mean()
    optimizer.zero_grad(set_to_none=True)
    error.backward()
    optimizer.step()
    del error
