# SPDX-License-Identifier: Apache-2.0
# environment: PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync
# trace: none
"""The driver's own allocator in place of PyTorch's."""
import torch

model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    model(torch.randn(64, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.empty_cache()
