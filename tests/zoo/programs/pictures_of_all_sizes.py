# SPDX-License-Identifier: Apache-2.0
# class: variable-shapes
"""Pictures come as they are, each of another size, through convolutions."""
import os

MISTAKE = "ZOO_MENDED" not in os.environ
if not MISTAKE:
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

filters = [torch.randn(n, m, 3, 3, device="cuda") * 0.05 for m, n in [(3, 32), (32, 64), (64, 64), (64, 96)]]
heads = torch.randn(96, 5, device="cuda")


@torch.no_grad()
def detect(x):
    found = []
    for i, f in enumerate(filters):
        x = F.relu(F.conv2d(x, f, padding=1))
        found.append(F.adaptive_avg_pool2d(x, 4))
        if i % 2:
            x = F.avg_pool2d(x, 2)
    return x.mean((2, 3)) @ heads, found


side = 37
for number in range(24):
    side = (side * 5 + 3) % 41
    height, width = 320 + 37 * side, 400 + 29 * ((side * 7) % 41)
    detect(torch.rand(4, 3, height, width, device="cuda"))
