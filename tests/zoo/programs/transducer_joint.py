# SPDX-License-Identifier: Apache-2.0
# class: giant-tensor
# also: vocabulary-copies
# compare: need
# gmdry: --memory 16GiB
"""A transducer adds each frame to each label over the whole vocabulary, for the padded batch: one tensor too large. Mended: utterance by utterance, recomputed."""
import os

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

MISTAKE = "ZOO_MENDED" not in os.environ


class Joint(nn.Module):
    def __init__(self, width=512, words=4096):
        super().__init__()
        self.out = nn.Linear(width, words)

    def forward(self, heard, said):
        return self.out(torch.tanh(heard[:, :, None] + said[:, None]))  # <- the mistake


class Transducer(nn.Module):
    def __init__(self):
        super().__init__()
        self.listen, self.say = nn.LSTM(80, 512, 2, batch_first=True), nn.LSTM(512, 512, batch_first=True)
        self.words, self.joint = nn.Embedding(4096, 512), Joint()

    def forward(self, sound, words):
        return self.listen(sound)[0], self.say(self.words(words))[0]


def blank_score(joint, heard, said):
    return joint(heard, said)[..., 0].sigmoid().mean()  # <- the mistake


net = Transducer().cuda()
optimizer = torch.optim.Adam(net.parameters(), 1e-4)
for step in range(3):
    heard, said = net(torch.randn(16, 500, 80).cuda(), torch.zeros(16, 100, dtype=torch.long).cuda())
    if MISTAKE:
        loss = -blank_score(net.joint, heard, said)  # <- the mistake
    else:
        loss = -sum(checkpoint(blank_score, net.joint, h[None], s[None], use_reentrant=False) for h, s in zip(heard, said)) / 16
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
