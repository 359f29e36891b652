# SPDX-License-Identifier: Apache-2.0
# class: second-copy-of-weights
# compare: peak
"""Fine-tuning of a text ranker that is kept close to where it began: the first weights stay on the card."""
import copy
import os

import torch
import torch.nn.functional as F
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")


class Ranker(nn.Module):
    def __init__(self, words=30000, width=1024, depth=10):
        super().__init__()
        self.words = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 16, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.score = nn.Linear(width, 1)

    def forward(self, tokens):
        return self.score(self.body(self.words(tokens)).mean(1)).squeeze(-1)


class Anchor:
    """Penalty on the distance to the weights before tuning (L2-SP), added to the gradients after the backward pass."""

    def __init__(self, model, strength):
        self.strength = strength
        self.frozen = copy.deepcopy(model)  # <- the mistake
        self.frozen.requires_grad_(False)
        if MENDED:
            self.frozen = self.frozen.cpu()

    @torch.no_grad()
    def pull(self, model):
        for p, start in zip(model.parameters(), self.frozen.parameters()):
            p.grad.add_(p, alpha=self.strength)
            p.grad.sub_(start.to(p.device, non_blocking=True), alpha=self.strength)


def batches(steps, size=8, length=96):
    for _ in range(steps):
        yield tuple(torch.randint(0, 30000, (size, length)).cuda() for _ in range(2))


def main():
    model = Ranker()
    model = model.cuda()
    anchor = Anchor(model, 1e-3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    for better, worse in batches(5):
        margin = model(better) - model(worse)
        loss = -F.logsigmoid(margin).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        anchor.pull(model)
        optimizer.step()
        del margin, loss


if __name__ == "__main__":
    main()
