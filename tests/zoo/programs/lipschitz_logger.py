# SPDX-License-Identifier: Apache-2.0
# class: create-graph
# compare: peak
"""Regression of drag coefficients; the norm of the input gradient is logged in each step, and only logged."""
import os

import torch
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return x + self.body(self.norm(x))


def network(width=1024, depth=8):
    return nn.Sequential(nn.Linear(64, width), *(Residual(width) for _ in range(depth)), nn.Linear(width, 1))


def steepness(output, points):
    slope, = torch.autograd.grad(output.sum(), points, retain_graph=True, create_graph=not MENDED)  # <- the mistake
    return slope.norm(dim=1).mean()


class Log:
    def __init__(self):
        self.rows = []

    def add(self, **values):
        self.rows.append({key: value.item() for key, value in values.items()})


def main():
    torch.manual_seed(3)
    model = network().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    log = Log()
    for step in range(6):
        points = torch.randn(8192, 64, device="cuda", requires_grad=True)
        target = torch.randn(8192, 1, device="cuda")
        drag = model(points)
        loss = nn.functional.mse_loss(drag, target)
        steep = steepness(drag, points)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.add(loss=loss, steepness=steep)
        del drag, loss, steep
    print(len(log.rows), "rows")


if __name__ == "__main__":
    main()
