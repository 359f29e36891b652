# SPDX-License-Identifier: Apache-2.0
# class: outlier-batch
# compare: peak
"""Tags the lines of ledgers with a recurrent-convolutional network; one ledger is six times as long as all others."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")
LENGTHS = (512, 480, 512, 500, 3072, 512, 496, 512)


class Dilated(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.conv = nn.Conv1d(width, 2 * width, 3, padding=dilation, dilation=dilation)

    def forward(self, x):
        y = self.conv(self.norm(x).transpose(1, 2)).transpose(1, 2)  # <- the mistake
        return x + F.glu(y, -1)  # <- the mistake


class Tagger(nn.Module):
    def __init__(self, words=20000, width=768, tags=40):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.Sequential(*(Dilated(width, 2 ** (i % 5)) for i in range(10)))
        self.tags = nn.Linear(width, tags)

    def forward(self, lines):
        return self.tags(self.layers(self.words(lines)))


def ledgers():
    for number, length in enumerate(LENGTHS):
        if MENDED:
            length = min(length, 512)
        generator = torch.Generator().manual_seed(number)
        yield torch.randint(0, 20000, (8, length), generator=generator), torch.randint(0, 40, (8, length))


def update(model, optimizer, lines, tags):
    scores = model(lines)  # <- the mistake
    loss = F.cross_entropy(scores.flatten(0, 1), tags.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # <- the mistake
    optimizer.step()
    return loss.item()


if __name__ == "__main__":
    tagger = Tagger().cuda()
    adam = torch.optim.Adam(tagger.parameters(), lr=1e-3, fused=True)
    for lines, tags in ledgers():
        lines, tags = lines.cuda(), tags.cuda()  # <- the mistake
        print(lines.shape[1], update(tagger, adam, lines, tags))
