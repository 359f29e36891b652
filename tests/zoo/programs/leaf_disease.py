# SPDX-License-Identifier: Apache-2.0
# class: loss-keeps-graph
# also: no-inference-mode
# compare: peak
# mended: 2
# libs: timm
"""Classifies leaves with an EfficientNet; the validation loss is summed up over all batches and divided at the end."""
import contextlib
import os

import timm.optim
import torch
import torch.nn.functional as F

MENDED = os.environ.get("ZOO_MENDED")


def leaves(batches, size):
    for _ in range(batches):
        yield torch.rand(size, 3, 192, 192).cuda(), torch.randint(0, 38, (size,)).cuda()


class Experiment:
    def __init__(self):
        self.model = timm.create_model("efficientnet_b0", num_classes=38, drop_rate=0.2).cuda()
        self.optimizer = timm.optim.create_optimizer_v2(self.model, opt="sgd", lr=0.05, momentum=0.9)

    def train(self):
        self.model.train()
        for images, kinds in leaves(4, 24):
            loss = F.cross_entropy(self.model(images), kinds)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def validate(self, batches=5):
        self.model.eval()
        loss = 0
        quiet = torch.no_grad() if MENDED == "2" else contextlib.nullcontext()
        with quiet:
            for images, kinds in leaves(batches, 12):
                scores = self.model(images)  # <- the mistake
                error = F.cross_entropy(scores, kinds)
                loss += error.item() if MENDED == "1" else error  # <- the mistake
        return float(loss) / batches

    def run(self, epochs=2):
        best = float("inf")
        for epoch in range(epochs):
            self.train()
            value = self.validate()
            best = min(best, value)
        return best


if __name__ == "__main__":
    torch.manual_seed(0)
    print("best", Experiment().run())
