# SPDX-License-Identifier: Apache-2.0
# class: pending-on-streams
# gmdry: --events 400
"""Batches are copied on a side stream and recorded on the main one: each is pending long after its last use."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Prefetcher:
    def __init__(self, count):
        self.count, self.stream, self.batch = count, torch.cuda.Stream(), None

    def load(self):
        with torch.cuda.stream(self.stream):
            self.batch = torch.empty(96, 3, 384, 384).to("cuda", non_blocking=True)  # <- the mistake

    def __iter__(self):
        self.load()
        for _ in range(self.count):
            torch.cuda.current_stream().wait_stream(self.stream)
            batch = self.batch
            if MISTAKE:
                batch.record_stream(torch.cuda.current_stream())  # <- the mistake
            self.load()
            yield batch
            if not MISTAKE:
                self.stream.wait_stream(torch.cuda.current_stream())
            del batch


model = nn.Sequential(nn.Conv2d(3, 16, 7, stride=4), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.AdaptiveAvgPool2d(1)).cuda()
with torch.no_grad():
    for batch in Prefetcher(12):
        model(batch)
        del batch
