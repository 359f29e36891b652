# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""A generator and a discriminator, each with its own optimizer and its own backward pass."""
import torch
from torch import nn

generator = nn.Sequential(nn.ConvTranspose2d(100, 256, 4), nn.BatchNorm2d(256), nn.ReLU(),
                          nn.ConvTranspose2d(256, 128, 4, 2, 1), nn.BatchNorm2d(128), nn.ReLU(),
                          nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
                          nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh()).cuda()
discriminator = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1), nn.LeakyReLU(0.2),
                              nn.Conv2d(128, 256, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(256, 1, 4), nn.Flatten()).cuda()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True)
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True)
criterion = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(512, 1, device="cuda"), torch.zeros(512, 1, device="cuda")
for step in range(6):
    real = torch.rand(512, 3, 32, 32, device="cuda")
    fake = generator(torch.randn(512, 100, 1, 1, device="cuda"))
    loss_d = criterion(discriminator(real), ones) + criterion(discriminator(fake.detach()), zeros)
    loss_d.backward()
    optimizer_d.step()
    optimizer_d.zero_grad()
    del loss_d
    loss_g = criterion(discriminator(fake), ones)
    loss_g.backward()
    optimizer_g.step()
    optimizer_g.zero_grad()
    optimizer_d.zero_grad()
    del real, fake, loss_g
