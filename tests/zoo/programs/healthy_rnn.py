# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Truncated backpropagation through an LSTM with detached states."""
import torch
from torch import nn

emb, rnn, out = nn.Embedding(256, 128).cuda(), nn.LSTM(128, 512, 2, batch_first=True).cuda(), nn.Linear(512, 256).cuda()
params = [*emb.parameters(), *rnn.parameters(), *out.parameters()]
opt = torch.optim.Adam(params, lr=1e-3)
state = None
for step in range(8):
    ids = torch.randint(0, 256, (32, 65), device="cuda")
    h, state = rnn(emb(ids[:, :-1]), state)
    loss = nn.functional.cross_entropy(out(h).flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
    opt.zero_grad()
    state = tuple(s.detach() for s in state)
    del h, loss, ids
