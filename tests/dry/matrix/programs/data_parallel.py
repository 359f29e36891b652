# SPDX-License-Identifier: Apache-2.0
# gmdry: --devices 2
"""torch.nn.DataParallel: threads, replicas, a gather."""
import torch

model = torch.nn.DataParallel(torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256)).cuda())
for _ in range(3):
    model(torch.randn(32, 256, device="cuda")).sum().backward()
