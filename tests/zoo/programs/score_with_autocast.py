# SPDX-License-Identifier: Apache-2.0
# class: autocast-weight-casts
# mended: 2
"""Weights in float32 in a list, and scoring under autocast: the casts of all layers are there at once."""
import os

import torch
import torch.nn.functional as F

VARIANT = int(os.environ.get("ZOO_MENDED", 0))
torch.manual_seed(3)
stack = [torch.nn.Parameter(torch.randn(4096, 4096, device="cuda") * 0.02) for _ in range(16)]
if VARIANT == 2:
    stack = [torch.nn.Parameter(w.detach().half()) for w in stack]


def score(h):
    for w in stack:
        h = F.gelu(F.linear(h, w))  # <- the mistake
    return h.float().mean(1)


kind = torch.float16 if VARIANT == 2 else torch.float32
with torch.no_grad():
    with torch.autocast("cuda", dtype=torch.float16, enabled=VARIANT != 2, cache_enabled=VARIANT == 0):
        for _ in range(4):
            print(score(torch.randn(512, 4096, device="cuda", dtype=kind)).shape)  # <- the mistake
