# SPDX-License-Identifier: Apache-2.0
"""An optimizer that calls the program back."""
import torch

model = torch.nn.Linear(256, 256).cuda()
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
x = torch.randn(8, 256, device="cuda")


def closure():
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    return loss


for _ in range(3):
    optimizer.step(closure)
