# SPDX-License-Identifier: Apache-2.0
# class: optimizer-state-dominates
# mended: 2
"""Adam written by hand, state in float32 beside weights in bfloat16: four times the weights."""
import os

import torch

VARIANT = int(os.environ.get("ZOO_MENDED", 0))
weights = [torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16).requires_grad_() for _ in range(12)]
kind = {0: torch.float32, 2: torch.uint8}.get(VARIANT)
moments = {}


def step_of(index, weight):
    if VARIANT == 1:
        weight.sub_(weight.grad, alpha=1e-3)
        return
    if index not in moments:
        moments[index] = [torch.zeros_like(weight, dtype=kind) for _ in range(2)]  # <- the mistake
    first, second = moments[index]
    first.add_(1)
    second.add_(1)
    weight.sub_(weight.grad, alpha=1e-3)


for batch in range(4):
    x = torch.randn(256, 4096, device="cuda", dtype=torch.bfloat16)
    for weight in weights:
        x = torch.relu(x @ weight)
    x.float().mean().backward()
    with torch.no_grad():
        for index, weight in enumerate(weights):
            step_of(index, weight)
            weight.grad = None
    del x
