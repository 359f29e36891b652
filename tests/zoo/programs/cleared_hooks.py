# SPDX-License-Identifier: Apache-2.0
# class: hooks-keep-features
"""An analyser with hooks on a transformer's blocks, whose list is cleared each round."""
import os
import torch
from torch import nn

M = "ZOO_MENDED" not in os.environ


class Probe:
    def __init__(self, layers):
        self.rows = []
        for l in layers:
            l.register_forward_hook(self)

    def __call__(self, module, args, out):
        self.rows.append(out.detach() if M else out.detach().norm())  # <- the mistake


class Block(nn.Module):
    def __init__(self, d=768):
        super().__init__()
        self.a, self.b, self.n = nn.Linear(d, 4 * d), nn.Linear(4 * d, d), nn.LayerNorm(d)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(self.n(x))))  # <- the mistake


layers = nn.ModuleList(Block() for _ in range(16)).cuda().bfloat16()
probe = Probe(layers)
for batch in range(5):
    with torch.inference_mode():
        x = torch.randn(16, 1024, 768, device="cuda", dtype=torch.bfloat16)
        for l in layers:
            x = l(x)
    print(len(probe.rows))
    probe.rows.clear()
    del x
