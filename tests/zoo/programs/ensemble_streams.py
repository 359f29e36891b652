# SPDX-License-Identifier: Apache-2.0
# class: workspaces-per-stream
# compare: peak
"""An ensemble of small forecasters, each member on a stream of its own so that they overlap."""
import os

import torch
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")
MEMBERS = 10


class Member(nn.Module):
    def __init__(self, width=3072):
        super().__init__()
        sizes = (96, width, width, 24)
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(a, b) / a) for a, b in zip(sizes, sizes[1:]))

    def forward(self, past):
        for weight in self.weights:
            past = (past @ weight).tanh()  # <- the mistake
        return past


class Ensemble:
    def __init__(self):
        self.members = [Member().cuda().eval() for _ in range(MEMBERS)]
        count = 1 if MENDED else MEMBERS
        self.streams = [torch.cuda.Stream() for _ in range(count)]  # <- the mistake

    @torch.inference_mode()
    def forecast(self, past):
        home, results = torch.cuda.current_stream(), []
        for number, member in enumerate(self.members):
            stream = self.streams[number % len(self.streams)]
            stream.wait_stream(home)
            with torch.cuda.stream(stream):  # <- the mistake
                results.append(member(past))  # <- the mistake
        for stream in self.streams:
            home.wait_stream(stream)
        return torch.stack([result.cpu() for result in results])


def stations(count):
    for seed in range(count):
        yield torch.randn(16, 96, generator=torch.Generator().manual_seed(seed))


def main():
    ensemble = Ensemble()
    for number, past in enumerate(stations(6)):
        spread = ensemble.forecast(past.cuda()).std(0)
        print(number, tuple(spread.shape))


if __name__ == "__main__":
    main()
