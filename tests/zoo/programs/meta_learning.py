# SPDX-License-Identifier: Apache-2.0
# class: create-graph
"""Reptile-like adaptation: inner steps with create_graph=True, though only the last weights are used. Mended: without."""
import os

import torch
import torch.nn.functional as F

MISTAKE = "ZOO_MENDED" not in os.environ


class Learner:
    def __init__(self, width=2048):
        self.weights = [torch.randn(width, width, device="cuda").div_(width ** 0.5).requires_grad_() for _ in range(4)]

    @staticmethod
    def predict(weights, x):
        for weight in weights:
            x = torch.tanh(x @ weight)
        return x

    def adapt(self, task, steps):
        fast = list(self.weights)
        for _ in range(steps):
            loss = F.mse_loss(self.predict(fast, task), torch.zeros_like(task))
            grads = torch.autograd.grad(loss, fast, create_graph=MISTAKE)  # <- the mistake
            fast = [w - 0.1 * g for w, g in zip(fast, grads)]  # <- the mistake
        return fast

    def meta_step(self, tasks):
        for task in tasks:
            fast = self.adapt(task, 3)  # <- the mistake
            with torch.no_grad():
                for weight, other in zip(self.weights, fast):
                    weight += 0.1 * (other - weight)
            del fast


learner = Learner()
for epoch in range(3):
    learner.meta_step([torch.randn(4096, 2048, device="cuda") for _ in range(2)])
