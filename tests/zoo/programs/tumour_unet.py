# SPDX-License-Identifier: Apache-2.0
# class: activations-dominate
"""A 3D U-Net over whole scans: what the forward pass keeps is nearly all. Mended: each block is checkpointed."""
import os

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

MISTAKE = "ZOO_MENDED" not in os.environ


class Double(nn.Sequential):
    def __init__(self, a, b):
        super().__init__(nn.Conv3d(a, b, 3, padding=1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01),  # <- the mistake
                         nn.Conv3d(b, b, 3, padding=1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01))


def apply(block, x):
    return block(x) if MISTAKE else checkpoint(block, x, use_reentrant=False)  # <- the mistake


class UNet(nn.Module):
    def __init__(self, widths=(16, 32, 64, 128)):
        super().__init__()
        self.down = nn.ModuleList(Double(a, b) for a, b in zip((4, *widths), widths))
        self.up = nn.ModuleList(Double(a + b, a) for a, b in zip(widths, widths[1:]))
        self.last = nn.Conv3d(widths[0], 3, 1)

    def forward(self, x):
        skips = []
        for i, block in enumerate(self.down):
            x = apply(block, x if i == 0 else nn.functional.max_pool3d(x, 2))  # <- the mistake
            skips.append(x)
        x = skips.pop()
        for block in reversed(self.up):
            x = nn.functional.interpolate(x, scale_factor=2)
            x = apply(block, torch.cat([skips.pop(), x], 1))  # <- the mistake
        return self.last(x)


def dice(logits, truth):
    p = logits.sigmoid()
    return 1 - 2 * (p * truth).sum() / (p.sum() + truth.sum() + 1)


net = UNet().cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.01, 0.99, nesterov=True)
for scan in range(5):
    image, truth = torch.zeros(2, 4, 96, 128, 128).cuda(), torch.zeros(2, 3, 96, 128, 128).cuda()
    loss = dice(net(image), truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(scan, loss.item())
