# SPDX-License-Identifier: Apache-2.0
# class: second-copy-of-weights
"""Soft actor-critic style: an averaged copy of a large encoder lives beside it on the device, used at the end only."""
import copy
import os
import torch
from torch import nn

M = "ZOO_MENDED" not in os.environ
enc = nn.Sequential(nn.Linear(4096, 4096), nn.ReLU(), *[m for _ in range(5) for m in (nn.Linear(4096, 4096), nn.ReLU())]).cuda()
average = copy.deepcopy(enc if M else enc.cpu()).requires_grad_(False)  # <- the mistake
enc.cuda()
opt = torch.optim.SGD(enc.parameters(), lr=1e-3)
for step in range(4):
    loss = enc(torch.randn(512, 4096, device="cuda")).square().mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    with torch.no_grad():
        for a, p in zip(average.parameters(), enc.parameters()):
            a.lerp_(p.to(a.device), 0.005)
