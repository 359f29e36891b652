# SPDX-License-Identifier: Apache-2.0
# class: loss-keeps-graph
# also: no-inference-mode
"""The validation's mean is a sum of losses that were never detached."""
import os

import torch
import torch.nn.functional as F

MISTAKE = "ZOO_MENDED" not in os.environ
torch.manual_seed(1)
sizes = [512, 2048, 2048, 2048, 10]
matrices = [torch.randn(m, n, device="cuda").mul_(n ** -0.5).requires_grad_() for m, n in zip(sizes, sizes[1:])]


def network(x):
    for matrix in matrices[:-1]:
        x = torch.tanh(x @ matrix)
    return x @ matrices[-1]


def one_epoch():
    for _ in range(5):
        x = torch.randn(8192, 512, device="cuda")
        y = torch.randint(0, 10, (8192,), device="cuda")
        gradients = torch.autograd.grad(F.cross_entropy(network(x), y), matrices)
        with torch.no_grad():
            for matrix, gradient in zip(matrices, gradients):
                matrix.sub_(gradient, alpha=0.01)


def validate():
    total = torch.zeros((), device="cuda")
    for _ in range(8):
        x = torch.randn(8192, 512, device="cuda")
        y = torch.randint(0, 10, (8192,), device="cuda")
        loss = F.cross_entropy(network(x), y)
        total = total + (loss if MISTAKE else loss.detach())  # <- the mistake
    return (total / 8).item()


for epoch in range(2):
    one_epoch()
    print(validate())
