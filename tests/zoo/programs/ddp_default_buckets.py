# SPDX-License-Identifier: Apache-2.0
# class: flat-gradient-buckets
# gmdry: --world-size 4 --rank 0
"""DistributedDataParallel as it comes: its buckets hold all gradients a second time. Mended: gradient_as_bucket_view=True."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

MISTAKE = "ZOO_MENDED" not in os.environ


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(0)
    net = nn.Sequential(nn.Linear(2048, 6144), nn.GELU(), nn.Linear(6144, 6144), nn.GELU(), nn.Linear(6144, 2048)).cuda()
    net = DistributedDataParallel(net, gradient_as_bucket_view=not MISTAKE)  # <- the mistake
    optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9, fused=True)
    for _ in range(6):
        x = torch.randn(512, 2048, device="cuda")
        loss = (net(x) - x).pow(2).mean()
        loss.backward()  # <- the mistake
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        del loss, x
    dist.destroy_process_group()


main()
