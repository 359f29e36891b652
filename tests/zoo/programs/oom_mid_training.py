# SPDX-License-Identifier: Apache-2.0
# class: unfused-attention
# gmdry: --memory 20GiB
# compare: need
"""A ViT with attention by matmul and softmax; the card is full in the forward of the first step."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class MHA(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.h, self.qkv, self.proj, self.drop = heads, nn.Linear(dim, dim * 3), nn.Linear(dim, dim), nn.Dropout(0.0)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.h, C // self.h).permute(2, 0, 3, 1, 4).unbind(0)
        if MISTAKE:
            attn = (q * (C // self.h) ** -0.5) @ k.transpose(-2, -1)  # <- the mistake
            attn = attn.softmax(dim=-1)  # <- the mistake
            x = self.drop(attn) @ v  # <- the mistake
        else:
            x = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.proj(x.transpose(1, 2).reshape(B, N, C))


class ViT(nn.Module):
    def __init__(self, dim=768, depth=12, heads=12):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, 16, 16)
        self.attns = nn.ModuleList(MHA(dim, heads) for _ in range(depth))
        self.mlps = nn.ModuleList(nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)) for _ in range(depth))
        self.head = nn.Linear(dim, 1000)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        for attn, mlp in zip(self.attns, self.mlps):
            x = x + attn(x)
            x = x + mlp(x)
        return self.head(x.mean(1))


vit = ViT().cuda()
opt = torch.optim.AdamW(vit.parameters())
for _ in range(3):
    loss = vit(torch.randn(16, 3, 512, 512).cuda()).logsumexp(-1).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
