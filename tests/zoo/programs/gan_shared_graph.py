# SPDX-License-Identifier: Apache-2.0
# class: retain-graph
"""A GAN with two optimizers; the critic's loss is differentiated with retain_graph=True, and the loss is logged in the next iteration. Mended: without."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


def generator():
    return nn.Sequential(nn.Linear(64, 256 * 8 * 8), nn.Unflatten(1, (256, 8, 8)), nn.ConvTranspose2d(256, 128, 4, 2, 1), nn.ReLU(),
                         nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh())


def critic():
    return nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(128, 1, 16))


G, D = generator().cuda(), critic().cuda()
opt_g, opt_d = (torch.optim.Adam(m.parameters(), lr=2e-4, foreach=False) for m in (G, D))
last = None
for iteration in range(7):
    real = torch.rand(96, 3, 64, 64, device="cuda")
    with torch.no_grad():
        made = G(torch.randn(96, 64, device="cuda"))
    loss_d = torch.relu(1 - D(real)).mean() + torch.relu(1 + D(made)).mean()  # <- the mistake
    opt_d.zero_grad()
    loss_d.backward(retain_graph=MISTAKE)  # <- the mistake
    opt_d.step()
    del real, made
    fake = G(torch.randn(96, 64, device="cuda"))
    loss_g = -D(fake).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if last is not None:
        print(iteration, last.item())
    last = loss_d  # <- the mistake
    del fake, loss_g, loss_d
