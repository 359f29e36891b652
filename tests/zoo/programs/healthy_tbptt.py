# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""A language model with an LSTM, truncated backpropagation, states detached."""
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self, words=5000, width=650):
        super().__init__()
        self.enc, self.rnn, self.dec = nn.Embedding(words, width), nn.LSTM(width, width, 2, dropout=0.5), nn.Linear(width, words)

    def forward(self, x, state):
        y, state = self.rnn(self.enc(x), state)
        return self.dec(y), state


model, state = Model().cuda(), None
opt = torch.optim.SGD(model.parameters(), lr=20)
data = torch.randint(5000, (35 * 8 + 1, 20)).cuda()
for i in range(0, 35 * 8, 35):
    state = tuple(s.detach() for s in state) if state else None
    out, state = model(data[i:i + 35], state)
    loss = F.cross_entropy(out.flatten(0, 1), data[i + 1:i + 36].flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    opt.step()
    opt.zero_grad()
