# SPDX-License-Identifier: Apache-2.0
# class: stale-reference
"""An event-driven engine whose state keeps the last step's output for the handlers. Mended: it keeps the loss as a number only."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class State:
    def __init__(self):
        self.iteration, self.output = 0, None


class Engine:
    def __init__(self, process):
        self.process, self.state, self.handlers = process, State(), []

    def run(self, batches):
        for batch in batches:
            self.state.iteration += 1
            self.state.output = self.process(self, batch)  # <- the mistake
            for handler in self.handlers:
                handler(self)


class Block(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(Block(3, 16), Block(16, 16))
        self.tail = nn.Conv2d(16, 3 * 16, 3, padding=1)

    def forward(self, low):
        return nn.functional.pixel_shuffle(self.tail(self.body(low)), 4)  # <- the mistake


def main():
    net = SuperResolution().cuda()
    optimizer = torch.optim.Adam(net.parameters(), 1e-4)

    def step(engine, batch):
        low, high = (t.cuda(non_blocking=True) for t in batch)  # <- the mistake
        optimizer.zero_grad()
        made = net(low)  # <- the mistake
        loss = nn.functional.l1_loss(made, high)
        loss.backward()
        optimizer.step()
        return {"loss": loss, "made": made, "high": high} if MISTAKE else {"loss": loss.item()}  # <- the mistake

    trainer = Engine(step)
    trainer.handlers.append(lambda e: e.state.iteration % 4 or print(e.state.iteration, float(e.state.output["loss"])))
    trainer.run((torch.rand(48, 3, 96, 96), torch.rand(48, 3, 384, 384)) for _ in range(9))


main()
