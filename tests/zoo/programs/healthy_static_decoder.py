# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""A decoder for one user: static cache of modest size, prefill in one piece, then token by token under inference_mode."""
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, d=1024, heads=16):
        super().__init__()
        self.qkv, self.o, self.up, self.down = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.heads = heads

    def forward(self, x, cache, at):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        cache[0, :, :, at:at + n], cache[1, :, :, at:at + n] = k, v
        y = nn.functional.scaled_dot_product_attention(q, cache[0, :, :, :at + n], cache[1, :, :, :at + n], is_causal=n > 1)
        x = x + self.o(y.transpose(1, 2).reshape(b, n, d))
        return x + self.down(nn.functional.gelu(self.up(x)))


with torch.inference_mode():
    words = nn.Embedding(8000, 1024).cuda().half()
    layers = nn.ModuleList(Layer() for _ in range(12)).cuda().half()
    caches = [torch.zeros(2, 1, 16, 512, 64, device="cuda", dtype=torch.half) for _ in layers]
    ids, at = torch.randint(8000, (1, 100), device="cuda"), 0
    for _ in range(60):
        x = words(ids)
        for layer, cache in zip(layers, caches):
            x = layer(x, cache, at)
        at += ids.shape[1]
        ids = (x[:, -1:] @ words.weight.t()).argmax(-1)
