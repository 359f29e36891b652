# SPDX-License-Identifier: Apache-2.0
# class: plain-capacity
# gmdry: --gpu rtx-4060
# compare: none
"""Ten GiB of weights for a card of eight: there is no mistake but the card."""
import torch
from torch import nn


class Expert(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(Expert(4096).to("cuda", torch.bfloat16) for _ in range(40))

    def forward(self, x):
        for expert in self.experts:
            x = expert(x)
        return x


with torch.inference_mode():
    print(Model()(torch.randn(8, 4096, device="cuda", dtype=torch.bfloat16)).shape)
