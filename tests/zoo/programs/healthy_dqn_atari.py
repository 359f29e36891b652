# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Deep Q-learning: the replay buffer is in host memory, the target net small and without gradients."""
import copy
import random

import torch
from torch import nn

q = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(),
                  nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, 6)).cuda()
target = copy.deepcopy(q).requires_grad_(False)
optimizer = torch.optim.Adam(q.parameters(), 1e-4)
buffer = []
state = torch.zeros(4, 84, 84, dtype=torch.uint8)


def pick(state, epsilon):
    if random.random() < epsilon:
        return random.randrange(6)
    with torch.no_grad():
        return q(state[None].cuda().float() / 255).argmax(1).item()


def learn():
    some = random.sample(buffer, 256)
    s, a, r, n = (torch.stack(column).cuda() for column in zip(*some))
    with torch.no_grad():
        goal = r + 0.99 * target(n.float() / 255).amax(1)
    value = q(s.float() / 255).gather(1, a[:, None])[:, 0]
    loss = nn.functional.smooth_l1_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


for step in range(360):
    action = pick(state, 0.8)
    after = torch.zeros(4, 84, 84, dtype=torch.uint8)
    buffer.append((state, torch.tensor(action), torch.tensor(1.0), after))
    state = after
    if step >= 256 and step % 8 == 0:
        learn()
    if step % 100 == 0:
        target.load_state_dict(q.state_dict())
