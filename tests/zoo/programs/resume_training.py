# SPDX-License-Identifier: Apache-2.0
# class: checkpoint-beside-model
"""Goes on from a checkpoint, which stays on the device after it was copied into the model."""
import os
import tempfile

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Sequential(nn.Linear(1536, 4096), nn.GELU(), nn.Linear(4096, 1536))
                                      for _ in range(5)])

    def forward(self, x):
        return self.layers(x)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "last.pt")
    torch.save({"model": Net().state_dict(), "step": 100}, path)
    model = Net().cuda()
    checkpoint = torch.load(path, map_location="cuda" if MISTAKE else "cpu")  # <- the mistake
model.load_state_dict(checkpoint["model"])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
for step in range(checkpoint["step"], checkpoint["step"] + 4):
    loss = model(torch.randn(1024, 1536, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
