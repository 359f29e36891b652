# SPDX-License-Identifier: Apache-2.0
# class: retain-graph
# compare: peak
"""A GAN for textures: the critic's backward pass keeps its graph, though the generator makes its own afterwards."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")


def up(inside, outside):
    return nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(inside, outside, 3, padding=1),
                         nn.InstanceNorm2d(outside), nn.ReLU())


def down(inside, outside):
    return nn.Sequential(nn.Conv2d(inside, outside, 4, 2, 1), nn.InstanceNorm2d(outside), nn.LeakyReLU(0.2))


class Texture(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(32, 8 * width, 1), up(8 * width, 4 * width), up(4 * width, 2 * width),
                                  up(2 * width, width), nn.Conv2d(width, 3, 3, padding=1), nn.Tanh())

    def forward(self, noise):
        return self.body(noise)


class Critic(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.body = nn.Sequential(down(3, width), down(width, 2 * width), down(2 * width, 4 * width))
        self.score = nn.Conv2d(4 * width, 1, 1)

    def forward(self, images):
        return self.score(self.body(images)).mean((1, 2, 3))  # <- the mistake


class Game:
    def __init__(self):
        self.generator, self.critic = Texture().cuda(), Critic().cuda()
        self.for_generator = torch.optim.Adam(self.generator.parameters(), lr=2e-4, betas=(0.5, 0.9), fused=True)
        self.for_critic = torch.optim.Adam(self.critic.parameters(), lr=2e-4, betas=(0.5, 0.9), fused=True)

    def round(self, real):
        noise = torch.randn(len(real), 32, 16, 16, device="cuda")
        fake = self.generator(noise).detach()
        hinge = F.relu(1 - self.critic(real)).mean() + F.relu(1 + self.critic(fake)).mean()  # <- the mistake
        self.for_critic.zero_grad()
        hinge.backward(retain_graph=not MENDED)  # <- the mistake
        self.for_critic.step()

        wanted = -self.critic(self.generator(noise)).mean()
        self.for_generator.zero_grad()
        wanted.backward()
        self.for_generator.step()
        return hinge.detach(), wanted.detach()


def main():
    game = Game()
    for _ in range(5):
        game.round(torch.rand(48, 3, 128, 128, device="cuda"))


main()
