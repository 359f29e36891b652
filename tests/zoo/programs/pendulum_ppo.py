# SPDX-License-Identifier: Apache-2.0
# class: loss-keeps-graph
# compare: peak
"""PPO on many simulated pendulums at once, with a running mean of the entropy for the log."""
import os

import torch
from torch import nn
from torch.distributions import Normal

MENDED = os.environ.get("ZOO_MENDED")
ENVIRONMENTS, OBSERVED, ACTIONS = 8192, 48, 12


class Policy(nn.Module):
    def __init__(self, width=1024):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(OBSERVED, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                                   nn.Linear(width, width), nn.Tanh())
        self.mean, self.spread = nn.Linear(width, ACTIONS), nn.Linear(width, ACTIONS)
        self.critic = nn.Linear(width, 1)

    def forward(self, seen):
        x = self.trunk(seen)  # <- the mistake
        return Normal(self.mean(x), self.spread(x).clamp(-4, 1).exp(), validate_args=False), self.critic(x).squeeze(-1)  # <- the mistake


class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, value):
        self.total = self.total + value  # <- the mistake
        self.count += 1

    def mean(self):
        return float(self.total) / max(self.count, 1)


@torch.no_grad()
def rollout(policy):
    seen = torch.randn(ENVIRONMENTS, OBSERVED, device="cuda")
    where, value = policy(seen)
    action = where.sample()
    return seen, action, where.log_prob(action).sum(-1), torch.randn_like(value)


def surrogate(policy, batch):
    seen, action, old, advantage = batch
    where, value = policy(seen)
    ratio = (where.log_prob(action).sum(-1) - old).exp()
    clipped = ratio.clamp(0.8, 1.2)
    gain = torch.minimum(ratio * advantage, clipped * advantage).mean()
    return 0.5 * (value - advantage).square().mean() - gain


def spread_on(policy, seen):
    """Entropy of what the policy does on fresh states, for the log."""
    where, _ = policy(seen)  # <- the mistake
    return where.entropy().mean()


def main():
    policy, entropy = Policy().cuda(), Meter()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4, fused=True)
    for update in range(12):
        batch = rollout(policy)
        loss = surrogate(policy, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        value = spread_on(policy, torch.randn_like(batch[0]))
        entropy.add(value.item() if MENDED else value)
    print("mean entropy", entropy.mean())


if __name__ == "__main__":
    main()
