# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Contrastive training of two towers in bf16, with a scheduler and clipping."""
import torch
import torch.nn.functional as F
from torch import nn


class Tower(nn.Module):
    def __init__(self, inp, width=512):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inp, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 128))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


image, text = Tower(2048).cuda(), Tower(768).cuda()
params = [*image.parameters(), *text.parameters()]
opt = torch.optim.AdamW(params, lr=1e-3, fused=True)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 100)
for step in range(6):
    a, b = torch.randn(4096, 2048).cuda(), torch.randn(4096, 768).cuda()
    with torch.autocast("cuda", torch.bfloat16):
        logits = image(a) @ text(b).t() * 20
        labels = torch.arange(len(a), device="cuda")
        loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2
    loss.backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
    opt.zero_grad(set_to_none=True)
    sched.step()
    del a, b, logits, labels, loss
