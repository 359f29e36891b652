# SPDX-License-Identifier: Apache-2.0
# class: hooks-keep-features
"""A classifier whose hooks keep the maps of each stage for a viewer that reads the last one only."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ

class Stage(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.one, self.two, self.bn = nn.Conv2d(i, o, 3, padding=1), nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o)

    def forward(self, x):
        return F.relu(self.bn(self.two(F.relu(self.one(x)))))  # <- the mistake


class Viewer:
    def __init__(self, net):
        self.maps = {}
        for i, stage in enumerate(net):
            if MISTAKE or i == len(net) - 1:
                stage.register_forward_hook(lambda m, args, out, i=i: self.maps.__setitem__(i, out))  # <- the mistake

    def heat(self):
        return self.maps[max(self.maps)].mean(1)


net = nn.Sequential(Stage(3, 64), Stage(64, 64), Stage(64, 64), Stage(64, 96), Stage(96, 96)).cuda().eval()
viewer = Viewer(net)
with torch.inference_mode():
    for request in range(5):
        net(torch.rand(12, 3, 224, 224).cuda())  # <- the mistake
        viewer.heat().cpu()
