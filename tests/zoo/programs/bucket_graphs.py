# SPDX-License-Identifier: Apache-2.0
# class: cuda-graph-pools
# compare: peak
"""A scoring server replays a CUDA graph for each batch size; each capture has a memory pool of its own."""
import os

import torch
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")
SIZES = (4096, 3072, 2048, 1536, 1024, 512, 256)


class Scorer(nn.Module):
    def __init__(self, fields=256, width=4096, depth=6):
        super().__init__()
        self.enter = nn.Linear(fields, width)
        self.crosses = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.leave = nn.Linear(width, 1)

    def forward(self, x):
        first = x = self.enter(x)  # <- the mistake
        for cross in self.crosses:
            x = first * cross(x).relu() + x  # <- the mistake
        return self.leave(x).sigmoid()


class Captured:
    def __init__(self, model, size, pool):
        self.input = torch.zeros(size, 256, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):  # <- the mistake
            self.output = model(self.input)  # <- the mistake

    def __call__(self, rows):
        self.input[:len(rows)].copy_(rows, non_blocking=True)
        self.graph.replay()
        return self.output[:len(rows)].clone()


class Server:
    def __init__(self, model):
        shared = torch.cuda.graph_pool_handle() if MENDED else None
        with torch.inference_mode():
            warm = torch.cuda.Stream()
            with torch.cuda.stream(warm):
                model(torch.zeros(16, 256, device="cuda"))
            torch.cuda.current_stream().wait_stream(warm)
            self.captured = {size: Captured(model, size, shared) for size in SIZES}

    @torch.inference_mode()
    def score(self, rows):
        size = min(size for size in SIZES if size >= len(rows))
        return self.captured[size](rows.cuda(non_blocking=True)).cpu()


def main():
    torch.backends.cuda.matmul.allow_tf32 = True
    server = Server(Scorer().cuda().eval())
    for count in (30, 700, 4000, 1800, 12, 300, 2500):
        print(count, len(server.score(torch.randn(count, 256))))


main()
