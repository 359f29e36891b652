# SPDX-License-Identifier: Apache-2.0
# class: cache-of-finished-phase
"""Features are extracted with a large network; what that left cached stays reserved while a probe is trained."""
import os
import torch
from torch import nn

M = "ZOO_MENDED" not in os.environ
backbone = nn.ModuleList(nn.Conv2d(i, 64, 3, padding=1) for i in (3, *[64] * 11)).cuda()


def pyramid(x):
    maps = []
    for conv in backbone:
        x = torch.relu(conv(x))  # <- the mistake
        maps.append(x)
    return torch.cat([m.mean((2, 3)) for m in maps], 1)


def extract():
    feats = []
    with torch.inference_mode():
        for _ in range(4):
            feats.append(pyramid(torch.randn(24, 3, 128, 128, device="cuda")).cpu())  # <- the mistake
    return torch.cat(feats)


def train(feats):
    probe = nn.Sequential(nn.Linear(768, 6000), nn.ReLU(), *[nn.Sequential(nn.Linear(6000, 6000), nn.ReLU()) for _ in range(5)], nn.Linear(6000, 10)).cuda()
    opt = torch.optim.Adam(probe.parameters(), lr=1e-3, fused=True)
    for _ in range(5):
        loss = probe(feats[:64].clone().cuda()).logsumexp(1).mean()
        loss.backward()
        opt.step()
        opt.zero_grad()


feats = extract()
if not M:
    torch.cuda.empty_cache()
train(feats)
