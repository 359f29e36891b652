# SPDX-License-Identifier: Apache-2.0
# class: healthy
# gmdry: --world-size 2 --rank 0
"""DistributedDataParallel with gradients as views of its buckets, no_sync() on all but the last micro-batch."""
import contextlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(0)
    net = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
    net = DistributedDataParallel(net, gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-4, fused=True)
    for step in range(5):
        for micro in range(4):
            x = torch.randn(2048, 1024, device="cuda")
            with net.no_sync() if micro < 3 else contextlib.nullcontext():
                loss = (net(x) - x).pow(2).mean() / 4
                loss.backward()
            del x, loss
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


main()
