# SPDX-License-Identifier: Apache-2.0
"""torch.profiler with the device's activities."""
import torch
from torch.profiler import ProfilerActivity, profile

layer = torch.nn.Linear(256, 256).cuda()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True, record_shapes=True) as p:
    for _ in range(3):
        layer(torch.randn(16, 256, device="cuda")).sum().backward()
        p.step()
assert "aten::addmm" in p.key_averages().table()
torch.cuda.nvtx.range_push("a")
torch.cuda.nvtx.range_pop()
