# SPDX-License-Identifier: Apache-2.0
# class: vocabulary-copies
# compare: peak
"""A keyboard's language model: probabilities, smoothing and a z-loss are all written out over the whole vocabulary."""
import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

MENDED = os.environ.get("ZOO_MENDED")
WORDS, WIDTH = 48000, 768


class Typist(nn.Module):
    def __init__(self, layers=3):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.memory = nn.GRU(WIDTH, WIDTH, layers, batch_first=True)

    def forward(self, typed):
        return self.memory(self.words(typed))[0]


def smoothed(logits, following, smoothing=0.1):
    """Cross entropy with label smoothing, and a penalty on the partition function."""
    scores = logits.float()  # <- the mistake
    logs = F.log_softmax(scores, -1)  # <- the mistake
    right = -logs.gather(-1, following[..., None]).squeeze(-1)
    even = -logs.mean(-1)
    partition = scores.logsumexp(-1).square()
    return ((1 - smoothing) * right + smoothing * even + 1e-4 * partition).sum()


class Objective:
    def __init__(self, model):
        self.model = model

    def piece(self, hidden, following):
        return smoothed(hidden @ self.model.words.weight.t(), following)  # <- the mistake

    def __call__(self, typed):
        hidden, following = self.model(typed[:, :-1]), typed[:, 1:]
        if MENDED:
            parts = zip(hidden.split(4), following.split(4))
            total = sum(checkpoint(self.piece, *part, use_reentrant=False) for part in parts)
        else:
            total = self.piece(hidden, following)  # <- the mistake
        return total / following.numel()


def main():
    model = Typist().cuda()
    objective = Objective(model)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.02, foreach=False)
    for _ in range(4):
        typed = torch.randint(0, WORDS, (32, 65)).cuda()
        loss = objective(typed)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        del loss


if __name__ == "__main__":
    main()
