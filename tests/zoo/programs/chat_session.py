# SPDX-License-Identifier: Apache-2.0
# class: kv-cache-by-cat
"""Decodes with a cache that torch.cat makes anew for each token."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ
LONGEST = 1280


class CachedAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.k, self.v = heads, None, None
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x, position):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if MISTAKE:
            self.k = k if self.k is None else torch.cat((self.k, k), dim=2)  # <- the mistake
            self.v = v if self.v is None else torch.cat((self.v, v), dim=2)  # <- the mistake
            k, v = self.k, self.v
        else:
            if self.k is None:
                self.k = torch.empty(b, self.heads, LONGEST, c // self.heads, device=x.device, dtype=x.dtype)
                self.v = torch.empty_like(self.k)
            self.k[:, :, position:position + t] = k
            self.v[:, :, position:position + t] = v
            k, v = self.k[:, :, :position + t], self.v[:, :, :position + t]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16000, 1024)
        self.layers = nn.ModuleList(CachedAttention(1024, 16) for _ in range(8))
        self.head = nn.Linear(1024, 16000, bias=False)

    def forward(self, tokens, position):
        x = self.embed(tokens)
        for layer in self.layers:
            x = x + layer(x, position)
        return self.head(x[:, -1:])


model = Model().cuda().half().eval()
with torch.inference_mode():
    tokens = torch.randint(0, 16000, (16, 1024), device="cuda")
    token = model(tokens, 0).argmax(-1)
    for position in range(1024, 1216):
        token = model(token, position).argmax(-1)
