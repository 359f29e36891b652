# SPDX-License-Identifier: Apache-2.0
"""Parametrizations: weight norm, spectral norm, one of the program's own."""
import torch
from torch.nn.utils import parametrizations, parametrize


class Symmetric(torch.nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T


layers = [parametrizations.weight_norm(torch.nn.Linear(128, 128).cuda()),
          parametrizations.spectral_norm(torch.nn.Linear(128, 128).cuda()), torch.nn.Linear(128, 128).cuda()]
parametrize.register_parametrization(layers[2], "weight", Symmetric())
model = torch.nn.Sequential(*layers)
for _ in range(3):
    model(torch.randn(16, 128, device="cuda")).sum().backward()
