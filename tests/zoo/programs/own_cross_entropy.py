# SPDX-License-Identifier: Apache-2.0
# class: vocabulary-copies
"""A loss with logsumexp, z-loss and label smoothing by hand over all words, in float."""
import os
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

M = "ZOO_MENDED" not in os.environ
V, D = 50000, 512


def ce(h, head, y):
    z = head(h).float()  # <- the mistake
    top = z.max(-1, keepdim=True).values
    norm = (z - top).exp().sum(-1).log() + top.squeeze(-1)  # <- the mistake
    smooth = z.mean(-1)
    return (norm - 0.9 * z.gather(-1, y[..., None]).squeeze(-1) - 0.1 * smooth + 1e-4 * norm ** 2).sum() / 4096  # <- the mistake


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn = nn.Embedding(V, D), nn.LSTM(D, D, 2, batch_first=True)
        self.head = nn.Linear(D, V)

    def forward(self, x, y):
        h = self.rnn(self.emb(x))[0].flatten(0, 1)
        y = y.flatten()
        if M:
            return ce(h, self.head, y)  # <- the mistake
        return sum(checkpoint(ce, a, self.head, b, use_reentrant=False) for a, b in zip(h.chunk(16), y.chunk(16)))


lm = LM().to("cuda", torch.bfloat16)
opt = torch.optim.SGD(lm.parameters(), lr=0.1)
for step in range(4):
    x = torch.randint(0, V, (8, 513), device="cuda")
    loss = lm(x[:, :-1], x[:, 1:])
    loss.backward()
    opt.step()
    opt.zero_grad()
