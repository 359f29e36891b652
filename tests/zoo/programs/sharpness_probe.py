# SPDX-License-Identifier: Apache-2.0
# class: create-graph
"""Training that logs the norm of the gradient; it is taken with create_graph though nothing is derived from it."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


def network():
    body = [nn.Flatten()]
    for i in range(8):
        body += [nn.Linear(3072 if i == 0 else 2048, 2048), nn.Tanh()]
    return nn.Sequential(*body, nn.Linear(2048, 10))


model = network().cuda()
params = [p for p in model.parameters()]
momentum = [torch.zeros_like(p) for p in params]
for step in range(5):
    x, y = torch.randn(2048, 3, 32, 32, device="cuda"), torch.zeros(2048, dtype=torch.long, device="cuda")
    loss = nn.functional.cross_entropy(model(x), y)
    grads = torch.autograd.grad(loss, params, create_graph=MISTAKE)  # <- the mistake
    with torch.no_grad():
        sharpness = sum(g.norm() for g in grads).item()
        for p, g, m in zip(params, grads, momentum):
            m.mul_(0.9).add_(g)
            p.sub_(m, alpha=0.01)
    del grads, loss
