# SPDX-License-Identifier: Apache-2.0
# class: giant-tensor
# gmdry: --gpu rtx-4090
# compare: need
"""Words are counted with one-hot rows of 64-bit integers."""
import os

import torch
import torch.nn.functional as F

MISTAKE = "ZOO_MENDED" not in os.environ
embedding = torch.randn(30000, 256, device="cuda", requires_grad=True)


def frequencies(tokens):
    if MISTAKE:
        rows = F.one_hot(tokens, 30000)  # <- the mistake
        return rows.sum((0, 1))
    return torch.zeros(30000, dtype=torch.long, device="cuda").index_add_(0, tokens.flatten(), torch.ones_like(tokens).flatten())


for step in range(3):
    tokens = torch.randint(0, 30000, (512, 256), device="cuda")
    seldom = 1 / (1 + frequencies(tokens).float())
    loss = (embedding * seldom[:, None]).square().sum()
    gradient, = torch.autograd.grad(loss, embedding)
    embedding.data.sub_(gradient, alpha=0.1)
