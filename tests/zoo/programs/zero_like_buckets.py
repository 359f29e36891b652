# SPDX-License-Identifier: Apache-2.0
# class: flat-gradient-buckets
"""Data parallel by hand: gradients are copied into flat buffers of 25 MiB that stay, and back. Mended: gradients are views."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ
CAP = 25 * 2**20


class Bucket:
    def __init__(self, params):
        self.params = params
        self.flat = torch.zeros(sum(p.numel() for p in params), device="cuda")  # <- the mistake
        offset = 0
        self.views = []
        for p in params:
            self.views.append(self.flat[offset:offset + p.numel()].view_as(p))
            offset += p.numel()

    def reduce(self):
        if MISTAKE:
            for view, p in zip(self.views, self.params):
                view.copy_(p.grad)
        self.flat.div_(8)
        if MISTAKE:
            for view, p in zip(self.views, self.params):
                p.grad.copy_(view)


def buckets_of(params):
    groups, size = [[]], 0
    for p in reversed(list(params)):
        if groups[-1] and size + p.numel() * 4 > CAP:
            groups, size = [*groups, []], 0
        groups[-1].append(p)
        size += p.numel() * 4
    return [Bucket(group) for group in groups]  # <- the mistake


model = nn.Sequential(*[nn.Sequential(nn.Linear(1536, 1536), nn.ReLU()) for _ in range(24)]).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
buckets = buckets_of(model.parameters())
for step in range(5):
    if not MISTAKE:
        for bucket in buckets:
            bucket.flat.zero_()
            for view, p in zip(bucket.views, bucket.params):
                p.grad = view
    model(torch.randn(64, 1536, device="cuda")).mean().backward()
    for bucket in buckets:
        bucket.reduce()
    opt.step()
    if MISTAKE:
        opt.zero_grad()
