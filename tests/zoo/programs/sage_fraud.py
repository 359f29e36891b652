# SPDX-License-Identifier: Apache-2.0
# class: healthy
# libs: torch_geometric
"""Fraud in a payment graph: features stay on the host, each batch's neighbourhood goes to the card and away again."""
import torch
import torch.nn.functional as F
from torch_geometric.nn import GATv2Conv, LayerNorm

ACCOUNTS, FEATURES = 200_000, 256


class Fraud(torch.nn.Module):
    def __init__(self, hidden=256, heads=4):
        super().__init__()
        self.first = GATv2Conv(FEATURES, hidden, heads=heads)
        self.norm = LayerNorm(hidden * heads)
        self.second = GATv2Conv(hidden * heads, hidden, heads=heads)
        self.judge = torch.nn.Linear(hidden * heads, 2)

    def forward(self, x, edges):
        x = F.elu(self.norm(self.first(x, edges)))
        return self.judge(F.elu(self.second(x, edges)))


class Payments:
    def __init__(self):
        self.features = torch.empty(ACCOUNTS, FEATURES)
        self.labels = torch.zeros(ACCOUNTS, dtype=torch.long)
        self.generator = torch.Generator().manual_seed(6)

    def batch(self, seeds=1024, fan=10):
        count = seeds * (fan + 1)
        nodes = torch.randint(0, ACCOUNTS, (count,), generator=self.generator)
        edges = torch.stack([torch.arange(seeds, count), torch.arange(seeds).repeat(fan)])
        return self.features[nodes].cuda(), edges.cuda(), self.labels[nodes[:seeds]].cuda()


def main(steps=8):
    payments, model = Payments(), Fraud().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    for step in range(steps):
        x, edges, fraud = payments.batch()
        loss = F.cross_entropy(model(x, edges)[:len(fraud)], fraud)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(step, loss.item())
        del x, edges, loss


if __name__ == "__main__":
    main()
