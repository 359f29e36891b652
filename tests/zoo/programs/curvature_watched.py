# SPDX-License-Identifier: Apache-2.0
# class: create-graph
"""backward(create_graph=True) in every step, for a second derivative that is not taken any more."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Regressor(nn.Module):
    def __init__(self, width=2048):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, width)] + [nn.Linear(width, width) for _ in range(5)])
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        for layer in self.layers:
            x = nn.functional.softplus(layer(x))
        return self.out(x)


model = Regressor().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(5):
    x = torch.randn(8192, 64, device="cuda")
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward(create_graph=MISTAKE)  # <- the mistake
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    del loss, x
