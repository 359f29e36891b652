# SPDX-License-Identifier: Apache-2.0
# class: create-graph
"""The norm of the gradients is logged; they are made so that one could go through them once more."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
layers = [(0.03 * torch.randn(1536, 1536, device="cuda")).requires_grad_() for _ in range(8)]
rate = 0.01


def value(batch):
    for layer in layers:
        batch = torch.sigmoid(batch @ layer)
    return batch.logsumexp(1).mean()


for step in range(4):
    loss = value(torch.rand(6144, 1536, device="cuda"))
    gradients = torch.autograd.grad(loss, layers, create_graph=MISTAKE)  # <- the mistake
    norm = sum(g.detach().square().sum() for g in gradients).sqrt()
    with torch.no_grad():
        for layer, gradient in zip(layers, gradients):
            layer.sub_(gradient, alpha=rate)
    print(step, norm.item())
    del loss, gradients, gradient
