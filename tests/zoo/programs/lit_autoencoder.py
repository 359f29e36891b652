# SPDX-License-Identifier: Apache-2.0
# class: healthy
# libs: lightning
"""An autoencoder of sensor windows with Lightning, as its documentation shows it: train, validate, predict."""
import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.randn(2048, generator=torch.Generator().manual_seed(index))


class Autoencoder(L.LightningModule):
    def __init__(self, width=4096, code=128):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(2048, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, code))
        self.decoder = nn.Sequential(nn.Linear(code, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 2048))

    def forward(self, x):
        return self.decoder(self.encoder(x))

    def training_step(self, batch, index):
        loss = F.mse_loss(self(batch), batch)
        self.log("train", loss)
        return loss

    def validation_step(self, batch, index):
        self.log("valid", F.mse_loss(self(batch), batch))

    def predict_step(self, batch, index):
        return self.encoder(batch).cpu()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3, fused=True)


def main():
    trainer = L.Trainer(max_epochs=2, accelerator="gpu", devices=1, precision="bf16-mixed", logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    model = Autoencoder()
    trainer.fit(model, DataLoader(Windows(4096), batch_size=1024), DataLoader(Windows(1024), batch_size=1024))
    codes = trainer.predict(model, DataLoader(Windows(2048), batch_size=1024))
    print(len(codes), "batches of codes")


if __name__ == "__main__":
    main()
