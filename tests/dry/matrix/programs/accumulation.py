# SPDX-License-Identifier: Apache-2.0
"""Gradients of four batches, then a step; metrics that are read."""
import torch

model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
total = 0.0
for i in range(8):
    loss = model(torch.randn(16, 256, device="cuda")).square().mean() / 4
    loss.backward()
    total += loss.item()
    if i % 4 == 3:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
