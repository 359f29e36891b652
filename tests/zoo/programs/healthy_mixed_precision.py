# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Autocast to float16 with a gradient scaler around the forward pass of a convolutional network."""
import torch
from torch import nn


class Stage(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.conv = nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(after)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


model = nn.Sequential(Stage(3, 64), Stage(64, 128), Stage(128, 256), Stage(256, 512), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                      nn.Linear(512, 1000)).cuda().to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
scaler = torch.amp.GradScaler("cuda")
for step in range(6):
    x = torch.rand(64, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    y = torch.randint(0, 1000, (64,), device="cuda")
    with torch.autocast("cuda", torch.float16):
        loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    del x, y, loss
