# SPDX-License-Identifier: Apache-2.0
# since: 2.4
# gmdry: --world-size 4 --rank 2
"""One stage of a pipeline whose others are not there: it is told what comes in and goes out."""
import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

dist.init_process_group("nccl")
device = torch.device("cuda", 0)
layers = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256)).to(device)
example = torch.randn(4, 256, device=device, requires_grad=True)
stage = PipelineStage(layers, dist.get_rank(), dist.get_world_size(), device, input_args=(example,), output_args=(example,))
schedule = Schedule1F1B(stage, 8, loss_fn=lambda out, target: (out - target).square().mean())
for _ in range(2):
    schedule.step()
dist.destroy_process_group()
