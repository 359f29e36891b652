# SPDX-License-Identifier: Apache-2.0
# class: cache-of-finished-phase
"""A satellite picture is upscaled in tiles of many sizes, then a classifier looks at batches of crops. Mended: empty_cache() between."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Upscale(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Conv2d(3, 64, 9, padding=4)
        self.body = nn.ModuleList(nn.Conv2d(64, 64, 3, padding=1) for _ in range(4))
        self.tail = nn.Conv2d(64, 12, 3, padding=1)

    def forward(self, x):
        x = torch.relu(self.head(x))
        for conv in self.body:
            x = x + torch.relu(conv(x))  # <- the mistake
        return nn.functional.pixel_shuffle(self.tail(x), 2)


def upscale(picture):
    net = Upscale().cuda().eval()
    out = torch.empty(3, 2 * picture.shape[1], 2 * picture.shape[2])
    for top in range(0, picture.shape[1], 1024):
        tile = picture[None, :, top:top + 1024].cuda()
        out[:, 2 * top:2 * top + 2048] = net(tile)[0].cpu()  # <- the mistake
    return out


def classify(picture, rounds):
    net = nn.Sequential(nn.Conv2d(3, 128, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 4)).cuda()
    votes = []
    for i in range(rounds):
        crops = torch.stack([picture[:, 64 * i + 8 * k:64 * i + 8 * k + 256, :256] for k in range(24)]).cuda()
        votes += net(crops).argmax(1).tolist()
        del crops
    return max(votes)


with torch.inference_mode():
    large = upscale(torch.rand(3, 4096, 1024))  # <- the mistake
    if not MISTAKE:
        torch.cuda.empty_cache()
    print(classify(large, 8))  # <- the mistake
