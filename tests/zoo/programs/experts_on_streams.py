# SPDX-License-Identifier: Apache-2.0
# class: workspaces-per-stream
"""Sixteen experts, each on a stream of its own: each stream takes a workspace of cuBLAS."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Experts(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(2048, 2048, bias=False) for _ in range(count))
        self.streams = [torch.cuda.Stream() if MISTAKE else torch.cuda.current_stream() for _ in range(count)]

    @torch.inference_mode()
    def forward(self, x):
        total = []
        for expert, stream in zip(self.experts, self.streams):
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                total.append(expert(x))  # <- the mistake
        for stream in self.streams:
            torch.cuda.current_stream().wait_stream(stream)
        return torch.stack(total).sum(0)


layer = Experts(16).half().cuda()
for step in range(4):
    layer(torch.randn(256, 2048, device="cuda", dtype=torch.float16))
