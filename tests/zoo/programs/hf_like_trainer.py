# SPDX-License-Identifier: Apache-2.0
# class: gradients-through-forward
"""A trainer with a loop in methods: gradients of the last step are only dropped before the next backward."""
import os
import torch
from torch import nn

M = "ZOO_MENDED" not in os.environ


class Args:
    steps, width, depth, lr = 5, 2048, 24, 1e-4


class Mixer(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a.width, a.width) for _ in range(a.depth)])
        self.act = nn.GELU()

    def forward(self, inputs, labels=None):
        h = inputs
        for layer in self.layers:
            h = h + self.act(layer(h))
        return {"loss": nn.functional.mse_loss(h, labels), "logits": None}


class Trainer:
    def __init__(self, model, args):
        self.model, self.args = model.to("cuda"), args
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr)

    def compute_loss(self, batch):
        return self.model(**batch)["loss"]

    def training_step(self, batch):
        if not M:
            self.optimizer.zero_grad()
        loss = self.compute_loss(batch)
        if M:
            self.optimizer.zero_grad()
        loss.backward()  # <- the mistake
        return loss.detach()

    def train(self):
        for step in range(self.args.steps):
            x = torch.randn(2048, self.args.width, device="cuda")
            self.training_step({"inputs": x, "labels": torch.zeros_like(x)})
            self.optimizer.step()


Trainer(Mixer(Args), Args).train()
