# SPDX-License-Identifier: Apache-2.0
# since: 2.7
# gmdry: --devices 2
# launch: torch.distributed.run --nproc-per-node 2
"""Memory that both ranks can reach, and a sum over it."""
import os
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
group = dist.group.WORLD
x = symmetric.empty(1024, 1024, device="cuda")
memory = symmetric.rendezvous(x, group)
y = memory.get_buffer(1 - dist.get_rank(), (1024, 1024), torch.float32)
x.copy_(y)
memory.barrier()
total = torch.ops.symm_mem.one_shot_all_reduce(x, "sum", group.group_name)
dist.destroy_process_group()
