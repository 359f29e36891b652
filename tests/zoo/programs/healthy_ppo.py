# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""PPO in CleanRL's style: a buffer on the device, filled in place, minibatches, clipping."""
import torch
from torch import nn

STEPS, ENVS = 64, 32
agent = nn.ModuleDict({"body": nn.Sequential(nn.Linear(376, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh()), "pi": nn.Linear(512, 17), "v": nn.Linear(512, 1)}).cuda()
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-4, eps=1e-5)
obs = torch.zeros(STEPS, ENVS, 376, device="cuda")
actions, logprobs = torch.zeros(STEPS, ENVS, 17, device="cuda"), torch.zeros(STEPS, ENVS, device="cuda")
rewards, values = torch.zeros(STEPS, ENVS, device="cuda"), torch.zeros(STEPS, ENVS, device="cuda")


def policy(x):
    h = agent["body"](x)
    return torch.distributions.Normal(agent["pi"](h), 1.0), agent["v"](h).squeeze(-1)


state = torch.randn(ENVS, 376, device="cuda")
for iteration in range(3):
    for step in range(STEPS):
        obs[step] = state
        with torch.no_grad():
            pi, value = policy(state)
            action = pi.sample()
        actions[step], logprobs[step], values[step] = action, pi.log_prob(action).sum(-1), value
        state = torch.randn(ENVS, 376).cuda()
        rewards[step] = action.sum(-1)
    advantages = (rewards - values).flatten()
    for _ in range(2):
        order = torch.randperm(STEPS * ENVS, device="cuda")
        for start in range(0, STEPS * ENVS, 512):
            pick = order[start:start + 512]
            pi, value = policy(obs.flatten(0, 1)[pick])
            ratio = (pi.log_prob(actions.flatten(0, 1)[pick]).sum(-1) - logprobs.flatten()[pick]).exp()
            loss = -(ratio.clamp(0.8, 1.2) * advantages[pick]).mean() + (value - rewards.flatten()[pick]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
