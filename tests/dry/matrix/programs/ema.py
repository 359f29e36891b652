# SPDX-License-Identifier: Apache-2.0
"""Averages of the weights: a copy, and torch's own."""
import copy
import torch

model = torch.nn.Linear(512, 512).cuda()
mean, swa = copy.deepcopy(model), torch.optim.swa_utils.AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.randn(8, 512, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        torch._foreach_lerp_(list(mean.parameters()), list(model.parameters()), 0.1)
    swa.update_parameters(model)
