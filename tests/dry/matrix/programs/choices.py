# SPDX-License-Identifier: Apache-2.0
# gmdry: --data ones
"""Sizes that depend on values: nonzero, unique, a mask, routing to experts."""
import torch

x = torch.randn(1024, 64, device="cuda")
torch.unique((x * 10).long())
x[x > 0].sum()
experts = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(4)).cuda()
weight, chosen = torch.randn(1024, 4, device="cuda").softmax(-1).topk(2)
out = torch.zeros_like(x)
for i, expert in enumerate(experts):
    rows, places = torch.where(chosen == i)
    out.index_add_(0, rows, expert(x[rows]) * weight[rows, places, None])
out.sum().backward()
torch.sort(x.flatten())
torch.bincount(chosen.flatten())
