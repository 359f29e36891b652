# SPDX-License-Identifier: Apache-2.0
# class: variable-shapes
# compare: peak
# mended: 2
"""Summaries of telephone calls: every batch is padded to its own longest call, so no two have one shape."""
import os
import random

MENDED = os.environ.get("ZOO_MENDED")
if MENDED == "2":
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

LONGEST = 1400


class Block(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, 8, -1)).permute(2, 0, 3, 1, 4)  # <- the mistake
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))  # <- the mistake
        return x + self.down(F.gelu(self.up(self.norms[1](x))))  # <- the mistake


class Summariser(nn.Module):
    def __init__(self, words=6000, width=512, depth=8):
        super().__init__()
        self.words, self.blocks = nn.Embedding(words, width), nn.Sequential(*(Block(width) for _ in range(depth)))

    def forward(self, calls):
        return self.blocks(self.words(calls)) @ self.words.weight.t()  # <- the mistake


def collate(calls):
    length = LONGEST if MENDED == "1" else max(len(call) for call in calls)
    return torch.stack([F.pad(call, (0, length - len(call))) for call in calls])


def calls(batches, size=16):
    chosen = random.Random(31)
    for _ in range(batches):
        longest = chosen.randint(180, LONGEST)
        yield collate([torch.randint(1, 6000, (chosen.randint(longest // 2, longest),)) for _ in range(size)])


def main():
    model = Summariser().to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    for batch in calls(40):
        rows = batch.cuda()
        scores = model(rows[:, :-1])  # <- the mistake
        loss = F.cross_entropy(scores.flatten(0, 1), rows[:, 1:].flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()  # <- the mistake
        optimizer.step()
        del scores, loss


main()
