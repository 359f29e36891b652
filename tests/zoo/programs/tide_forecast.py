# SPDX-License-Identifier: Apache-2.0
# class: gradients-through-forward
# compare: peak
"""Forecasts of water levels at many gauges: a wide temporal mixer, Adafactor-like factored statistics."""
import os

import torch
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")


class TimeMix(nn.Module):
    def __init__(self, hours, gauges):
        super().__init__()
        self.norm = nn.LayerNorm(gauges)
        self.time = nn.Linear(hours, hours)
        self.space = nn.Sequential(nn.Linear(gauges, 3 * gauges), nn.ReLU(), nn.Linear(3 * gauges, gauges))

    def forward(self, x):
        x = x + self.time(x.transpose(1, 2)).transpose(1, 2)
        return x + self.space(self.norm(x))


class Factored(torch.optim.Optimizer):
    """Row and column means of squared gradients only."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.grad.dim() == 2:
                    rows, columns = p.grad.norm(dim=1, keepdim=True), p.grad.norm(dim=0, keepdim=True)
                    p.grad.div_(rows.add(1e-6)).div_(columns.add(1e-6))
                p.add_(p.grad, alpha=-group["lr"])


def train(steps=5, hours=192, gauges=2048):
    model = nn.Sequential(*(TimeMix(hours, gauges) for _ in range(8))).cuda()
    optimizer = Factored(model.parameters(), 1e-3)
    history = torch.randn(64, hours, gauges)
    for step in range(steps):
        levels = history[torch.randperm(64)[:12]].cuda()
        if MENDED:
            optimizer.zero_grad(set_to_none=True)
        forecast = model(levels)
        loss = (forecast - levels.roll(-1, 1)).abs().mean()
        optimizer.zero_grad(set_to_none=True)  # <- the mistake
        loss.backward()  # <- the mistake
        optimizer.step()
        del forecast, loss
    return model


if __name__ == "__main__":
    print(sum(p.numel() for p in train().parameters()) // 1_000_000, "M parameters")
