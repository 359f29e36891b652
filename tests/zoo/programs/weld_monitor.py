# SPDX-License-Identifier: Apache-2.0
# class: pinned-segments
# compare: end
# mended: 2
"""Watches a welding robot: while the network trains, a small summary of each layer is kept from each shift."""
import os

import torch
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear, self.act = nn.Linear(width, width), nn.Tanh()

    def forward(self, x):
        return self.act(self.linear(x))


class Monitor(nn.Module):
    def __init__(self, width=1280, depth=60):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))
        self.summaries = {}
        self.room = []

    def forward(self, signal, shift=None):
        for number, layer in enumerate(self.layers):
            signal = layer(signal)
            if shift is not None:
                self.keep(shift, number, signal.detach())
        return signal

    def keep(self, shift, number, signal):
        """Every fourth row: about 2 MiB, between the large blocks of the forward pass."""
        short = signal[::4].clone()  # <- the mistake
        if MENDED == "2":
            short = self.room.pop().copy_(short)
        self.summaries[shift, number] = short.cpu() if MENDED == "1" else short  # <- the mistake


def shifts(model, count=2):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    for shift in range(count):
        signal = torch.randn(1536, 1280, device="cuda")
        error = (model(signal, shift) - signal).square().mean()
        optimizer.zero_grad(set_to_none=True)
        error.backward()
        optimizer.step()
        del error, signal
    optimizer.zero_grad(set_to_none=True)


@torch.inference_mode()
def night(model):
    """All of a day at once, on a card whose cache has just been emptied for it."""
    torch.cuda.empty_cache()
    day = torch.randn(96_000, 1280, device="cuda")
    worst = model(day).abs().amax()
    return worst.item()


if __name__ == "__main__":
    monitor = Monitor().cuda()
    if MENDED == "2":
        monitor.room = [torch.empty(384, 1280, device="cuda") for _ in range(120)]
    shifts(monitor)
    print("worst", night(monitor), "summaries", len(monitor.summaries))
    torch.cuda.empty_cache()  # the card is shared with the robot's own vision in the morning
