# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Deep Q-learning in mazes: replay in host memory, a small online network, double Q-learning, no leftovers."""
import random

import torch
import torch.nn.functional as F
from torch import nn


class Replay:
    def __init__(self, capacity=20000):
        self.frames = torch.zeros(capacity, 4, 64, 64, dtype=torch.uint8)
        self.moves = torch.zeros(capacity, dtype=torch.long)
        self.rewards = torch.zeros(capacity)
        self.size = capacity

    def sample(self, count):
        chosen = torch.randint(0, self.size - 1, (count,))
        parts = self.frames[chosen], self.moves[chosen], self.rewards[chosen], self.frames[chosen + 1]
        return [part.pin_memory().cuda(non_blocking=True) for part in parts]


class Q(nn.Module):
    def __init__(self, moves=4):
        super().__init__()
        self.see = nn.Sequential(nn.Conv2d(4, 64, 8, 4), nn.ReLU(), nn.Conv2d(64, 128, 4, 2), nn.ReLU(),
                                 nn.Conv2d(128, 128, 3), nn.ReLU(), nn.Flatten())
        self.judge = nn.Sequential(nn.Linear(128 * 4 * 4, 8192), nn.ReLU(), nn.Linear(8192, moves))

    def forward(self, frames):
        return self.judge(self.see(frames.float().div(255)))


def act(net, frame, epsilon):
    if random.random() < epsilon:
        return random.randrange(4)
    with torch.inference_mode():
        return int(net(frame[None].cuda()).argmax())


def improve(net, optimizer, replay, batch=1024, discount=0.97):
    frames, moves, rewards, following = replay.sample(batch)
    with torch.no_grad():
        target = rewards + discount * net(following).amax(1)
    value = net(frames).gather(1, moves[:, None]).squeeze(1)
    loss = F.smooth_l1_loss(value, target)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


def main(steps=12):
    random.seed(1)
    replay, net = Replay(), Q().cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4, fused=True)
    for step in range(steps):
        act(net, replay.frames[step], 0.1)
        improve(net, optimizer, replay)


if __name__ == "__main__":
    main()
