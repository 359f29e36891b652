# SPDX-License-Identifier: Apache-2.0
# class: create-graph
"""A critic whose gradient's norm is only logged, but made with create_graph=True."""
import os
import torch
from torch import nn

M = "ZOO_MENDED" not in os.environ


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(1024, 4096), nn.Softplus(), nn.Linear(4096, 4096), nn.Softplus(), nn.Linear(4096, 1))

    def forward(self, x):
        return self.f(x)


class Loop:
    def __init__(self):
        self.critic = Critic().cuda()
        self.opt = torch.optim.SGD(self.critic.parameters(), lr=1e-4)

    def step(self):
        x = torch.randn(4096, 1024, device="cuda", requires_grad=True)
        out = self.critic(x)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=M, retain_graph=True)  # <- the mistake
        loss = out.mean() + slope.norm().detach() * 0
        loss.backward()
        self.opt.step()
        self.opt.zero_grad()
        return slope.norm().item()


loop = Loop()
for _ in range(5):
    loop.step()
