# SPDX-License-Identifier: Apache-2.0
# class: foreach-transients
"""Gradients are clipped and decayed with lists of tensors: copies of all of them at once."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
p = [torch.randn(2048, 4096, device="cuda").requires_grad_() for _ in range(24)]
for _ in range(4):
    h = torch.randn(32, 2048, device="cuda")
    for a, b in zip(p[::2], p[1::2]):
        h = torch.tanh(h @ a) @ b.t()
    h.mean().backward()
    with torch.no_grad():
        norm = torch.stack(torch._foreach_norm([w.grad for w in p])).norm()
        scale = (1.0 / (norm + 1e-6)).clamp(max=1.0)
        if MISTAKE:
            clipped = torch._foreach_mul([w.grad for w in p], scale)  # <- the mistake
            torch._foreach_add_(p, clipped, alpha=-0.1)
            del clipped
        else:
            for w in p:
                w.add_(w.grad.mul_(scale), alpha=-0.1)
    for w in p:
        w.grad = None
    del h, norm, scale
