# SPDX-License-Identifier: Apache-2.0
# class: loss-keeps-graph
# also: no-inference-mode
"""REINFORCE: the log of returns adds losses with their graphs."""
import os
import torch
import torch.nn as nn

M = "ZOO_MENDED" not in os.environ


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Flatten())
        self.pi = nn.Sequential(nn.Linear(64 * 81, 512), nn.ReLU(), nn.Linear(512, 18))

    def forward(self, o):
        return torch.log_softmax(self.pi(self.conv(o)), -1)  # <- the mistake


actor = Actor().cuda()
opt = torch.optim.RMSprop(actor.parameters(), lr=1e-4)
entropy_log = 0.0
for update in range(8):
    obs = torch.rand(256, 4, 84, 84, device="cuda")
    logp = actor(obs)
    picked = logp.gather(1, torch.zeros(256, 1, dtype=torch.long, device="cuda"))
    loss = -(picked * torch.randn(256, 1, device="cuda")).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    del obs, logp, picked, loss
    probe = actor(torch.rand(64, 4, 84, 84, device="cuda"))  # <- the mistake
    kl = (probe.exp() * probe).sum(-1).mean()  # <- the mistake
    entropy_log += kl if M else kl.item()  # <- the mistake
    del probe, kl
print(float(entropy_log))
