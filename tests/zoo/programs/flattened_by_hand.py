# SPDX-License-Identifier: Apache-2.0
# class: flat-gradient-buckets
"""All gradients are copied into one long vector that stays, as if they were to be sent."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
p = [(0.02 * torch.randn(3000, 3000, device="cuda")).requires_grad_() for _ in range(16)]
flat = torch.zeros(16 * 9000000, device="cuda")  # <- the mistake
if not MISTAKE:
    for i, w in enumerate(p):
        w.grad = flat[i * 9000000:(i + 1) * 9000000].view(3000, 3000)
for step in range(4):
    x = torch.randn(256, 3000, device="cuda")
    for w in p:
        x = torch.tanh(x @ w)
    x.square().mean().backward()
    with torch.no_grad():
        for i, w in enumerate(p):
            if MISTAKE:
                flat[i * 9000000:(i + 1) * 9000000].copy_(w.grad.view(-1))
            w.sub_(flat[i * 9000000:(i + 1) * 9000000].view(3000, 3000), alpha=0.1)
    if not MISTAKE:
        flat.zero_()
    elif step % 2:
        for w in p:
            w.grad = None
    else:
        for w in p:
            w.grad.zero_()
    del x
