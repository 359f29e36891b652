# SPDX-License-Identifier: Apache-2.0
# class: frozen-gradients
"""A pretrained trunk in no optimizer still gets gradients; a new head is trained by hand."""
import os
import torch
from torch import nn

M = "ZOO_MENDED" not in os.environ
trunk = nn.Sequential(*[nn.Sequential(nn.Linear(2560, 2560), nn.SiLU()) for _ in range(10)]).cuda()
head = torch.zeros(2560, 100, device="cuda", requires_grad=True)
if not M:
    trunk.requires_grad_(False)
for step in range(5):
    out = trunk(torch.randn(64, 2560, device="cuda")) @ head
    out.logsumexp(-1).mean().backward()  # <- the mistake
    with torch.no_grad():
        head.sub_(head.grad, alpha=0.1)
    head.grad = None
    del out
