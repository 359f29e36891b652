# SPDX-License-Identifier: Apache-2.0
# class: stale-reference
"""Optical flow: features of the last clip are kept to be compared, though only their mean is wanted."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ

class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 48, 5, padding=2), nn.Conv2d(48, 64, 3, padding=1), nn.Conv2d(64, 96, 3, padding=1)

    def forward(self, clip):
        x = F.relu_(self.a(clip))
        x = F.relu_(self.b(x))
        return self.c(x)  # <- the mistake


@torch.inference_mode()
def compare(clips):
    net, past, drift = Pyramid().cuda().eval().half(), None, []
    for clip in clips:
        features = net(clip.cuda().half())  # <- the mistake
        if past is not None:
            drift.append((features.mean() - past.mean()).item())
        past = features if MISTAKE else features.mean()  # <- the mistake
        del features
    return drift


compare([torch.rand(4, 3, 512, 512) for _ in range(6)])
