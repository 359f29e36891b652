# SPDX-License-Identifier: Apache-2.0
# class: stale-reference
"""Scores captions; the logits of one batch live until the next ones have been made."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Decoder(nn.Module):
    def __init__(self, vocabulary=32000, width=768, layers=4):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, 12, 3072, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        return self.head(self.body(self.embed(tokens)))  # <- the mistake


model = Decoder().cuda().half().eval()
best = []
with torch.inference_mode():
    for _ in range(6):
        tokens = torch.randint(0, 32000, (32, 512), device="cuda")
        logits = model(tokens)  # <- the mistake
        best.append(logits.amax(-1).mean(-1).cpu())
        if not MISTAKE:
            del logits
