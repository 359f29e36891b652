# SPDX-License-Identifier: Apache-2.0
# class: checkpoint-beside-model
# compare: peak
"""Continues the training of a text-to-speech decoder from last night's checkpoint."""
import os
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")


class ConvBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.depth = nn.Conv1d(channels, channels, 7, padding=3, groups=channels)
        self.wide, self.back = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)

    def forward(self, x):
        y = self.depth(x.transpose(1, 2)).transpose(1, 2)
        return x + self.back(F.gelu(self.wide(y)))


class Voice(nn.Module):
    def __init__(self, channels=1280, blocks=12, mels=80):
        super().__init__()
        self.enter = nn.Linear(mels, channels)
        self.blocks = nn.Sequential(*(ConvBlock(channels) for _ in range(blocks)))
        self.leave = nn.Linear(channels, mels)

    def forward(self, mel):
        return self.leave(self.blocks(self.enter(mel)))


def last_night(folder):
    """What the job before this one has left (made here, so that the program stands alone)."""
    model = Voice()
    path = os.path.join(folder, "step_200000.pt")
    torch.save({"model": model.state_dict(), "step": 200000}, path)
    return path


class Run:
    def __init__(self, path):
        self.device = torch.device("cuda")
        self.model = Voice().to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-4, fused=True)
        where = "cpu" if MENDED else self.device
        self.checkpoint = torch.load(path, map_location=where)  # <- the mistake
        self.model.load_state_dict(self.checkpoint["model"])

    def train(self, steps):
        first = self.checkpoint["step"]
        for step in range(first, first + steps):
            mel = torch.randn(8, 400, 80, device=self.device)
            loss = F.l1_loss(self.model(mel + 0.1 * torch.randn_like(mel)), mel)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            del loss
        print("stopped at", first + steps)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Run(last_night(folder)).train(5)
