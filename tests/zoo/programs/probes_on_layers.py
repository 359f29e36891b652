# SPDX-License-Identifier: Apache-2.0
# class: hooks-keep-features
"""Forward hooks note every layer's output for statistics, and keep the tensors themselves."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Probe:
    def __init__(self, model):
        self.seen = {}
        for name, module in model.named_modules():
            if isinstance(module, nn.Conv2d):
                module.register_forward_hook(self.note(name))

    def note(self, name):
        def hook(module, inputs, output):
            self.seen[name] = output if MISTAKE else output.mean((2, 3)).cpu()  # <- the mistake
        return hook


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(a, 48, 3, padding=1) for a in [3] + 11 * [48])

    def forward(self, x):
        for conv in self.convs:
            x = torch.relu(conv(x))  # <- the mistake
        return x.mean((2, 3))


model = Net().cuda().eval()
probe = Probe(model)
with torch.inference_mode():
    for batch in range(5):
        model(torch.rand(16, 3, 224, 224, device="cuda"))  # <- the mistake
        print(batch, len(probe.seen))
