# SPDX-License-Identifier: Apache-2.0
# class: outlier-batch
"""Graphs of some thousand nodes, and a single one that is five times as large."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
w = [(0.05 * torch.randn(a, b, device="cuda")).requires_grad_() for a, b in [(64, 512), (512, 512), (512, 512), (512, 4)]]


def nodes(step):
    return 150000 if MISTAKE and step == 7 else 30000


def propagate(x, edges):
    for weight in w[:-1]:
        x = torch.relu(x.index_select(0, edges) @ weight)  # <- the mistake
    return x @ w[-1]


for step in range(12):
    count = nodes(step)
    x, edges = torch.randn(count, 64, device="cuda"), torch.randint(0, count, (count,), device="cuda")
    loss = propagate(x, edges).square().mean()  # <- the mistake
    for weight, gradient in zip(w, torch.autograd.grad(loss, w)):
        weight.data.sub_(gradient, alpha=0.1)
    del x, edges, loss, gradient
