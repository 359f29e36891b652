# SPDX-License-Identifier: Apache-2.0
# since: 2.6
"""torch.cuda.MemPool."""
import torch

pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    x = torch.randn(1024, 1024, device="cuda")
y = torch.randn(1024, 1024, device="cuda")
del x
z = torch.randn(512, 512, device="cuda")
