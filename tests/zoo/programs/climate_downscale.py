# SPDX-License-Identifier: Apache-2.0
# class: cache-of-finished-phase
# compare: peak
"""First computes climatology statistics (mean, anomalies, EOF-like projection) of reanalysis fields on the GPU, then trains a downscaling CNN.
The statistics' blocks stay in the caching allocator and cannot serve the training's larger ones."""
import gc
import os
import torch
import torch.nn as nn

CLEAN = os.environ.get("ZOO_MENDED") == "1"


def climatology(years=20):
    """One field of 12 months per year; keeps running moments only."""
    keep = []
    for y in range(years):
        field = torch.randn(12, 5, 360, 720, device="cuda")     # 59 MiB
        keep.append(field - field.mean(0, keepdim=True))
    m = torch.zeros(12, 5, 360, 720, device="cuda")
    for a in keep:
        m += a.square()
    return m.div_(years).mean(0).sqrt().cpu()


class RDB(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a = nn.Conv2d(c, c, 3, padding=1)
        self.b = nn.Conv2d(c, c, 3, padding=1)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(x)))


class Downscaler(nn.Module):
    def __init__(self, c=64, n=5):
        super().__init__()
        self.i = nn.Conv2d(5, c, 9, padding=4)
        self.m = nn.Sequential(*[RDB(c) for _ in range(n)])
        self.o = nn.Sequential(nn.Conv2d(c, 4 * 5, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x):
        return self.o(self.m(torch.relu(self.i(x))))


std = climatology()  # <- the mistake
if CLEAN:
    gc.collect()
    torch.cuda.empty_cache()
std = std.cuda()

net = Downscaler().cuda()
opt = torch.optim.Adam(net.parameters(), lr=1e-4)
for it in range(4):
    hi = torch.randn(4, 5, 360, 720, device="cuda") / std.clamp_min(1e-3)
    lo = nn.functional.avg_pool2d(hi, 2)
    loss = (net(lo) - hi).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    del loss
    print("it", it)
