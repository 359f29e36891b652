# SPDX-License-Identifier: Apache-2.0
# needs: triton
"""torch.compile with CUDA graphs."""
import torch

layer = torch.compile(torch.nn.Sequential(torch.nn.Linear(128, 512), torch.nn.GELU()).cuda(), mode="reduce-overhead")
with torch.no_grad():
    for _ in range(5):
        torch.compiler.cudagraph_mark_step_begin()
        layer(torch.randn(16, 128, device="cuda"))
