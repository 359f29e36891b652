# SPDX-License-Identifier: Apache-2.0
# class: activations-dominate
"""WaveNet: dilated convolutions with gates over long audio, twenty alike layers; nothing is checkpointed. Mended: each layer is."""
import os

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

MISTAKE = "ZOO_MENDED" not in os.environ


class Gated(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.conv = nn.Conv1d(channels, 2 * channels, 2, padding=dilation, dilation=dilation)
        self.res, self.skip = nn.Conv1d(channels, channels, 1), nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        a, b = self.conv(x)[..., :x.shape[-1]].chunk(2, 1)  # <- the mistake
        y = torch.tanh(a) * torch.sigmoid(b)  # <- the mistake
        return x + self.res(y), self.skip(y)  # <- the mistake


class WaveNet(nn.Module):
    def __init__(self, channels=64):
        super().__init__()
        self.first, self.last = nn.Conv1d(1, channels, 1), nn.Conv1d(channels, 1, 1)
        self.layers = nn.ModuleList(Gated(channels, 2 ** (i % 10)) for i in range(20))

    def forward(self, wave):
        x, total = self.first(wave), 0
        for layer in self.layers:
            if MISTAKE:
                x, skip = layer(x)  # <- the mistake
            else:
                x, skip = checkpoint(layer, x, use_reentrant=False)
            total = total + skip
        return self.last(torch.relu(total))


def main():
    net = WaveNet().cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
    for _ in range(3):
        wave = torch.randn(8, 1, 32000, device="cuda")
        loss = nn.functional.l1_loss(net(wave[..., :-1]), wave[..., 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del wave, loss


main()
