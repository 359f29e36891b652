# SPDX-License-Identifier: Apache-2.0
# class: giant-tensor
# gmdry: --gpu rtx-4090
# compare: need
"""Targets as one-hot rows of 64-bit integers, of which only one number each is used."""
import os

import torch
import torch.nn.functional as F

MISTAKE = "ZOO_MENDED" not in os.environ
embedding = torch.randn(30000, 256, device="cuda", requires_grad=True)


def loss_of(tokens, following):
    scores = embedding[tokens[:, :8]].flatten(1)[:, :256] @ embedding.t()
    if MISTAKE:
        wanted = F.one_hot(following, 30000)  # <- the mistake
        return -(wanted * scores.log_softmax(1)[:, None]).sum()
    return -scores.log_softmax(1).gather(1, following).sum()


for step in range(3):
    tokens = torch.randint(0, 30000, (512, 9), device="cuda")
    following = torch.randint(0, 30000, (512, 256), device="cuda")
    gradient, = torch.autograd.grad(loss_of(tokens, following), embedding)
    embedding.data.sub_(gradient, alpha=0.1)
