# SPDX-License-Identifier: Apache-2.0
"""Activations that wait on the host, pinned."""
import torch

layers = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.Tanh()) for _ in range(4)]).cuda()
with torch.autograd.graph.save_on_cpu(pin_memory=True):
    out = layers(torch.randn(64, 512, device="cuda", requires_grad=True)).sum()
out.backward()
