# SPDX-License-Identifier: Apache-2.0
"""TorchScript: scripted, traced, fused by NVRTC."""
import torch


@torch.jit.script
def gelu(x):
    return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1.0 + 0.044715 * x * x)))


traced = torch.jit.trace(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()).cuda(), torch.randn(8, 64, device="cuda"))
for _ in range(5):
    gelu(traced(torch.randn(8, 64, device="cuda")))
torch.special.bessel_j0(torch.randn(64, device="cuda"))
