# SPDX-License-Identifier: Apache-2.0
"""torch.multiprocessing: each of two processes has memory of its own."""
import torch
import torch.multiprocessing as mp


def work(rank):
    torch.empty((rank + 1) << 25, dtype=torch.uint8, device="cuda")


if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
