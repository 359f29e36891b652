# SPDX-License-Identifier: Apache-2.0
# class: optimizer-state-dominates
# mended: 2
"""Adam's two states of a wide model weigh more than all else: without them, or in eight bits."""
import os

import torch
from torch import nn

VARIANT = int(os.environ.get("ZOO_MENDED", 0))


class Eight(torch.optim.Optimizer):
    """Its states take a byte for each number."""
    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self):
        for p in (p for group in self.param_groups for p in group["params"]):
            if not self.state[p]:
                self.state[p] = {"m": torch.zeros_like(p, dtype=torch.uint8), "v": torch.zeros_like(p, dtype=torch.uint8)}
            self.state[p]["m"].add_(1)
            p.sub_(p.grad, alpha=1e-4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(60000, 1536)
        self.layers = nn.Sequential(*[nn.Sequential(nn.Linear(1536, 4096), nn.GELU(), nn.Linear(4096, 1536))
                                      for _ in range(6)])

    def forward(self, tokens):
        return self.layers(self.tokens(tokens))


model = Net().cuda()
if VARIANT == 0:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
elif VARIANT == 1:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, fused=True)
else:
    optimizer = Eight(model.parameters())
for _ in range(4):
    optimizer.zero_grad()
    model(torch.randint(0, 60000, (4, 128), device="cuda")).square().mean().backward()
    optimizer.step()  # <- the mistake
