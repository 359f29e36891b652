# SPDX-License-Identifier: Apache-2.0
# class: no-inference-mode
# compare: peak
"""Morphology of galaxies: a trained residual network is run over a survey, and features go to a file."""
import os
import tempfile

import torch
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")


def conv(inside, outside, stride=1):
    return nn.Sequential(nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside), nn.LeakyReLU(0.1))


class Stage(nn.Module):
    def __init__(self, inside, outside, blocks):
        super().__init__()
        self.shrink = conv(inside, outside, 2)
        self.blocks = nn.ModuleList(nn.Sequential(conv(outside, outside), conv(outside, outside)) for _ in range(blocks))

    def forward(self, x):
        x = self.shrink(x)  # <- the mistake
        for block in self.blocks:
            x = x + block(x)  # <- the mistake
        return x


class Morphology(nn.Module):
    def __init__(self):
        super().__init__()
        widths = (5, 64, 128, 256, 1024)
        self.stages = nn.Sequential(*(Stage(a, b, 3) for a, b in zip(widths, widths[1:])))
        self.shape = nn.Linear(1024, 64)

    def forward(self, bands):
        return self.shape(self.stages(bands).mean((2, 3)))


class Survey:
    """Cut-outs in five bands, as a telescope's archive would deliver them."""

    def __init__(self, plates, per_plate):
        self.plates, self.per_plate = plates, per_plate

    def __iter__(self):
        for plate in range(self.plates):
            yield plate, torch.rand(self.per_plate, 5, 160, 160)


def extract(model, survey, path):
    rows = []
    for plate, bands in survey:
        features = model(bands.cuda())  # <- the mistake
        rows.append((plate, features.detach().cpu()))
    torch.save(rows, path)
    return len(rows)


def main():
    model = Morphology().cuda().eval()
    with tempfile.TemporaryDirectory() as folder, torch.set_grad_enabled(not MENDED):
        print(extract(model, Survey(6, 8), os.path.join(folder, "features.pt")), "plates")


if __name__ == "__main__":
    main()
