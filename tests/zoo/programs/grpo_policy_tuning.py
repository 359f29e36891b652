# SPDX-License-Identifier: Apache-2.0
# class: loss-keeps-graph
# compare: peak
"""GRPO-like policy tuning: the loss is stepped correctly, but the entropy that is only logged
is summed with its graph over the iterations."""
import os
import torch
import torch.nn.functional as F
from torch import nn, Tensor

MENDED = bool(os.environ.get("ZOO_MENDED"))
VOCAB, DIM, T, GROUP = 16000, 512, 256, 8


class Policy(nn.Module):
    def __init__(self, depth: int = 6):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM)
        layer = nn.TransformerEncoderLayer(DIM, 8, 4 * DIM, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.out = nn.Linear(DIM, VOCAB)

    def forward(self, ids: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(ids.size(1), device=ids.device)
        return self.out(self.body(self.tok(ids), mask=mask, is_causal=True))


def token_logprobs(logits: Tensor, ids: Tensor) -> Tensor:
    return -F.cross_entropy(logits.flatten(0, 1), ids.flatten(), reduction="none").view_as(ids)


def entropy_of(logits: Tensor) -> Tensor:
    dist = torch.distributions.Categorical(logits=logits)
    return dist.entropy().mean()  # <- the mistake


def group_advantages(rewards: Tensor) -> Tensor:
    return (rewards - rewards.mean()) / (rewards.std() + 1e-4)


class GRPO:
    clip = 0.2

    def __init__(self, policy):
        self.policy = policy
        self.opt = torch.optim.AdamW(policy.parameters(), lr=1e-6)
        self.log = {"entropy": 0.0, "loss": 0.0, "n": 0}

    def rollout(self):
        ids = torch.randint(VOCAB, (GROUP, T)).cuda()
        with torch.no_grad():
            old = token_logprobs(self.policy(ids), ids)
        rewards = torch.rand(GROUP, device="cuda")
        return ids, old, group_advantages(rewards)[:, None]

    def iterate(self):
        ids, old, adv = self.rollout()
        logits = self.policy(ids)
        lp = token_logprobs(logits, ids)
        ratio = (lp - old).exp()
        loss = -torch.min(ratio * adv, ratio.clamp(1 - self.clip, 1 + self.clip) * adv).mean()
        loss.backward()
        self.opt.step()
        self.opt.zero_grad()
        if MENDED:
            with torch.no_grad():
                self.log["entropy"] += entropy_of(logits)
        else:
            self.log["entropy"] += entropy_of(logits)  # <- the mistake
        self.log["loss"] += loss.detach()
        self.log["n"] += 1


if __name__ == "__main__":
    torch.manual_seed(0)
    with torch.device("cuda"):
        policy = Policy()
    algo = GRPO(policy)
    for _ in range(7):
        algo.iterate()
    print({k: float(v) for k, v in algo.log.items()})
