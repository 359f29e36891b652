# SPDX-License-Identifier: Apache-2.0
"""A checkpoint that is written and read onto the device."""
import io
import torch

model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.AdamW(model.parameters())
model(torch.randn(8, 1024, device="cuda")).sum().backward()
optimizer.step()
file = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
file.seek(0)
state = torch.load(file, map_location="cuda")
model.load_state_dict(state["model"])
optimizer.load_state_dict(state["optimizer"])
