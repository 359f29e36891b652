# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Greedy decoding with a small static cache beside larger weights."""
import torch
import torch.nn.functional as F
from torch import nn


class Layer(nn.Module):
    def __init__(self, d=1024):
        super().__init__()
        self.qkv, self.o, self.up, self.down = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x, cache, t):
        q, k, v = (a.view(2, 1, 16, 64).transpose(1, 2) for a in self.qkv(x).chunk(3, -1))
        cache[0][:, :, t:t + 1], cache[1][:, :, t:t + 1] = k, v
        y = F.scaled_dot_product_attention(q, cache[0][:, :, :t + 1], cache[1][:, :, :t + 1])
        x = x + self.o(y.transpose(1, 2).reshape(2, 1, -1))
        return x + self.down(F.silu(self.up(x)))


layers = nn.ModuleList(Layer() for _ in range(8)).cuda().half()
caches = [torch.zeros(2, 2, 16, 128, 64, device="cuda", dtype=torch.half) for _ in layers]
with torch.inference_mode():
    x = torch.randn(2, 1, 1024, device="cuda", dtype=torch.half)
    for t in range(60):
        for l, c in zip(layers, caches):
            x = l(x, c, t)
