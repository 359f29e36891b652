# SPDX-License-Identifier: Apache-2.0
# class: foreach-transients
"""LAMB with torch._foreach functions: every step makes several lists of tensors as large as the model. Mended: a parameter at a time."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Lamb(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            for p in params:
                if not self.state[p]:
                    self.state[p]["m"], self.state[p]["v"] = torch.zeros_like(p), torch.zeros_like(p)
            for some in [params] if MISTAKE else [[p] for p in params]:
                self.update(some, group["lr"])

    def update(self, params, lr):
        grads = [p.grad for p in params]
        m, v = [self.state[p]["m"] for p in params], [self.state[p]["v"] for p in params]
        torch._foreach_lerp_(m, grads, 0.1)
        torch._foreach_mul_(v, 0.999)
        torch._foreach_addcmul_(v, grads, grads, 0.001)
        below = torch._foreach_sqrt(v)  # <- the mistake
        torch._foreach_add_(below, 1e-6)
        ratio = torch._foreach_div(m, below)  # <- the mistake
        sizes = torch._foreach_div(torch._foreach_norm(params), torch._foreach_norm(ratio))
        torch._foreach_mul_(ratio, sizes)
        torch._foreach_add_(params, ratio, alpha=-lr)


class Bert(nn.Module):
    def __init__(self, d=1024, depth=6):
        super().__init__()
        self.words = nn.Embedding(8000, d)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(d, 16, 4 * d, 0.0, batch_first=True) for _ in range(depth))
        self.head = nn.Linear(d, 2)

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, 0])


bert = Bert().cuda()
lamb = Lamb(bert.parameters())
for _ in range(4):
    loss = nn.functional.cross_entropy(bert(torch.randint(8000, (4, 64), device="cuda")), torch.ones(4, dtype=torch.long, device="cuda"))
    loss.backward()
    lamb.step()
    lamb.zero_grad()
