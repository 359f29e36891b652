# SPDX-License-Identifier: Apache-2.0
# class: no-inference-mode
"""A service that turns speech into vectors: model.eval() is called, gradients are not off."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class ConvSubsample(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, width, 3, 2), nn.ReLU(), nn.Conv2d(width, width, 3, 2), nn.ReLU())
        self.out = nn.Linear(width * 19, width)

    def forward(self, mel):
        x = self.conv(mel[:, None])  # <- the mistake
        return self.out(x.permute(0, 2, 1, 3).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + 0.5 * self.down(nn.functional.silu(self.up(self.norm(x))))  # <- the mistake


class SpeechEncoder(nn.Module):
    def __init__(self, width=256, depth=40):
        super().__init__()
        self.subsample = ConvSubsample(width)
        self.blocks = nn.Sequential(*[FeedForward(width) for _ in range(depth)])

    def forward(self, mel):
        return self.blocks(self.subsample(mel)).mean(1)


class Service:
    def __init__(self):
        self.model = SpeechEncoder().cuda().eval()

    def handle(self, request):
        with torch.set_grad_enabled(MISTAKE):
            vector = self.model(request.cuda())  # <- the mistake
        return vector.detach().cpu()


service = Service()
for i in range(6):
    service.handle(torch.randn(8, 1200, 80))
