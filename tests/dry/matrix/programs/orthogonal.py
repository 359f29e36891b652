# SPDX-License-Identifier: Apache-2.0
"""torch.linalg under a parametrization: cuSOLVER."""
import torch

layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(128, 128).cuda())
layer(torch.randn(16, 128, device="cuda")).sum().backward()
torch.linalg.svd(torch.randn(64, 64, device="cuda"))
torch.linalg.solve(torch.randn(64, 64, device="cuda"), torch.randn(64, 8, device="cuda"))
