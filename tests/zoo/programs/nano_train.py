# SPDX-License-Identifier: Apache-2.0
# class: stale-reference
"""nanoGPT-like: the logits of the last step are kept to be compared with the next ones. Mended: their greatest only."""
import math
import os

import torch
import torch.nn.functional as F
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ
block_size, vocab, width, heads, layers, batch_size = 512, 50304, 384, 6, 4, 12


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, heads, C // heads).transpose(1, 2) for t in self.c_attn(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(width), SelfAttention(), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(block_size, width)
        self.h = nn.ModuleList(Block() for _ in range(layers))
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1), device=idx.device))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))  # <- the mistake
        return logits, F.cross_entropy(logits.view(-1, vocab), targets.view(-1))


def get_batch():
    data = torch.randint(vocab, (batch_size, block_size + 1))
    return data[:, :-1].cuda(), data[:, 1:].cuda()


def get_lr(it):
    return 3e-4 * (0.1 + 0.45 * (1 + math.cos(math.pi * it / 10)))


model = GPT().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
X, Y = get_batch()
for it in range(5):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(it)
    logits, loss = model(X, Y)  # <- the mistake
    X, Y = get_batch()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    last = logits.detach() if MISTAKE else logits.argmax(-1)  # <- the mistake
    del logits
