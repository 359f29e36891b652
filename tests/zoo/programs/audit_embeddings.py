# SPDX-License-Identifier: Apache-2.0
# class: tensors-in-a-list
# compare: peak
# libs: lightning
"""A Lightning test loop that gathers the windows' reconstructions for an audit, and writes them at the end."""
import os

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

MENDED = os.environ.get("ZOO_MENDED")


class Signals(Dataset):
    def __len__(self):
        return 40 * 32

    def __getitem__(self, index):
        return torch.rand(8, 8192, generator=torch.Generator().manual_seed(index))


class Reconstruction(L.LightningModule):
    def __init__(self, width=192):
        super().__init__()
        self.down = nn.Sequential(nn.Conv1d(8, width, 9, 4, 4), nn.GELU(), nn.Conv1d(width, width, 9, 4, 4), nn.GELU())
        self.up = nn.Sequential(nn.ConvTranspose1d(width, width, 8, 4, 2), nn.GELU(), nn.ConvTranspose1d(width, 8, 8, 4, 2))
        self.audit = []

    def forward(self, signal):
        return self.up(self.down(signal))  # <- the mistake

    def test_step(self, batch, index):
        again = self(batch)  # <- the mistake
        error = (again - batch).square().mean((1, 2))
        self.audit.append((index, again.cpu() if MENDED else again))  # <- the mistake
        return error.mean()

    def on_test_epoch_end(self):
        worst = max(float(part.abs().amax()) for _, part in self.audit)
        print(len(self.audit), "batches for the audit", worst >= 0)
        self.audit.clear()


def main():
    trainer = L.Trainer(accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.test(Reconstruction(), DataLoader(Signals(), batch_size=32), verbose=False)


if __name__ == "__main__":
    main()
