# SPDX-License-Identifier: Apache-2.0
# class: slow-leak
"""Each step leaves a vector behind in a global table, for a plot that nobody has asked for."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
SEEN = {}
a = torch.randn(512, 4096, device="cuda", requires_grad=True)
b = torch.randn(4096, 256, device="cuda", requires_grad=True)


def remember(step, gradient):
    norms = gradient.abs().mean(0, keepdim=True).expand(300, -1).contiguous()  # <- the mistake
    SEEN["norms", step if MISTAKE else 0] = norms


for step in range(80):
    x = torch.randn(4096, 512, device="cuda")
    loss = (torch.relu(x @ a) @ b).square().mean()
    ga, gb = torch.autograd.grad(loss, (a, b))
    remember(step, ga)
    a.data.sub_(ga, alpha=0.01)
    b.data.sub_(gb, alpha=0.01)
    del x, loss, ga, gb
