# SPDX-License-Identifier: Apache-2.0
# class: second-copy-of-weights
"""The policy that one started from is kept whole on the device, to be compared with."""
import os

import torch
import torch.nn.functional as F

MISTAKE = "ZOO_MENDED" not in os.environ
policy = {f"w{i}": torch.randn(3072, 3072, device="cuda").mul_(0.02).requires_grad_() for i in range(14)}
policy["head"] = torch.randn(3072, 512, device="cuda").mul_(0.02).requires_grad_()
home = "cuda" if MISTAKE else "cpu"
reference = {name: weight.detach().to(home, copy=True) for name, weight in policy.items()}  # <- the mistake


def act(weights, state):
    for i in range(14):
        state = torch.tanh(state @ weights[f"w{i}"].cuda())
    return F.log_softmax(state @ weights["head"].cuda(), -1)


for update in range(4):
    state = torch.randn(512, 3072, device="cuda")
    with torch.no_grad():
        before = act(reference, state)
    now = act(policy, state)
    loss = (now.exp() * (now - before)).sum(-1).mean()
    for weight, gradient in zip(policy.values(), torch.autograd.grad(loss, list(policy.values()))):
        weight.data.sub_(gradient, alpha=1e-4)
    del loss, now, before, gradient
