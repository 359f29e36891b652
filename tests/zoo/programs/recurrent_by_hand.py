# SPDX-License-Identifier: Apache-2.0
# class: retain-graph
"""A recurrence over chunks, written by hand; retain_graph=True was once needed and is still there."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
u = (0.02 * torch.randn(1024, 1024, device="cuda")).requires_grad_()
v = (0.02 * torch.randn(256, 1024, device="cuda")).requires_grad_()


def unroll(h, chunk):
    for x in chunk:
        h = torch.tanh(h @ u + x @ v)
    return h


state = torch.zeros(2048, 1024, device="cuda")
for _ in range(6):
    end = unroll(state, torch.randn(24, 2048, 256, device="cuda"))
    error = end.square().mean()
    error.backward(retain_graph=MISTAKE)  # <- the mistake
    with torch.no_grad():
        for weight in (u, v):
            weight -= 0.1 * weight.grad
            weight.grad = None
    state = end.detach()
