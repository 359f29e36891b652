# SPDX-License-Identifier: Apache-2.0
# class: no-inference-mode
"""A loaded network makes pictures larger; nobody asks for gradients, and yet they are prepared for."""
import os

import torch
import torch.nn.functional as F

MISTAKE = "ZOO_MENDED" not in os.environ
kernels = [torch.nn.Parameter(torch.randn(n, m, 3, 3, device="cuda") * 0.05)
           for m, n in [(3, 48), (48, 48), (48, 48), (48, 48), (48, 12)]]


def upscale(x):
    for kernel in kernels[:-1]:
        x = F.leaky_relu(F.conv2d(x, kernel, padding=1), 0.1)
    return F.pixel_shuffle(F.conv2d(x, kernels[-1], padding=1), 2)


torch.set_grad_enabled(MISTAKE)
mean = 0.0
for number in range(6):
    tile = torch.rand(8, 3, 512, 512, device="cuda")
    mean += upscale(tile).mean().item()  # <- the mistake
print(mean)
