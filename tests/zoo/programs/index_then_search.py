# SPDX-License-Identifier: Apache-2.0
# class: cache-of-finished-phase
# also: giant-tensor
"""An index is built from sorted pieces, then searched; what the building cached is of no use to the search."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ


def build():
    pieces = []
    for _ in range(60):
        points = torch.randn(36000, 128, device="cuda")  # <- the mistake
        pieces.append(points / points.norm(dim=1, keepdim=True))  # <- the mistake
    centres = torch.stack([piece.mean(0) for piece in pieces])
    return centres


def search(centres, many):
    far = torch.cdist(torch.randn(many, 128, device="cuda"), centres)
    near = far.topk(4, largest=False).values
    weights = torch.softmax(-near, 1)
    wide = weights.repeat_interleave(64, 1)
    return (wide * wide.sum(1, keepdim=True)).mean()


centres = build()  # <- the mistake
if not MISTAKE:
    torch.cuda.empty_cache()
for query in range(6):
    search(centres, 900000)
