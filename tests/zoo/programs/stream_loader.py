# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Copies on a stream of their own, two buffers that are used in turn, events instead of record_stream."""
import torch
from torch import nn


class Buffers:
    """Two fixed places on the card; the next batch is copied to the one that is not in use."""

    def __init__(self, shape):
        self.places = [torch.empty(shape, device="cuda") for _ in range(2)]
        self.copied = [torch.cuda.Event() for _ in range(2)]
        self.used = [torch.cuda.Event() for _ in range(2)]
        self.stream = torch.cuda.Stream()

    def fill(self, turn, batch):
        self.stream.wait_event(self.used[turn])
        with torch.cuda.stream(self.stream):
            self.places[turn].copy_(batch, non_blocking=True)
            self.copied[turn].record(self.stream)

    def feed(self, batches):
        turn, batches = 0, iter(batches)
        self.fill(turn, next(batches))
        for batch in batches:
            self.fill(1 - turn, batch)
            torch.cuda.current_stream().wait_event(self.copied[turn])
            yield self.places[turn]
            self.used[turn].record()
            turn = 1 - turn
        torch.cuda.current_stream().wait_event(self.copied[turn])
        yield self.places[turn]


class Denoiser(nn.Module):
    def __init__(self, width=128, depth=8):
        super().__init__()
        self.enter = nn.Conv1d(2, width, 7, padding=3)
        self.body = nn.ModuleList(nn.Conv1d(width, width, 5, padding=2) for _ in range(depth))
        self.leave = nn.Conv1d(width, 2, 7, padding=3)

    def forward(self, sound):
        x = self.enter(sound)
        for layer in self.body:
            x = layer(x).relu_()
        return self.leave(x)


def recordings(count, shape):
    for _ in range(count):
        yield torch.rand(shape).pin_memory()


@torch.inference_mode()
def main():
    shape = (16, 2, 32000)
    model, power = Denoiser().cuda().eval(), torch.zeros((), device="cuda")
    for sound in Buffers(shape).feed(recordings(12, shape)):
        power += model(sound).square().mean()
    print("power", power.item())


if __name__ == "__main__":
    main()
