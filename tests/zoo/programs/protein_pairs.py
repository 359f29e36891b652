# SPDX-License-Identifier: Apache-2.0
# class: giant-tensor
# compare: need
# gmdry: --memory 8GiB
"""Contacts of residues: all pairwise distances of a large complex, then the nearest neighbours of each residue."""
import os

import torch
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")


class ResidueEncoder(nn.Module):
    def __init__(self, width=4096, depth=36):
        super().__init__()
        self.start = nn.Linear(24, width)
        self.layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU()) for _ in range(depth))
        self.coordinates = nn.Linear(width, 16)

    def forward(self, x):
        x = self.start(x)
        for layer in self.layers:
            x = x + layer(x)
        return self.coordinates(x)


def neighbours_all(points, k):
    apart = (points[:, None, :] - points[None, :, :]).square().sum(-1)  # <- the mistake
    return apart.topk(k, largest=False).indices


def neighbours_in_pieces(points, k, rows=256):
    found = []
    for piece in points.split(rows):
        found.append(torch.cdist(piece, points).topk(k, largest=False).indices)
    return torch.cat(found)


def complexes():
    for residues in (1500, 2500, 7000):
        yield torch.randn(residues, 24)


@torch.inference_mode()
def main():
    encoder = ResidueEncoder().cuda().eval()
    search = neighbours_in_pieces if MENDED else neighbours_all
    for features in complexes():
        points = encoder(features.cuda())
        edges = search(points, 32)
        print(len(features), "residues", tuple(edges.shape))


if __name__ == "__main__":
    main()
