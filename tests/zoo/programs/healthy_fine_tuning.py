# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""A frozen base in half precision without graph, and a head that learns."""
import torch
from torch import nn


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Sequential(nn.Linear(1536, 6144), nn.GELU(), nn.Linear(6144, 1536)) for _ in range(8)])

    def forward(self, x):
        return self.layers(x)


base = Base().cuda().half().eval().requires_grad_(False)
head = nn.Sequential(nn.Linear(1536, 768), nn.ReLU(), nn.Linear(768, 20)).cuda()
optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3, fused=True)
for step in range(8):
    x = torch.randn(1024, 1536, device="cuda", dtype=torch.float16)
    y = torch.randint(0, 20, (1024,), device="cuda")
    with torch.no_grad():
        feature = base(x).float()
    loss = nn.functional.cross_entropy(head(feature), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    del x, y, feature, loss
