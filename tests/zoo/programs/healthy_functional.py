# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Functions and torch.func.grad, no modules, no optimizer."""
import torch
from torch.func import functional_call, grad

params = {f"w{i}": torch.randn(256, 256, device="cuda") * 0.1 for i in range(4)}


def loss_fn(p, x):
    for w in p.values():
        x = torch.tanh(x @ w)
    return x.square().mean()


for _ in range(6):
    g = grad(loss_fn)(params, torch.randn(512, 256, device="cuda"))
    params = {k: p - 0.1 * g[k] for k, p in params.items()}
    del g
