# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Trains, and evaluates without gradients between epochs; the mean is a number of the host."""
import torch
import torch.nn.functional as F

torch.manual_seed(4)
w = [torch.randn(a, b, device="cuda").mul_(a ** -0.5).requires_grad_() for a, b in [(1024, 3072), (3072, 3072), (3072, 16)]]
velocity = [torch.zeros_like(p) for p in w]


def net(x):
    return torch.relu(torch.relu(x @ w[0]) @ w[1]) @ w[2]


for epoch in range(3):
    for step in range(4):
        x, y = torch.randn(2048, 1024, device="cuda"), torch.randint(0, 16, (2048,), device="cuda")
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        with torch.no_grad():
            for p, v in zip(w, velocity):
                v.mul_(0.9).add_(p.grad)
                p.sub_(v, alpha=0.01)
                p.grad = None
        del x, y, loss, p, v
    with torch.no_grad():
        total = 0.0
        for step in range(3):
            x, y = torch.randn(2048, 1024, device="cuda"), torch.randint(0, 16, (2048,), device="cuda")
            total += F.cross_entropy(net(x), y).item()
            del x, y
        print(epoch, total / 3)
