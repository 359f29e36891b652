# SPDX-License-Identifier: Apache-2.0
# class: data-set-on-gpu
# compare: peak
# libs: torch_geometric
"""GraphSAGE over a citation graph, with neighbourhoods sampled on the host."""
import os

import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

MENDED = os.environ.get("ZOO_MENDED")
PAPERS, FEATURES, FIELDS = 700_000, 512, 40


def citations():
    generator = torch.Generator().manual_seed(7)
    x = torch.empty(PAPERS, FEATURES)
    y = torch.randint(0, FIELDS, (PAPERS,), generator=generator)
    return Data(x=x, y=y)


class Net(torch.nn.Module):
    def __init__(self, hidden=768):
        super().__init__()
        self.first = SAGEConv(FEATURES, hidden)
        self.second = SAGEConv(hidden, FIELDS)

    def forward(self, x, edges):
        x = F.relu(self.first(x, edges))
        return self.second(F.dropout(x, 0.3, self.training), edges)


class Sampler:
    """Seeds with a fixed fan-out, drawn uniformly: as good as any for a benchmark of the loop."""

    def __init__(self, seeds=4096, fan=8):
        self.seeds, self.fan = seeds, fan
        self.generator = torch.Generator().manual_seed(1)

    def __iter__(self):
        for _ in range(8):
            count = self.seeds * (1 + self.fan)
            nodes = torch.randint(0, PAPERS, (count,), generator=self.generator)
            source = torch.arange(self.seeds, count)
            target = torch.arange(self.seeds).repeat_interleave(self.fan)
            yield nodes, torch.stack([source, target])


def train():
    graph = citations()
    if not MENDED:
        graph = graph.to("cuda")  # <- the mistake
    model = Net().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, fused=True)
    where = graph.x.device
    for nodes, edges in Sampler():
        chosen = nodes.to(where)
        x, y = graph.x[chosen].cuda(), graph.y[chosen[:4096]].cuda()
        loss = F.cross_entropy(model(x, edges.cuda())[:4096], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del loss, x, y
    return model


if __name__ == "__main__":
    print(sum(p.numel() for p in train().parameters()), "parameters")
