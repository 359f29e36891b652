# SPDX-License-Identifier: Apache-2.0
# needs: accelerate
"""accelerate: prepare(), accumulation, clipping."""
import torch
from accelerate import Accelerator

accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64))
optimizer = torch.optim.AdamW(model.parameters())
rows = torch.utils.data.TensorDataset(torch.randn(64, 64))
model, optimizer, loader = accelerator.prepare(model, optimizer, torch.utils.data.DataLoader(rows, batch_size=8))
for (x,) in loader:
    with accelerator.accumulate(model):
        accelerator.backward(model(x).square().mean())
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
