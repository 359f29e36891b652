# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs: captured, replayed, of a callable with its backward pass."""
import torch

x = torch.randn(64, 256, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out = (x @ x.T).relu()
for _ in range(3):
    graph.replay()
layer = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU()).cuda()
graphed = torch.cuda.make_graphed_callables(layer, (torch.randn(64, 256, device="cuda", requires_grad=True),))
graphed(torch.randn(64, 256, device="cuda", requires_grad=True)).sum().backward()
