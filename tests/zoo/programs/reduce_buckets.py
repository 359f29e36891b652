# SPDX-License-Identifier: Apache-2.0
# class: flat-gradient-buckets
"""A hand-written data-parallel step: gradients are packed in buckets that live as long as the job."""
import os
import torch
from torch import nn
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

M = "ZOO_MENDED" not in os.environ
model = nn.Sequential(*[nn.Linear(2500, 2500, bias=False) for _ in range(12)]).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
groups = [list(model.parameters())[i:i + 3] for i in range(0, 12, 3)]
buckets = [torch.zeros(sum(p.numel() for p in g), device="cuda") for g in groups] if M else []  # <- the mistake
if not M:
    for g in groups:
        flat = torch.zeros(sum(p.numel() for p in g), device="cuda")
        for p, part in zip(g, _unflatten_dense_tensors(flat, g)):
            p.grad = part
for step in range(4):
    model(torch.randn(64, 2500, device="cuda")).square().mean().backward()
    if M:
        for g, b in zip(groups, buckets):
            at = 0
            for p in g:
                b[at:at + p.numel()].copy_(p.grad.flatten())
                at += p.numel()
            at = 0
            for p in g:
                p.grad.copy_(b[at:at + p.numel()].view_as(p))
                at += p.numel()
    opt.step()
    opt.zero_grad(set_to_none=False)
