# SPDX-License-Identifier: Apache-2.0
# class: empty-cache-in-loop
# compare: none
"""After each step the cache is emptied, and taken from the driver again."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Sequential(nn.Conv2d(c, 64, 3, padding=1), nn.ReLU())
                                      for c in (3, 64, 64, 64)])
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.layers(x).mean((2, 3)))


net = Net().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for step in range(12):
    x, y = torch.rand(32, 3, 128, 128, device="cuda"), torch.randint(0, 10, (32,), device="cuda")
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del x, y, loss
    torch.cuda.empty_cache()  # <- the mistake
