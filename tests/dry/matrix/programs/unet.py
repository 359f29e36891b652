# SPDX-License-Identifier: Apache-2.0
"""A U-Net as diffusion models have it: convolutions, group normalisation, attention, up and down."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, before), nn.SiLU(), nn.Conv2d(before, after, 3, padding=1))
        self.second = nn.Sequential(nn.GroupNorm(8, after), nn.SiLU(), nn.Conv2d(after, after, 3, padding=1))
        self.skip = nn.Conv2d(before, after, 1)
        self.time = nn.Linear(64, after)

    def forward(self, x, t):
        return self.skip(x) + self.second(self.first(x) + self.time(t)[:, :, None, None])


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.start, self.end = nn.Conv2d(4, 32, 3, padding=1), nn.Conv2d(32, 4, 3, padding=1)
        self.down, self.middle, self.up = Block(32, 64), Block(64, 64), Block(128, 32)
        self.attention = nn.MultiheadAttention(64, 4, batch_first=True)

    def forward(self, x, t):
        x = self.start(x)
        skip = self.down(x, t)
        x = self.middle(nn.functional.avg_pool2d(skip, 2), t)
        flat = x.flatten(2).transpose(1, 2)
        x = x + self.attention(flat, flat, flat, need_weights=False)[0].transpose(1, 2).reshape(x.shape)
        x = torch.cat([nn.functional.interpolate(x, scale_factor=2.0), skip], 1)
        return self.end(self.up(x, t))


model = UNet().cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    noise = torch.randn(2, 4, 32, 32, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        loss = (model(noise, torch.randn(2, 64, device="cuda")) - noise).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
