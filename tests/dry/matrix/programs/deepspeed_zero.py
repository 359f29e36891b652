# SPDX-License-Identifier: Apache-2.0
# needs: deepspeed
# gmdry: --devices 2
# launch: torch.distributed.run --nproc-per-node 2
"""DeepSpeed: ZeRO of stages 1, 2 and 3 on two ranks."""
import deepspeed
import torch

for stage in (1, 2, 3):
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)])
    config = {"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": True},
              "zero_optimization": {"stage": stage, "reduce_bucket_size": 1 << 20, "allgather_bucket_size": 1 << 20},
              "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}}}
    engine = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)[0]
    for _ in range(2):
        x = torch.randn(4, 512, device=engine.device, dtype=torch.bfloat16)
        engine.backward(engine(x).float().square().mean())
        engine.step()
    engine.destroy()
torch.distributed.destroy_process_group()
