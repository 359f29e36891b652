# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Actor and critic with a rollout on the host and updates in small batches, evaluation between."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ

class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(256, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh())
        self.pi, self.v = nn.Linear(1024, 16), nn.Linear(1024, 1)

    def forward(self, x):
        h = self.body(x)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


actor = Actor().cuda()
opt = torch.optim.Adam(actor.parameters(), lr=3e-4, eps=1e-5)
for iteration in range(3):
    rollout = []
    with torch.no_grad():
        for _ in range(16):
            obs = torch.randn(512, 256)
            dist, value = actor(obs.cuda())
            action = dist.probs.argmax(-1)
            rollout.append((obs, action.cpu(), dist.log_prob(action).cpu(), value.cpu()))
    obs, act, logp, val = (torch.cat(x) for x in zip(*rollout))
    for part in torch.randperm(len(obs)).split(2048):
        dist, value = actor(obs[part].cuda())
        ratio = (dist.log_prob(act[part].cuda()) - logp[part].cuda()).exp()
        loss = -(ratio * val[part].cuda()).mean() + (value - 1).square().mean() - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
        opt.step()
