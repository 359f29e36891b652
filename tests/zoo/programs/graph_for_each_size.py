# SPDX-License-Identifier: Apache-2.0
# class: cuda-graph-pools
"""A CUDA graph for each batch size, each with a memory pool of its own."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Runner:
    def __init__(self, model, sizes):
        self.graphs, pool = {}, None
        for size in sorted(sizes, reverse=True):
            x, graph = torch.zeros(size, 2048, device="cuda", dtype=torch.float16), torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):  # <- the mistake
                y = model(x)  # <- the mistake
            if not MISTAKE:
                pool = graph.pool()
            self.graphs[size] = graph, x, y

    def __call__(self, batch):
        graph, x, y = self.graphs[len(batch)]
        x.copy_(batch)
        graph.replay()
        return y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in [(2048, 8192), (8192, 8192), (8192, 64)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))  # <- the mistake
        return x


with torch.no_grad():
    net = Net().cuda().half()
    net(torch.zeros(8, 2048, device="cuda", dtype=torch.float16))
    runner = Runner(net, [2048, 2560, 3072, 3584, 4096, 4608, 5120, 5632])
    for size in (2048, 5632, 4096):
        runner(torch.randn(size, 2048, device="cuda", dtype=torch.float16))
