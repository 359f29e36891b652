# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Stress in meshes by message passing: checkpointed rounds, one mesh at a time from the host, Lion-like optimizer."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Round(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width))
        self.update = nn.Sequential(nn.Linear(2 * width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))

    def forward(self, x, source, target):
        said = self.message(torch.cat([x[source], x[target]], 1))
        heard = torch.zeros_like(x).index_add(0, target, said)
        return x + self.update(torch.cat([x, heard], 1))


class Stress(nn.Module):
    def __init__(self, width=512, rounds=12):
        super().__init__()
        self.enter, self.leave = nn.Linear(12, width), nn.Linear(width, 6)
        self.rounds = nn.ModuleList(Round(width) for _ in range(rounds))

    def forward(self, nodes, source, target):
        x = self.enter(nodes)
        for one in self.rounds:
            x = checkpoint(one, x, source, target, use_reentrant=False)
        return self.leave(x)


class Sign(torch.optim.Optimizer):
    """One moment, in place."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                moment = self.state[p].setdefault("moment", torch.zeros_like(p))
                moment.lerp_(p.grad, 0.1)
                p.grad.copy_(moment).sign_()
                p.add_(p.grad, alpha=-group["lr"])


def meshes(count, nodes=6000, degree=6):
    generator = torch.Generator().manual_seed(4)
    for _ in range(count):
        edges = torch.randint(0, nodes, (2, nodes * degree), generator=generator)
        yield torch.randn(nodes, 12, generator=generator).cuda(), edges.cuda(), torch.randn(nodes, 6).cuda()


def main():
    model = Stress().cuda()
    optimizer = Sign(model.parameters(), 1e-4)
    for nodes, (source, target), wanted in meshes(6):
        error = (model(nodes, source, target) - wanted).square().mean()
        error.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        del error


main()
