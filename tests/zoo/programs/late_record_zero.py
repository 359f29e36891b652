# SPDX-License-Identifier: Apache-2.0
# class: gradients-through-forward
"""A recommendation tower in half precision, gradients set to zero and kept (set_to_none=False); recorded from step 2, Python's stacks."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Tower(nn.Module):
    def __init__(self, width=4096, depth=6):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x)) + x
        return x.sum(-1)


class State:
    step = 0


def train_step(state, tower, opt, x):
    if state.step == 2:
        torch.cuda.memory._record_memory_history(context="all", stacks="python")
    loss = nn.functional.softplus(tower(x)).mean()
    loss.backward()  # <- the mistake
    opt.step()  # <- the mistake
    opt.zero_grad(set_to_none=not MISTAKE)  # <- the mistake
    state.step += 1


tower = Tower().cuda()
opt = torch.optim.SGD(tower.parameters(), lr=0.1, foreach=False)
state = State()
for _ in range(6):
    train_step(state, tower, opt, torch.randn(8192, 4096, device="cuda"))
