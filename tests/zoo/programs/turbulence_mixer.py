# SPDX-License-Identifier: Apache-2.0
# class: activations-dominate
# compare: peak
"""A surrogate for turbulent flow: an MLP-mixer over patches of velocity fields, deep and not wide."""
import os

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

MENDED = os.environ.get("ZOO_MENDED")


class MixerLayer(nn.Module):
    def __init__(self, patches, width):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.tokens = nn.Sequential(nn.Linear(patches, 2 * patches), nn.GELU(), nn.Linear(2 * patches, patches))
        self.channels = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.tokens(self.norms[0](x).transpose(1, 2)).transpose(1, 2)  # <- the mistake
        return x + self.channels(self.norms[1](x))  # <- the mistake


class Surrogate(nn.Module):
    def __init__(self, patches=256, width=384, depth=24):
        super().__init__()
        self.cut = nn.Conv2d(3, width, 8, 8)
        self.layers = nn.ModuleList(MixerLayer(patches, width) for _ in range(depth))
        self.paste = nn.ConvTranspose2d(width, 3, 8, 8)

    def forward(self, field):
        x = self.cut(field)
        shape = x.shape
        x = x.flatten(2).transpose(1, 2)
        for number, layer in enumerate(self.layers):
            if MENDED:
                x = checkpoint(layer, x, use_reentrant=False)
            else:
                x = layer(x)  # <- the mistake
        return self.paste(x.transpose(1, 2).reshape(shape))


class Solver:
    """Yields pairs of fields, one time step apart."""

    def __init__(self, pairs, batch):
        self.pairs, self.batch = pairs, batch

    def __iter__(self):
        for seed in range(self.pairs):
            torch.manual_seed(seed)
            now = torch.randn(self.batch, 3, 128, 128)
            yield now, now.roll(1, -1)


def main():
    with torch.device("cuda"):
        model = Surrogate()
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-3)
    for now, later in Solver(4, 16):
        error = (model(now.cuda()) - later.cuda()).square().mean()  # <- the mistake
        optimizer.zero_grad(set_to_none=True)
        error.backward()
        optimizer.step()
        del error


main()
