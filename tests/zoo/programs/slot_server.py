# SPDX-License-Identifier: Apache-2.0
# class: kv-cache-dominates
# compare: peak
# mended: 2
"""A decoding server with slots: keys and values of 64 sequences are allocated for the longest context at the start."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")
LAYERS, HEADS, SIZE, SLOTS = 16, 8, 128, 64
CONTEXT = 2048 if MENDED == "2" else 4096
KIND = torch.float8_e4m3fn if MENDED == "1" else torch.bfloat16


class Cache:
    """Two tensors for each layer: slots x heads x context x size."""

    def __init__(self):
        shape = (SLOTS, HEADS, CONTEXT, SIZE)
        self.keys = [torch.zeros(shape, dtype=KIND, device="cuda") for _ in range(LAYERS)]  # <- the mistake
        self.values = [torch.zeros(shape, dtype=KIND, device="cuda") for _ in range(LAYERS)]  # <- the mistake
        self.length = 0

    def put(self, layer, key, value):
        stop = self.length + key.shape[2]
        self.keys[layer][:, :, self.length:stop] = key.to(KIND)
        self.values[layer][:, :, self.length:stop] = value.to(KIND)
        return stop

    def window(self, layer, stop):
        dtype = torch.bfloat16
        return self.keys[layer][:, :, :stop].to(dtype), self.values[layer][:, :, :stop].to(dtype)


class Layer(nn.Module):
    def __init__(self, number):
        super().__init__()
        width = HEADS * SIZE
        self.number, self.norm = number, nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(nn.RMSNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))

    def forward(self, x, cache):
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, n, 3, HEADS, SIZE).permute(2, 0, 3, 1, 4)
        stop = cache.put(self.number, k, v)
        keys, values = cache.window(self.number, stop)
        mixed = F.scaled_dot_product_attention(q, keys, values)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, n, c))
        return x + self.mlp(x)


class Server:
    def __init__(self):
        with torch.device("cuda"):
            self.words = nn.Embedding(16000, HEADS * SIZE).bfloat16()
            self.layers = nn.ModuleList(Layer(i) for i in range(LAYERS)).bfloat16().eval()
        self.cache = Cache()

    @torch.inference_mode()
    def advance(self, tokens):
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x, self.cache)
        self.cache.length += tokens.shape[1]
        return (x[:, -1] @ self.words.weight.t()).argmax(-1, keepdim=True)


server = Server()
token = server.advance(torch.randint(0, 16000, (SLOTS, 96), device="cuda"))
for _ in range(24):
    token = server.advance(token)
print("context used", server.cache.length, "of", CONTEXT)
