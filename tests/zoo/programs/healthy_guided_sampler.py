# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Pictures by a diffusion model in float16 with guidance, decoded one at a time."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.conv = nn.GroupNorm(32, width), nn.Conv2d(width, width, 3, padding=1)
        self.q, self.kv, self.o = nn.Linear(width, width), nn.Linear(768, 2 * width), nn.Linear(width, width)

    def forward(self, x, text):
        x = x + self.conv(nn.functional.silu(self.norm(x)))
        q = self.q(x.flatten(2).transpose(1, 2)).unflatten(-1, (8, -1)).transpose(1, 2)
        k, v = (t.unflatten(-1, (8, -1)).transpose(1, 2) for t in self.kv(text).chunk(2, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return x + self.o(y).transpose(1, 2).unflatten(-1, x.shape[2:])


class UNet(nn.Module):
    def __init__(self, width=640):
        super().__init__()
        self.enter, self.leave = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)
        self.blocks = nn.ModuleList(Block(width) for _ in range(12))

    def forward(self, x, text):
        x = self.enter(x)
        for block in self.blocks:
            x = block(x, text)
        return self.leave(x)


@torch.inference_mode()
def main():
    unet = UNet().to("cuda", torch.float16).eval()
    decoder = nn.Sequential(nn.Conv2d(4, 64, 3, padding=1), nn.SiLU(), nn.Upsample(scale_factor=4), nn.Conv2d(64, 32, 3, padding=1), nn.SiLU(),
                            nn.Conv2d(32, 3, 3, padding=1)).to("cuda", torch.float16)
    text = torch.randn(2, 77, 768, device="cuda", dtype=torch.float16)
    for _ in range(2):
        latent = torch.randn(1, 4, 64, 64, device="cuda", dtype=torch.float16)
        for _ in range(8):
            without, given = unet(latent.expand(2, -1, -1, -1), text).chunk(2)
            latent = latent - 0.1 * (without + 7.5 * (given - without))
        decoder(latent).float().cpu()


main()
