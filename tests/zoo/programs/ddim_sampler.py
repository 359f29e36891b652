# SPDX-License-Identifier: Apache-2.0
# class: healthy
# libs: diffusers
"""Samples small pictures with diffusers: half precision, inference mode, fused attention, pictures go to the host."""
import torch
from diffusers import DDIMScheduler, UNet2DModel


def unet():
    model = UNet2DModel(sample_size=64, in_channels=3, out_channels=3, layers_per_block=2,
                        block_out_channels=(192, 384, 576, 768), norm_num_groups=32,
                        down_block_types=("DownBlock2D", "DownBlock2D", "AttnDownBlock2D", "AttnDownBlock2D"),
                        up_block_types=("AttnUpBlock2D", "AttnUpBlock2D", "UpBlock2D", "UpBlock2D"))
    return model.half().cuda().eval().requires_grad_(False)


class Sampler:
    def __init__(self, steps=12):
        self.model, self.schedule, self.steps = unet(), DDIMScheduler(num_train_timesteps=1000), steps
        self.schedule.set_timesteps(steps)

    @torch.inference_mode()
    def draw(self, count, seed):
        generator = torch.Generator("cuda").manual_seed(seed)
        x = torch.randn(count, 3, 64, 64, device="cuda", dtype=torch.float16, generator=generator)
        for when in self.schedule.timesteps:
            guess = self.model(x, when).sample
            x = self.schedule.step(guess, when, x).prev_sample
        pixels = x.clamp(-1, 1).add(1).mul(127.5)
        return pixels.to(torch.uint8).cpu()


def main():
    sampler, gallery = Sampler(), []
    for seed in range(3):
        gallery.append(sampler.draw(8, seed))
    print(tuple(torch.cat(gallery).shape))


if __name__ == "__main__":
    main()
