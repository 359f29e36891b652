# SPDX-License-Identifier: Apache-2.0
# class: retain-graph
# compare: peak
# libs: lightning
"""Soft actor-critic on pixels with Lightning and manual optimization: two critics, one encoder."""
import os

import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

MENDED = os.environ.get("ZOO_MENDED")


class Replay(Dataset):
    def __len__(self):
        return 4 * 128

    def __getitem__(self, index):
        return torch.rand(9, 84, 84), torch.rand(6), torch.rand(1)


def encoder():
    layers, channels = [], 9
    for stride in (2, 1, 1, 1):
        layers += [nn.Conv2d(channels, 64, 3, stride), nn.ReLU()]
        channels = 64
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 35 * 35, 100), nn.LayerNorm(100))


class Critics(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.encoder = encoder()
        self.heads = nn.ModuleList(nn.Sequential(nn.Linear(106, 1024), nn.ReLU(), nn.Linear(1024, 1)) for _ in range(2))

    def training_step(self, batch, index):
        seen, action, target = batch
        optimizer = self.optimizers()
        state = torch.cat([self.encoder(seen), action], 1)  # <- the mistake
        self.errors = [F.mse_loss(head(state), target) for head in self.heads]
        optimizer.zero_grad()
        self.manual_backward(self.errors[0], retain_graph=True)
        self.manual_backward(self.errors[1], retain_graph=not MENDED)  # <- the mistake
        optimizer.step()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3, fused=True)


def main():
    loader = DataLoader(Replay(), batch_size=128, num_workers=0)
    trainer = L.Trainer(max_epochs=2, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Critics(), loader)


if __name__ == "__main__":
    main()
