# SPDX-License-Identifier: Apache-2.0
# class: activations-dominate
"""Sixty steps of a solver, unrolled and differentiated through: every state between is kept."""
import os

import torch
import torch.utils.checkpoint

MISTAKE = "ZOO_MENDED" not in os.environ
force = (0.01 * torch.randn(9, 1, 3, 3, device="cuda")).requires_grad_()


def advance(u, steps):
    for _ in range(steps):
        change = torch.nn.functional.conv2d(u, force, padding=1, groups=9)  # <- the mistake
        u = u + 0.1 * torch.tanh(change)  # <- the mistake
    return u


for iteration in range(3):
    field = torch.randn(4, 9, 512, 512, device="cuda")
    if MISTAKE:
        field = advance(field, 60)  # <- the mistake
    else:
        for _ in range(10):
            field = torch.utils.checkpoint.checkpoint(advance, field, 6, use_reentrant=False)
    loss = field.square().mean()
    loss.backward()
    force.data -= 0.1 * force.grad
    force.grad = None
    del field, loss
