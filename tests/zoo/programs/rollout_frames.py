# SPDX-License-Identifier: Apache-2.0
# class: tensors-in-a-list
"""PPO: frames of a rollout are stacked up on the GPU as floats; two updates follow. Mended: on the host."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ

class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Flatten())
        self.pi, self.v = nn.Linear(5184, 6), nn.Linear(5184, 1)

    def forward(self, x):
        h = self.conv(x)
        return self.pi(h), self.v(h)


def observe(envs):
    return torch.rand(envs, 4, 84, 84, device="cuda")  # <- the mistake


def collect(policy, steps, envs):
    frames, actions = [], []
    for _ in range(steps):
        frame = observe(envs)  # <- the mistake
        with torch.no_grad():
            logits, _ = policy(frame)
        actions.append(logits.argmax(-1).cpu())
        frames.append(frame if MISTAKE else frame.cpu())  # <- the mistake
    return frames, actions


policy = Policy().cuda()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4, fused=True)
for update in range(2):
    frames, actions = collect(policy, 48, 64)
    for frame, action in zip(frames[::8], actions[::8]):
        logits, value = policy(frame.cuda())
        loss = F.cross_entropy(logits, action.cuda()) + value.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    optimizer.zero_grad()
    del frames, actions, frame, action, logits, value, loss
