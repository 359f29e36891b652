# SPDX-License-Identifier: Apache-2.0
# class: gradients-through-forward
"""Gradients are filled with zeros, and so stay while the next batch goes forward."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
torch.manual_seed(2)
theta = [torch.randn(6144, 6144, device="cuda").mul_(0.01).requires_grad_() for _ in range(5)]


def forward(h):
    for t in theta:
        h = torch.nn.functional.silu(h @ t)
    return h.square().mean()


def update(rate):
    with torch.no_grad():
        for t in theta:
            t.add_(t.grad, alpha=-rate)


for step in range(5):
    value = forward(torch.randn(6000, 6144, device="cuda"))
    value.backward()  # <- the mistake
    update(1e-3)
    for t in theta:
        if MISTAKE:
            t.grad.zero_()  # <- the mistake
        else:
            t.grad = None
