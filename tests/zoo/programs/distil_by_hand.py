# SPDX-License-Identifier: Apache-2.0
# class: vocabulary-copies
"""A distillation loss written out: softmax, log, product, each as large as the logits."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
words, width = 40000, 640
table = torch.randn(words, width, device="cuda").mul_(0.02).requires_grad_()
mixer = torch.randn(width, width, device="cuda").mul_(0.02).requires_grad_()


def divergence(hidden, wanted):
    logits = hidden @ table.t()  # <- the mistake
    student = torch.log(torch.softmax(logits, -1) + 1e-9)  # <- the mistake
    teacher = torch.softmax(wanted @ table.t().detach(), -1)  # <- the mistake
    return -(teacher * student).sum()  # <- the mistake


def loss_of(hidden, wanted):
    if MISTAKE:
        return divergence(hidden, wanted)
    pieces = [torch.utils.checkpoint.checkpoint(divergence, h, w, use_reentrant=False)
              for h, w in zip(hidden.split(128), wanted.split(128))]
    return torch.stack(pieces).sum()


for step in range(4):
    tokens = torch.randint(0, words, (2048,), device="cuda")
    loss = loss_of(torch.tanh(table[tokens] @ mixer), torch.randn(2048, width, device="cuda"))
    gradients = torch.autograd.grad(loss, [table, mixer])
    with torch.no_grad():
        for weight, gradient in zip([table, mixer], gradients):
            weight -= 1e-4 * gradient
    del loss, gradients, weight, gradient
