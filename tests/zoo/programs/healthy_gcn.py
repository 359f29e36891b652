# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""A graph network on a whole graph, as in the papers: features, edges and masks on the device, a few epochs with early stopping."""
import torch
from torch import nn


class Gcn(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(500, 256), nn.Linear(256, 7)

    def forward(self, x, edges, weight):
        for layer in (self.one, self.two):
            x = layer(x)
            x = torch.zeros_like(x).index_add_(0, edges[1], x[edges[0]] * weight)
            x = torch.relu(x) if layer is self.one else x
        return x


nodes, count = 20000, 90000
x, edges = torch.randn(nodes, 500).cuda(), torch.randint(nodes, (2, count)).cuda()
weight, labels = torch.rand(count, 1).cuda(), torch.randint(7, (nodes,)).cuda()
train = torch.rand(nodes, device="cuda") < 0.5
model = Gcn().cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
best = 0.0
for epoch in range(6):
    model.train()
    optimizer.zero_grad()
    out = model(x, edges, weight)
    loss = nn.functional.cross_entropy(out[train], labels[train])
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        correct = (model(x, edges, weight).argmax(1) == labels)[~train].float().mean().item()
    best = max(best, correct)
