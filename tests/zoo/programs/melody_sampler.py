# SPDX-License-Identifier: Apache-2.0
# class: kv-cache-by-cat
# compare: peak
"""Autoregressive sampling of audio codec tokens for a batch of prompts. The keys and values of each layer are grown by torch.cat,
so old and new caches coexist at each step and the sizes never fit the cached blocks."""
import os
import torch
import torch.nn as nn
import torch.nn.functional as F

PREALLOC = os.environ.get("ZOO_MENDED") == "1"
D, HEADS, LAYERS, V, B = 1024, 16, 6, 2048, 16
PROMPT, NEW = 1500, 24


class CatCache:
    def __init__(self):
        self.k = self.v = None

    def add(self, k, v):
        if self.k is None:
            self.k, self.v = k, v
        else:
            self.k = torch.cat([self.k, k], dim=2)  # <- the mistake
            self.v = torch.cat([self.v, v], dim=2)  # <- the mistake
        return self.k, self.v


class StaticCache:
    def __init__(self):
        self.n = 0
        self.k = torch.empty(B, HEADS, PROMPT + NEW, D // HEADS, device="cuda", dtype=torch.float16)
        self.v = torch.empty_like(self.k)

    def add(self, k, v):
        m = self.n + k.size(2)
        self.k[:, :, self.n:m], self.v[:, :, self.n:m] = k, v
        self.n = m
        return self.k[:, :, :m], self.v[:, :, :m]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.o = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.mlp = nn.Sequential(nn.Linear(D, 2 * D), nn.GELU(), nn.Linear(2 * D, D))

    def forward(self, x, cache):
        b, t, _ = x.shape
        q, k, v = (z.view(b, t, HEADS, -1).transpose(1, 2) for z in self.qkv(self.ln1(x)).chunk(3, -1))
        k, v = cache.add(k.contiguous(), v.contiguous())
        n = k.size(2)
        mask = torch.ones(t, n, dtype=torch.bool, device=x.device).tril(n - t)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, D))
        return x + self.mlp(self.ln2(x))


@torch.inference_mode()
def sample(blocks, emb, head, prompt):
    caches = [(StaticCache if PREALLOC else CatCache)() for _ in blocks]
    for piece in prompt[:, :-1].split(128, 1):
        h = emb(piece)
        for blk, c in zip(blocks, caches):
            h = blk(h, c)
    tok = prompt[:, -1:]
    for _ in range(NEW):
        h = emb(tok)
        for blk, c in zip(blocks, caches):
            h = blk(h, c)
        tok = head(h[:, -1:]).argmax(-1)
        yield tok


with torch.device("cuda"):
    blocks = nn.ModuleList(Block() for _ in range(LAYERS)).half()
    emb, head = nn.Embedding(V, D).half(), nn.Linear(D, V).half()
out = [t.cpu() for t in sample(blocks, emb, head, torch.randint(0, V, (B, PROMPT)).cuda())]
print("sampled", len(out))
