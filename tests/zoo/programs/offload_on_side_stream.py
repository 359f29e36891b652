# SPDX-License-Identifier: Apache-2.0
# class: pending-on-streams
# gmdry: --events sync
"""Activations are copied to the host on a side stream and marked with record_stream(): they stay until the copies are known to be done, which is asked late. Mended: waits for the copy before the block is given back."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ
side = torch.cuda.Stream()


class Offload(torch.autograd.graph.saved_tensors_hooks):
    def __init__(self):
        super().__init__(self.pack, self.unpack)

    def pack(self, tensor):
        if tensor.numel() < 1 << 20 or isinstance(tensor, nn.Parameter):
            return tensor
        there = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            there.copy_(tensor, non_blocking=True)
        if MISTAKE:
            tensor.record_stream(side)  # <- the mistake
        else:
            side.synchronize()
        return there

    def unpack(self, kept):
        return kept.to("cuda") if kept.device.type == "cpu" else kept


class Mixer(nn.Module):
    def __init__(self, width=1024, depth=6):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))  # <- the mistake
        return x


net = Mixer().cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(4):
    with Offload():
        loss = net(torch.randn(8192, 1024, device="cuda")).pow(2).mean()  # <- the mistake
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
