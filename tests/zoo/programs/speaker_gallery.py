# SPDX-License-Identifier: Apache-2.0
# class: tensors-in-a-list
"""Frame features of enrolled utterances stay on the device in a gallery, by speaker; pooled at the end. Mended: pooled at once and kept on the host."""
import collections
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class TimeDelay(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        sizes = [(80, width, 5, 1), (width, width, 3, 2), (width, width, 3, 3), (width, 1500, 1, 1)]
        self.layers = nn.ModuleList(nn.Conv1d(a, b, k, dilation=d, padding=d * (k // 2)) for a, b, k, d in sizes)

    def forward(self, x):
        for layer in self.layers:
            x = nn.functional.relu(layer(x))  # <- the mistake
        return x


class Gallery:
    def __init__(self):
        self.frames = collections.defaultdict(list)

    def enrol(self, speakers, features):
        for speaker, one in zip(speakers, features):
            self.frames[speaker].append(one if MISTAKE else one.mean(-1).cpu())  # <- the mistake

    def centroids(self):
        return {s: torch.stack([f.float().mean(-1) if f.dim() > 1 else f for f in all_]).mean(0) for s, all_ in self.frames.items()}


@torch.inference_mode()
def enrol_all():
    net, gallery = TimeDelay().cuda().eval(), Gallery()
    for batch in range(20):
        sound = torch.randn(16, 80, 600)
        gallery.enrol([(batch * 16 + i) % 40 for i in range(16)], net(sound.cuda()))  # <- the mistake
    return gallery.centroids()


print(len(enrol_all()))
