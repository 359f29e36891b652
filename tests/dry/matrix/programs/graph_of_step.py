# SPDX-License-Identifier: Apache-2.0
"""A whole training step in a graph."""
import torch

model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Dropout(0.1), torch.nn.Linear(256, 256)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
x = torch.randn(64, 256, device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    model(x).square().mean().backward()
    optimizer.step()


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
graph.replay()
