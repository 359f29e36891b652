# SPDX-License-Identifier: Apache-2.0
# class: second-copy-of-weights
# compare: peak
# libs: diffusers
"""Latent diffusion with diffusers; the averaged weights live on the card beside the trained ones."""
import os

import torch
import torch.nn.functional as F
from diffusers import DDPMScheduler, UNet2DModel
from diffusers.training_utils import EMAModel

MENDED = os.environ.get("ZOO_MENDED")


def unet():
    return UNet2DModel(sample_size=32, in_channels=4, out_channels=4, layers_per_block=2,
                       block_out_channels=(256, 512, 768), norm_num_groups=32,
                       down_block_types=("DownBlock2D", "AttnDownBlock2D", "AttnDownBlock2D"),
                       up_block_types=("AttnUpBlock2D", "AttnUpBlock2D", "UpBlock2D"))


class HostAverage:
    """What EMAModel does, in the host's memory."""

    def __init__(self, parameters):
        self.shadow = [p.detach().cpu().clone() for p in parameters]

    def step(self, parameters):
        for kept, p in zip(self.shadow, parameters):
            kept.lerp_(p.detach().cpu(), 0.001)


class LatentTraining:
    def __init__(self):
        self.model = unet().cuda().train()
        self.noise = DDPMScheduler(num_train_timesteps=1000)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        parameters = self.model.parameters()
        self.average = HostAverage(parameters) if MENDED else EMAModel(parameters, decay=0.999)  # <- the mistake

    def step(self, latents):
        noise = torch.randn_like(latents)
        when = torch.randint(0, 1000, (len(latents),), device=latents.device)
        noisy = self.noise.add_noise(latents, noise, when)
        with torch.autocast("cuda", torch.bfloat16):
            guess = self.model(noisy, when).sample
        loss = F.mse_loss(guess.float(), noise)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.average.step(self.model.parameters())


if __name__ == "__main__":
    training = LatentTraining()
    for _ in range(4):
        training.step(torch.randn(4, 4, 32, 32).cuda())
