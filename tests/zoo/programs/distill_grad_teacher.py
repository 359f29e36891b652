# SPDX-License-Identifier: Apache-2.0
# class: no-inference-mode
"""Distillation: the teacher is in eval mode, but its forward keeps a graph. Recorded after a warm-up step."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class ConvNet(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(depth))
        self.fc = nn.Linear(width, 100)

    def forward(self, x):
        x = self.stem(x)  # <- the mistake
        for block in self.blocks:
            x = F.elu(block(x)) + x  # <- the mistake
        return self.fc(x.mean((2, 3)))


class Distiller:
    def __init__(self, teacher, student, temperature=4.0):
        self.teacher, self.student, self.t = teacher.eval(), student, temperature
        self.opt = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)

    def step(self, x):
        with torch.set_grad_enabled(MISTAKE):
            soft = self.teacher(x)  # <- the mistake
        hard = self.student(x)
        loss = F.kl_div(F.log_softmax(hard / self.t, 1), F.softmax(soft.detach() / self.t, 1), reduction="batchmean")
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()


distiller = Distiller(ConvNet(96, 16).cuda(), ConvNet(32, 4).cuda())
for i in range(5):
    if i == 1:
        torch.cuda.memory._record_memory_history(max_entries=100000)
    distiller.step(torch.randn(64, 3, 64, 64).cuda())
