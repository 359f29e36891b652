# SPDX-License-Identifier: Apache-2.0
# gmdry: --devices 2
"""Layers on two devices."""
import torch

x = torch.randn(64, 1024, device="cuda:0")
layers = [torch.nn.Linear(1024, 1024, device=f"cuda:{d}") for d in (0, 1)]
layers[1](layers[0](x).to("cuda:1")).sum().backward()
