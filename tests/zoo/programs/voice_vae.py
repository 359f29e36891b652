# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""A variational autoencoder of voices: mixed precision with a scaler, accumulation over four parts, nothing kept."""
import torch
import torch.nn.functional as F
from torch import nn


class Half(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        layers = []
        for a, b in zip(sizes, sizes[1:]):
            layers += [nn.Linear(a, b), nn.LayerNorm(b), nn.SiLU()]
        self.layers = nn.Sequential(*layers[:-2])

    def forward(self, x):
        return self.layers(x)


class VoiceVAE(nn.Module):
    def __init__(self, code=64):
        super().__init__()
        self.encoder = Half((8000, 4096, 4096, 2 * code))
        self.decoder = Half((code, 4096, 4096, 8000))

    def forward(self, voice):
        mean, spread = self.encoder(voice).chunk(2, 1)
        code = mean + torch.randn_like(mean) * (0.5 * spread).exp()
        again = self.decoder(code)
        distance = 0.5 * (mean.square() + spread.exp() - 1 - spread).sum(1).mean()
        return F.mse_loss(again.float(), voice) + 1e-4 * distance.float()


class Trainer:
    def __init__(self, parts=4):
        self.model, self.parts = VoiceVAE().cuda(), parts
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-4, fused=True)
        self.scaler = torch.amp.GradScaler("cuda")

    def update(self, voices):
        for part in voices.chunk(self.parts):
            with torch.autocast("cuda", torch.float16):
                loss = self.model(part.cuda(non_blocking=True)) / self.parts
            self.scaler.scale(loss).backward()
            del loss
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)

    @torch.no_grad()
    def check(self, voices):
        with torch.autocast("cuda", torch.float16):
            return self.model(voices.cuda()).item()


if __name__ == "__main__":
    trainer = Trainer()
    for epoch in range(2):
        for _ in range(4):
            trainer.update(torch.rand(4 * 1536, 8000))
        print(epoch, trainer.check(torch.rand(1024, 8000)))
