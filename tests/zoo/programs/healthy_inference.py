# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Classifies under inference_mode; answers go to the host."""
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(1024, 4096)
        self.hidden = nn.ModuleList(nn.Linear(4096, 4096) for _ in range(10))
        self.leave = nn.Linear(4096, 100)

    def forward(self, x):
        x = torch.relu(self.enter(x))
        for layer in self.hidden:
            x = torch.relu(layer(x))
        return self.leave(x)


model = Classifier().cuda().bfloat16().eval()
answers = []
with torch.inference_mode():
    for batch in range(8):
        x = torch.randn(1024, 1024, device="cuda", dtype=torch.bfloat16)
        answers.append(model(x).argmax(-1).cpu())
        del x
print(len(torch.cat(answers)))
