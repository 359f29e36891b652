# SPDX-License-Identifier: Apache-2.0
# class: tensors-in-a-list
"""Trains a small network, and keeps the features of every batch for a plot at the end."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
w1 = torch.randn(784, 3000, device="cuda", requires_grad=True)
w2 = torch.randn(3000, 10, device="cuda", requires_grad=True)
history = []
for step in range(16):
    x = torch.rand(6000, 784, device="cuda")
    hidden = torch.sigmoid(x @ w1)
    loss = (hidden @ w2).logsumexp(1).mean()
    g1, g2 = torch.autograd.grad(loss, [w1, w2])
    w1.data.sub_(g1, alpha=0.1)
    w2.data.sub_(g2, alpha=0.1)
    kept = hidden.detach().clone()  # <- the mistake
    history.append(kept if MISTAKE else kept.cpu())  # <- the mistake
    del x, hidden, loss, g1, g2, kept
print(len(history))
