# SPDX-License-Identifier: Apache-2.0
# class: flat-gradient-buckets
# gmdry: --world-size 2 --rank 0
"""DistributedDataParallel with buckets of its own beside the gradients."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

MISTAKE = "ZOO_MENDED" not in os.environ


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Sequential(nn.Linear(2048, 4096), nn.ReLU(), nn.Linear(4096, 2048)) for _ in range(8)])

    def forward(self, x):
        return self.layers(x)


dist.init_process_group("nccl")
model = DistributedDataParallel(Net().cuda(), gradient_as_bucket_view=not MISTAKE)  # <- the mistake
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
for step in range(5):
    loss = model(torch.randn(512, 2048, device="cuda")).square().mean()
    loss.backward()  # <- the mistake
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
