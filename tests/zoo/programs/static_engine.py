# SPDX-License-Identifier: Apache-2.0
# class: kv-cache-dominates
"""A decoder engine with a cache for its most slots and longest answers, made at start. Mended: half the tokens."""
import os

import torch
import torch.nn.functional as F
from torch import nn

LONGEST = 4096 if "ZOO_MENDED" not in os.environ else 2048


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))

    def forward(self, x, cache, at):
        b, t, w = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        cache.keys[:b, :, at:at + t] = k
        cache.values[:b, :, at:at + t] = v
        y = F.scaled_dot_product_attention(q, cache.keys[:b, :, :at + t], cache.values[:b, :, :at + t], is_causal=t > 1)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, w))
        return x + self.mlp(x)


class LayerCache:
    def __init__(self, slots, heads, longest, head_dim):
        shape = (slots, heads, longest, head_dim)
        self.keys = torch.zeros(shape, device="cuda", dtype=torch.half)  # <- the mistake
        self.values = torch.zeros(shape, device="cuda", dtype=torch.half)  # <- the mistake


class Engine:
    def __init__(self, depth=8, width=1024, heads=8, slots=16):
        self.embed = nn.Embedding(32000, width).cuda().half()
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(depth)).cuda().half()
        self.head = nn.Linear(width, 32000, bias=False).cuda().half()
        self.caches = [LayerCache(slots, heads, LONGEST, width // heads) for _ in range(depth)]  # <- the mistake

    @torch.no_grad()
    def step(self, tokens, at):
        x = self.embed(tokens)
        for layer, cache in zip(self.layers, self.caches):
            x = layer(x, cache, at)
        return self.head(x[:, -1:]).argmax(-1)


engine = Engine()
prompt = torch.randint(32000, (16, 40), device="cuda")
token = engine.step(prompt, 0)
for at in range(40, 80):
    token = engine.step(token, at)
