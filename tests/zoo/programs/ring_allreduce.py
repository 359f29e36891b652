# SPDX-License-Identifier: Apache-2.0
# class: flat-gradient-buckets
# compare: peak
# gmdry: --world-size 2 --rank 0
"""A hand-made data parallel wrapper: gradients are copied to flat buffers for the sum over ranks, and back."""
import os

import torch
import torch.distributed as dist
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")


class Bucket:
    def __init__(self, parameters):
        self.parameters = parameters
        size = sum(p.numel() for p in parameters)
        self.flat = torch.zeros(size, device=parameters[0].device)  # <- the mistake
        if MENDED:  # gradients are views of the flat buffer
            at = 0
            for p in parameters:
                p.grad = self.flat[at:at + p.numel()].view_as(p)
                at += p.numel()

    def reduce(self, ranks):
        if not MENDED:
            torch.cat([p.grad.flatten() for p in self.parameters], out=self.flat)
        dist.all_reduce(self.flat)
        self.flat.div_(ranks)
        if not MENDED:
            at = 0
            for p in self.parameters:
                p.grad.copy_(self.flat[at:at + p.numel()].view_as(p))
                at += p.numel()

    def clear(self):
        if MENDED:
            self.flat.zero_()
            return
        for p in self.parameters:
            p.grad.zero_()


class Parallel(nn.Module):
    def __init__(self, module, limit=16 << 20):
        super().__init__()
        self.module, self.buckets, batch = module, [], []
        for p in reversed(list(module.parameters())):
            batch.append(p)
            if sum(q.numel() for q in batch) >= limit:
                self.buckets.append(Bucket(batch))
                batch = []
        if batch:
            self.buckets.append(Bucket(batch))

    def forward(self, *args):
        return self.module(*args)

    def synchronise(self):
        for bucket in self.buckets:
            bucket.reduce(dist.get_world_size())


def main():
    dist.init_process_group("nccl")
    layers = [nn.Sequential(nn.Linear(2048, 4096), nn.GELU(), nn.Linear(4096, 2048)) for _ in range(10)]
    model = Parallel(nn.Sequential(*layers, nn.Linear(2048, 10)).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(5):
        x, y = torch.randn(1024, 2048, device="cuda"), torch.randint(0, 10, (1024,), device="cuda")
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        model.synchronise()
        optimizer.step()
        for bucket in model.buckets:
            bucket.clear()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
