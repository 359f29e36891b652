# SPDX-License-Identifier: Apache-2.0
# class: plain-capacity
# compare: none
# gmdry: --memory 16GiB
"""A mixture of experts is loaded on one card of 16 GiB for which its weights in bfloat16 are too many."""
import torch
from torch import nn


class Expert(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False, device="cuda", dtype=torch.bfloat16)  # <- the mistake
        self.up = nn.Linear(width, inner, bias=False, device="cuda", dtype=torch.bfloat16)  # <- the mistake
        self.down = nn.Linear(inner, width, bias=False, device="cuda", dtype=torch.bfloat16)  # <- the mistake


class Mixture(nn.Module):
    def __init__(self, width=2048, inner=5632, experts=8):
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False, device="cuda", dtype=torch.bfloat16)
        self.experts = nn.ModuleList(Expert(width, inner) for _ in range(experts))  # <- the mistake


class Model(nn.Module):
    def __init__(self, layers=32):
        super().__init__()
        self.embed = nn.Embedding(32000, 2048, device="cuda", dtype=torch.bfloat16)
        self.layers = nn.ModuleList(Mixture() for _ in range(layers))  # <- the mistake


model = Model().eval()  # <- the mistake
print(sum(p.numel() for p in model.parameters()))
