# SPDX-License-Identifier: Apache-2.0
# class: frozen-gradients
# mended: 2
"""A prompt is learnt in front of a model whose weights all collect gradients that nobody uses."""
import os

import torch

VARIANT = int(os.environ.get("ZOO_MENDED", 0))
body = [(0.02 * torch.randn(2560, 2560, device="cuda")).requires_grad_(VARIANT != 1) for _ in range(20)]
prompt = torch.zeros(16, 2560, device="cuda", requires_grad=True)


def answer(x):
    x = torch.cat([prompt.expand(8, -1, -1), x], 1)
    for w in body:
        x = torch.relu(x @ w)
    return x.mean()


for step in range(4):
    loss = answer(torch.randn(8, 32, 2560, device="cuda"))
    loss.backward()  # <- the mistake
    with torch.no_grad():
        prompt -= 0.1 * prompt.grad
    prompt.grad = None
    if VARIANT == 2:
        for w in body:
            w.grad = None
    del loss
