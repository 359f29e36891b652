# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Deep Q-learning: a replay buffer in host memory, no second network, small convolutions."""
import random
import torch
from torch import nn

q = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Flatten(), nn.Linear(5184, 256), nn.ReLU(), nn.Linear(256, 6)).cuda()
opt = torch.optim.Adam(q.parameters(), 1e-4)
buffer = [(torch.zeros(4, 84, 84, dtype=torch.uint8), random.randrange(6), 0.0) for _ in range(256)]
for step in range(10):
    with torch.no_grad():
        q(torch.zeros(1, 4, 84, 84, device="cuda")).argmax().item()
    batch = random.sample(buffer, 64)
    s = torch.stack([b[0] for b in batch]).cuda().float().div_(255)
    act = torch.tensor([b[1] for b in batch]).cuda()
    with torch.no_grad():
        goal = q(s).amax(1)
    opt.zero_grad()
    loss = nn.functional.smooth_l1_loss(q(s).gather(1, act[:, None]).squeeze(1), goal)
    loss.backward()
    opt.step()
