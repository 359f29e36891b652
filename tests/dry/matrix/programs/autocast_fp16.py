# SPDX-License-Identifier: Apache-2.0
"""autocast with fp16 and a GradScaler."""
import torch

model = torch.nn.TransformerEncoderLayer(128, 4, batch_first=True).cuda()
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.amp.GradScaler("cuda")
for _ in range(3):
    with torch.autocast("cuda", torch.float16):
        loss = model(torch.randn(4, 64, 128, device="cuda")).square().mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
