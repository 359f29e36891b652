# SPDX-License-Identifier: Apache-2.0
"""Activation checkpointing, both kinds."""
import torch
from torch.utils.checkpoint import checkpoint

layers = torch.nn.ModuleList(torch.nn.TransformerEncoderLayer(128, 4, batch_first=True) for _ in range(4)).cuda()
for reentrant in (True, False):
    x = torch.randn(4, 64, 128, device="cuda", requires_grad=True)
    for layer in layers:
        x = checkpoint(layer, x, use_reentrant=reentrant)
    x.sum().backward()
