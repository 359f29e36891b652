# SPDX-License-Identifier: Apache-2.0
"""Optimizers, for each tensor, for all at once, fused."""
import torch

for make in (lambda p: torch.optim.AdamW(p, foreach=False), lambda p: torch.optim.AdamW(p, foreach=True),
             lambda p: torch.optim.AdamW(p, fused=True), lambda p: torch.optim.AdamW(p, amsgrad=True, capturable=True),
             lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True), lambda p: torch.optim.Adagrad(p),
             lambda p: torch.optim.RMSprop(p), lambda p: torch.optim.NAdam(p)):
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Linear(256, 256)).cuda()
    optimizer = make(model.parameters())
    for _ in range(2):
        model(torch.randn(8, 256, device="cuda")).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
