# SPDX-License-Identifier: Apache-2.0
"""Convolutions of one to three dimensions, with groups, transposed, channels last."""
import torch
from torch import nn

for layer, shape in ((nn.Conv1d(16, 32, 3), (2, 16, 64)), (nn.Conv2d(16, 32, 3, groups=4), (2, 16, 32, 32)),
                     (nn.Conv3d(4, 8, 3), (1, 4, 8, 16, 16)), (nn.ConvTranspose2d(16, 8, 2, stride=2), (2, 16, 16, 16)),
                     (nn.Sequential(nn.Conv2d(16, 16, 3), nn.BatchNorm2d(16), nn.MaxPool2d(2)), (2, 16, 32, 32))):
    layer.cuda()(torch.randn(shape, device="cuda", requires_grad=True)).sum().backward()
layer.to(memory_format=torch.channels_last)
layer(torch.randn(2, 16, 32, 32, device="cuda").to(memory_format=torch.channels_last)).sum().backward()
