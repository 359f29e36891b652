# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""A GAN in the usual way: two optimizers, fake pictures detached for the critic."""
import torch
from torch import nn


def up(i, o):
    return [nn.ConvTranspose2d(i, o, 4, 2, 1), nn.BatchNorm2d(o), nn.ReLU(True)]


def down(i, o):
    return [nn.Conv2d(i, o, 4, 2, 1), nn.LeakyReLU(0.2, True)]


netG = nn.Sequential(nn.ConvTranspose2d(100, 512, 4, 1, 0), nn.ReLU(True), *up(512, 256), *up(256, 128), *up(128, 64), nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh()).cuda()
netD = nn.Sequential(*down(3, 64), *down(64, 128), *down(128, 256), *down(256, 512), nn.Conv2d(512, 1, 4)).cuda()
optD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
for i in range(6):
    netD.zero_grad()
    real = torch.rand(128, 3, 64, 64).cuda()
    label = torch.ones(128, device="cuda")
    errD_real = criterion(netD(real).view(-1), label)
    errD_real.backward()
    noise = torch.randn(128, 100, 1, 1, device="cuda")
    fake = netG(noise)
    errD_fake = criterion(netD(fake.detach()).view(-1), torch.zeros_like(label))
    errD_fake.backward()
    optD.step()
    netG.zero_grad()
    errG = criterion(netD(fake).view(-1), label)
    errG.backward()
    optG.step()
    if i % 2 == 0:
        print(errD_real.item() + errD_fake.item(), errG.item())
