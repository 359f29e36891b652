# SPDX-License-Identifier: Apache-2.0
# class: checkpoint-beside-model
"""Weights of several fine-tunings are averaged, each file loaded to the device, and then evaluated. Mended: files are loaded to the host."""
import os
import tempfile

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


def make():
    sizes = [1024, 4096, 4096, 4096, 1024]
    return nn.Sequential(*(m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b), nn.GELU())))


def soup(paths, model):
    states = [torch.load(p, map_location="cuda" if MISTAKE else "cpu") for p in paths]  # <- the mistake
    mean = {key: sum(s[key] for s in states) / len(states) for key in states[0]}  # <- the mistake
    model.load_state_dict(mean)


with tempfile.TemporaryDirectory() as folder:
    files = []
    for seed in range(3):
        files.append(os.path.join(folder, f"run{seed}.pt"))
        torch.save(make().state_dict(), files[-1])
    model = make().cuda()
    soup(files, model)

right = 0
with torch.inference_mode():
    for batch in range(6):
        x = torch.randn(256, 1024).cuda()
        right += (model(x).argmax(1).cpu() == 0).sum().item()
print(right)
