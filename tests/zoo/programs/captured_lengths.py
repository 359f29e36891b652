# SPDX-License-Identifier: Apache-2.0
# class: cuda-graph-pools
"""Captures the same function for many lengths; nothing is shared between the captures."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
w1 = torch.randn(1024, 4096, device="cuda")
w2 = torch.randn(4096, 1024, device="cuda")


def work(x):
    for _ in range(3):
        x = torch.tanh(x @ w1) @ w2  # <- the mistake
    return x.sum(1)


shared = torch.cuda.graph_pool_handle()
captured = []
with torch.no_grad():
    work(torch.zeros(4, 1024, device="cuda"))
    torch.cuda.synchronize()
    for length in range(6000, 2000, -500):
        still = torch.zeros(length, 1024, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=None if MISTAKE else shared):  # <- the mistake
            out = work(still)  # <- the mistake
        captured.append((graph, still, out))
for graph, _, _ in captured:
    graph.replay()
