# SPDX-License-Identifier: Apache-2.0
"""autocast with bf16."""
import torch

model = torch.nn.TransformerEncoderLayer(128, 4, batch_first=True).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(torch.randn(4, 64, 128, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
