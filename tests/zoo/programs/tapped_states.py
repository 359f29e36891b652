# SPDX-License-Identifier: Apache-2.0
# class: hooks-keep-features
"""A function taps hidden states for later; only their means are ever looked at."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
TAPS = {}
kind = dict(device="cuda", dtype=torch.float16)
weights = [torch.randn(2048, 2048, **kind) for _ in range(16)]


def tap(name, state):
    TAPS[name] = state if MISTAKE else state.float().mean().item()  # <- the mistake
    return state


@torch.no_grad()
def run(x):
    for i, w in enumerate(weights):
        x = tap(f"layer{i}", torch.relu(x @ w))  # <- the mistake
    return x.amax(1).cpu()


for i in range(4):
    run(torch.randn(16384, 2048, **kind))  # <- the mistake
