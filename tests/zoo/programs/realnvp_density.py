# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""RealNVP density estimation, trained with gradients dropped after each step, then scored under inference_mode in batches."""
import torch
from torch import nn


class Affine(nn.Module):
    def __init__(self, d, h, flip):
        super().__init__()
        self.flip = flip
        self.st = nn.Sequential(nn.Linear(d // 2, h), nn.LeakyReLU(), nn.Linear(h, h), nn.LeakyReLU(), nn.Linear(h, d))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.st(a).chunk(2, 1)
        s = s.tanh()
        return torch.cat((a, b * s.exp() + t), 1), s.sum(1)


class RealNVP(nn.Module):
    def __init__(self, d=64, h=1024, n=6):
        super().__init__()
        self.layers = nn.ModuleList(Affine(d, h, i % 2) for i in range(n))

    def log_prob(self, x):
        ld = 0
        for l in self.layers:
            x, j = l(x)
            ld = ld + j
        return ld - 0.5 * (x ** 2).sum(1)


def train(flow, steps=5, bs=8192):
    opt = torch.optim.Adam(flow.parameters(), lr=5e-4, fused=True)
    history = []
    for _ in range(steps):
        loss = -flow.log_prob(torch.randn(bs, 64, device="cuda")).mean()
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
        history.append(loss.item())
        del loss
    return history


@torch.inference_mode()
def score(flow, n=4):
    return torch.cat([flow.log_prob(torch.randn(8192, 64, device="cuda")).cpu() for _ in range(n)])


flow = RealNVP().cuda()
print(len(train(flow)), score(flow).shape)
