# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Training in a functional style: torch.func.functional_call and grad, states are dicts."""
import torch
from torch import nn
from torch.func import functional_call, grad_and_value

module = nn.Sequential(nn.Flatten(), nn.Linear(3 * 64 * 64, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 10)).cuda()
params = {key: value.detach() for key, value in module.named_parameters()}


def loss_fn(params, x, y):
    return nn.functional.cross_entropy(functional_call(module, params, (x,)), y)


def update(params, grads, lr=0.1):
    for key in params:
        params[key].sub_(grads[key], alpha=lr)


for step in range(6):
    x, y = torch.randn(4096, 3, 64, 64).cuda(), torch.zeros(4096, dtype=torch.long).cuda()
    grads, loss = grad_and_value(loss_fn)(params, x, y)
    update(params, grads)
    del grads, loss, x, y
