# SPDX-License-Identifier: Apache-2.0
# class: dense-embedding-gradients
"""Word vectors learnt by hand with F.embedding; each small batch makes a gradient of the whole table."""
import os

import torch
import torch.nn.functional as F

MISTAKE = "ZOO_MENDED" not in os.environ
vectors = torch.zeros(1500000, 128, device="cuda", requires_grad=True)

for step in range(6):
    centre = torch.randint(0, 1500000, (8192,), device="cuda")
    context = torch.randint(0, 1500000, (8192,), device="cuda")
    left = F.embedding(centre, vectors, sparse=not MISTAKE)  # <- the mistake
    right = F.embedding(context, vectors.detach())
    loss = F.softplus(-(left * right).sum(1)).mean()
    loss.backward()  # <- the mistake
    with torch.no_grad():
        if MISTAKE:
            vectors.sub_(vectors.grad, alpha=0.1)
        else:
            vectors.index_add_(0, vectors.grad._indices()[0], vectors.grad._values(), alpha=-0.1)
    vectors.grad = None
    del left, right, loss
