# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Documents are embedded in batches; vectors go to the host."""
import torch
import torch.nn.functional as F
from torch import nn


class Embedder(nn.Module):
    def __init__(self, width=768):
        super().__init__()
        self.words = nn.Embedding(30000, width)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 12, 3072, batch_first=True), 6)

    def forward(self, ids):
        return F.normalize(self.layers(self.words(ids)).mean(1), dim=-1)


model, vectors = Embedder().cuda().half().eval(), []
with torch.inference_mode():
    for _ in range(10):
        vectors.append(model(torch.randint(30000, (64, 192)).cuda()).float().cpu())
torch.cat(vectors).numpy()
