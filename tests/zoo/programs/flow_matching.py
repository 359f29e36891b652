# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Flow matching on small images: bf16 autocast, fused AdamW, weights averaged on the host, channels last."""
import torch
import torch.nn.functional as F
from torch import nn


class Mix(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(16, channels)
        self.conv1, self.conv2 = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.time = nn.Linear(128, channels)

    def forward(self, x, t):
        y = self.conv1(F.silu(self.norm(x))) + self.time(t)[:, :, None, None]
        return x + self.conv2(F.silu(y))


class Field(nn.Module):
    def __init__(self, channels=256, depth=6):
        super().__init__()
        self.enter = nn.Conv2d(3, channels, 3, padding=1)
        self.mixes = nn.ModuleList(Mix(channels) for _ in range(depth))
        self.leave = nn.Conv2d(channels, 3, 3, padding=1)
        self.register_buffer("speeds", torch.logspace(0, 3, 64))

    def forward(self, x, t):
        angles = t[:, None] * self.speeds
        t = torch.cat([angles.sin(), angles.cos()], 1)
        x = self.enter(x)
        for mix in self.mixes:
            x = torch.utils.checkpoint.checkpoint(mix, x, t, use_reentrant=False)
        return self.leave(x)


class HostAverage:
    def __init__(self, model):
        self.kept = [p.detach().cpu().clone() for p in model.parameters()]

    def update(self, model, rate=0.01):
        for kept, p in zip(self.kept, model.parameters()):
            kept.lerp_(p.detach().cpu(), rate)


def velocity_loss(model, images):
    noise = torch.randn_like(images)
    t = torch.rand(len(images), device=images.device)
    at = t[:, None, None, None]
    return F.mse_loss(model((1 - at) * noise + at * images, t).float(), images - noise)


def main(steps=8):
    model = Field().cuda().to(memory_format=torch.channels_last)
    average = HostAverage(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, fused=True)
    for step in range(steps):
        images = torch.rand(64, 3, 32, 32).cuda().to(memory_format=torch.channels_last)
        with torch.autocast("cuda", torch.bfloat16):
            loss = velocity_loss(model, images)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        del loss, images
        if step % 4 == 3:
            average.update(model)


if __name__ == "__main__":
    main()
