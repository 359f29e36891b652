# SPDX-License-Identifier: Apache-2.0
# class: pinned-segments
# compare: end
"""A small summary of each volume is kept; each lies in the segment of a large temporary, which it holds for ever."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Summary(nn.Module):
    def __init__(self):
        super().__init__()
        self.blur = nn.Conv3d(1, 8, 3, padding=1)

    def forward(self, volume):
        wide = self.blur(volume)
        mask = wide > 0
        wide = wide.mul(mask)
        del mask
        return wide[:, :, ::8, ::4, ::4].clone()  # <- the mistake


summarise = Summary().cuda()
kept = []
with torch.no_grad():
    for number in range(6):
        volume = torch.rand(2, 1, 96 + 16 * number, 256, 256, device="cuda")
        summary = summarise(volume)  # <- the mistake
        kept.append(summary if MISTAKE else summary.cpu())
        del volume, summary
torch.cuda.empty_cache()
total = sum(summary.float().sum().item() for summary in kept)
print(total, torch.cuda.memory_reserved())
