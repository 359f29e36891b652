# SPDX-License-Identifier: Apache-2.0
# class: cache-of-finished-phase
# compare: end
# gmdry: --memory 4GiB
"""First an index of all passages is made in large chunks; then the query side alone is tuned, a few rows at a time."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")


class Tower(nn.Module):
    def __init__(self, words=250_000, width=768):
        super().__init__()
        self.words = nn.EmbeddingBag(words, width, mode="mean")
        self.deep = nn.Sequential(nn.Linear(width, 8 * width), nn.GELU(), nn.Linear(8 * width, 8 * width), nn.GELU(),
                                  nn.Linear(8 * width, 256))

    def forward(self, tokens):
        return F.normalize(self.deep(self.words(tokens)), dim=-1)


class Index:
    def __init__(self, tower, chunk=24_000):
        self.tower, self.chunk, self.pages = tower, chunk, []

    @torch.inference_mode()
    def fill(self, chunks=3):
        for _ in range(chunks):
            passages = torch.randint(0, 250_000, (self.chunk, 64), dtype=torch.int32).cuda()
            self.pages.append(self.tower(passages).half().cpu())  # <- the mistake
        return torch.cat(self.pages)


def tune(queries, pages, steps=40):
    optimizer = torch.optim.SGD(queries.deep.parameters(), lr=0.05)
    queries.words.requires_grad_(False)
    for _ in range(steps):
        rows = torch.randint(0, 250_000, (64, 16), device="cuda")
        chosen = pages[torch.randint(0, len(pages), (64,))].float().cuda()
        similar = queries(rows) @ chosen.t() / 0.05
        loss = F.cross_entropy(similar, torch.arange(64, device="cuda"))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        del similar, loss


tower = Tower().cuda()
pages = Index(tower).fill()  # <- the mistake
if MENDED:
    torch.cuda.empty_cache()
tune(tower, pages)
print(tuple(pages.shape))
