# SPDX-License-Identifier: Apache-2.0
# class: kv-cache-dominates
# mended: 2
"""A server whose cache for all sequences weighs much more than the model: 8 bits or fewer heads would do."""
import os

import torch
import torch.nn.functional as F
from torch import nn

VARIANT = int(os.environ.get("ZOO_MENDED", 0))
HEADS = 4 if VARIANT == 2 else 16


class Attention(nn.Module):
    def __init__(self, sequences, length):
        super().__init__()
        self.q, self.o = nn.Linear(1024, 1024), nn.Linear(1024, 1024)
        self.kv = nn.Linear(1024, 2 * HEADS * 64)
        kind = torch.int8 if VARIANT == 1 else torch.float16
        cache = torch.zeros(2, sequences, HEADS, length, 64, device="cuda", dtype=kind)  # <- the mistake
        self.register_buffer("cache", cache, persistent=False)

    def forward(self, x, at):
        b = x.shape[0]
        q = self.q(x).view(b, 1, 16, 64).transpose(1, 2)
        k, v = self.kv(x).view(b, 2, HEADS, 1, 64).unbind(1)
        self.cache[0, :, :, at:at + 1] = k
        self.cache[1, :, :, at:at + 1] = v
        keys, values = self.cache[:, :, :, :at + 1].to(q.dtype)
        y = F.scaled_dot_product_attention(q, keys, values, enable_gqa=True)
        return x + self.o(y.transpose(1, 2).reshape(b, 1, 1024))


class Server(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(8000, 1024)
        self.layers = nn.ModuleList(Attention(48, 2048) for _ in range(10))

    @torch.inference_mode()
    def forward(self, token, at):
        x = self.words(token)
        for layer in self.layers:
            x = layer(x, at)
        return (x @ self.words.weight.t()).argmax(-1)


server = Server().half().cuda()
if VARIANT == 1:
    for layer in server.layers:
        layer.cache = layer.cache.to(torch.int8)
token = torch.zeros(48, 1, dtype=torch.long, device="cuda")
for at in range(40):
    token = server(token, at)
