# SPDX-License-Identifier: Apache-2.0
# class: second-copy-of-weights
# compare: peak
"""Flow-matching generative model of robot trajectories; the averaged weights for sampling
are a full float32 copy of the parameters on the GPU (mended: on the host)."""
import os
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call


class AdaMLP(nn.Module):
    """Residual MLP conditioned on time."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.mod = nn.Linear(256, 2 * dim)
        self.a = nn.Linear(dim, hidden)
        self.b = nn.Linear(hidden, dim)

    def forward(self, x, c):
        s, t = self.mod(c).chunk(2, -1)
        return x + self.b(F.mish(self.a(self.norm(x) * (1 + s) + t)))


class Velocity(nn.Module):
    def __init__(self, horizon=64, dof=14, dim=2048, depth=10):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, 256), nn.SiLU(), nn.Linear(256, 256), nn.SiLU())
        self.inp = nn.Linear(horizon * dof, dim)
        self.blocks = nn.ModuleList(AdaMLP(dim, 3 * dim) for _ in range(depth))
        self.outp = nn.Linear(dim, horizon * dof)

    def forward(self, x, t):
        c = self.time(t)
        h = self.inp(x)
        for blk in self.blocks:
            h = blk(h, c)
        return self.outp(h)


class Averager:
    def __init__(self, module, decay=0.999, device=None):
        self.decay = decay
        self.shadow = {n: p.detach().clone().to(device or p.device) for n, p in module.named_parameters()}  # <- the mistake

    @torch.no_grad()
    def update(self, module):
        for n, p in module.named_parameters():
            s = self.shadow[n]
            s.lerp_(p.detach().to(s.device), 1 - self.decay)

    @torch.no_grad()
    def sample(self, module, n, steps=4):
        x = torch.randn(n, 64 * 14, device="cuda")
        weights = {k: v.to("cuda") for k, v in self.shadow.items()} if n else self.shadow
        for i in range(steps):
            t = torch.full((n, 1), i / steps, device="cuda")
            x = x + functional_call(module, weights, (x, t)) / steps
        return x


def flow_loss(model, x1):
    x0 = torch.randn_like(x1)
    t = torch.rand(len(x1), 1, device=x1.device)
    return F.mse_loss(model(torch.lerp(x0, x1, t), t), x1 - x0)


def main(steps=4):
    with torch.device("cuda"):
        model = Velocity()
    opt = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.95, foreach=False)
    ema = Averager(model, device="cpu" if os.environ.get("ZOO_MENDED") == "1" else None)
    for _ in range(steps):
        flow_loss(model, torch.randn(256, 64 * 14, device="cuda")).backward()
        opt.step()
        opt.zero_grad()
        ema.update(model)
    del opt
    print(ema.sample(model, 32).shape)


main()
