# SPDX-License-Identifier: Apache-2.0
# needs: accelerate
# gmdry: --devices 2
# launch: accelerate.commands.launch --num_processes 2 --multi_gpu
"""`accelerate launch` on two ranks."""
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64))
rows = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 64)), batch_size=8)
model, optimizer, rows = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), rows)
for (x,) in rows:
    accelerator.backward(model(x).square().mean())
    optimizer.step()
    optimizer.zero_grad()
accelerator.gather(torch.ones(1, device=accelerator.device))
accelerator.end_training()
