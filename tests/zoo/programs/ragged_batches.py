# SPDX-License-Identifier: Apache-2.0
# class: variable-shapes
"""Every batch has another length: the allocator's segments never fit the next one."""
import os
import random

MISTAKE = "ZOO_MENDED" not in os.environ
if not MISTAKE:
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"

import torch  # noqa: E402
from torch import nn  # noqa: E402


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10000, 512)
        layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
        self.tags = nn.Linear(512, 40)

    def forward(self, tokens):
        return self.tags(self.body(self.words(tokens)))


random.seed(5)
model = Tagger().cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for step in range(14):
    length = random.randint(200, 1000)
    loss = model(torch.randint(0, 10000, (16, length), device="cuda")).logsumexp(-1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
