# SPDX-License-Identifier: Apache-2.0
# class: plain-capacity
# gmdry: --memory 9GiB
# compare: none
"""Weights and gradients fit; where the states of Adam are made, the card is full."""
import torch

weights = [torch.nn.Parameter(torch.randn(5120, 5120, device="cuda") * 0.01) for _ in range(30)]
optimizer = torch.optim.Adam(weights, lr=1e-4, fused=True)


def forward(x):
    for w in weights:
        x = torch.relu(x @ w)
    return x.square().mean()


for step in range(3):
    forward(torch.randn(32, 5120, device="cuda")).backward()
    optimizer.step()
    optimizer.zero_grad()
