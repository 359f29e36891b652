# SPDX-License-Identifier: Apache-2.0
# class: kv-cache-dominates
# mended: 2
"""A functional llama-like decode with one preallocated cache per layer in a dict."""
import os
import torch
import torch.nn.functional as F

V = int(os.environ.get("ZOO_MENDED", 0))
heads = 2 if V == 1 else 8
batch = 32 if V == 2 else 64
dt = dict(device="cuda", dtype=torch.float16)


def init(n, d):
    return [dict(q=torch.randn(d, d, **dt), k=torch.randn(heads * 64, d, **dt), v=torch.randn(heads * 64, d, **dt)) for _ in range(n)]


def make_cache(n, length):
    return {i: tuple(torch.empty(batch, heads, length, 64, **dt) for _ in range(2)) for i in range(n)}  # <- the mistake


def decode(params, cache, x, t):
    for i, p in enumerate(params):
        q = F.linear(x, p["q"]).unflatten(-1, (-1, 64)).transpose(1, 2)
        k, v = cache[i]
        k[:, :, t:t + x.shape[1]] = F.linear(x, p["k"]).unflatten(-1, (-1, 64)).transpose(1, 2)
        v[:, :, t:t + x.shape[1]] = F.linear(x, p["v"]).unflatten(-1, (-1, 64)).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k[:, :, :t + x.shape[1]], v[:, :, :t + x.shape[1]], enable_gqa=True)
        x = x + y.transpose(1, 2).flatten(2)
    return x


params, t = init(12, 512), 0
cache = make_cache(12, 2048)
with torch.no_grad():
    for n in (32, *[1] * 30):
        decode(params, cache, torch.randn(batch, n, 512, **dt), t)
        t += n
