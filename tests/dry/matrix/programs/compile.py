# SPDX-License-Identifier: Apache-2.0
# needs: triton
"""torch.compile with inductor, trained."""
import torch

model = torch.nn.Sequential(torch.nn.Linear(128, 512), torch.nn.GELU(), torch.nn.LayerNorm(512), torch.nn.Linear(512, 128)).cuda()
compiled = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    compiled(torch.randn(16, 128, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
