# SPDX-License-Identifier: Apache-2.0
# class: tensors-in-a-list
# compare: peak
"""Scores of all tracks for all listeners, before the nightly upload: collected on the card, sorted afterwards."""
import os

import torch
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")
LISTENERS, TRACKS = 40_000, 60_000


class TwoTower(nn.Module):
    def __init__(self, dim=256):
        super().__init__()
        self.listener = nn.Embedding(LISTENERS, dim)
        self.track = nn.Embedding(TRACKS, dim)
        self.mix = nn.Sequential(nn.Linear(dim, 4 * dim), nn.Mish(), nn.Linear(4 * dim, dim))

    def tracks(self):
        return self.mix(self.track.weight)

    def forward(self, listeners, tracks):
        return self.mix(self.listener(listeners)) @ tracks.t()


class Nightly:
    def __init__(self, model, batch=1024):
        self.model, self.batch, self.scores = model, batch, []

    def pages(self):
        for start in range(0, LISTENERS // 4, self.batch):
            yield torch.arange(start, min(start + self.batch, LISTENERS), device="cuda")

    def collect(self):
        tracks = self.model.tracks()
        for listeners in self.pages():
            scores = self.model(listeners, tracks).half()  # <- the mistake
            if MENDED:
                scores = scores.cpu()
            self.scores.append(scores)  # <- the mistake
        return self

    def upload(self, best=50):
        for scores in self.scores:
            yield scores.cuda().topk(best, dim=1).indices.cpu()


if __name__ == "__main__":
    with torch.device("cuda"):
        towers = TwoTower().eval()
    with torch.inference_mode():
        nightly = Nightly(towers).collect()
        rows = sum(len(best) for best in nightly.upload())
    print(rows, "listeners")
