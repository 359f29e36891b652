# SPDX-License-Identifier: Apache-2.0
# class: uneven-devices
# compare: peak
# gmdry: --devices 2
"""A deep residual network over two cards: the cut was chosen when the second half was the larger one."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")
DEPTH, WIDTH = 24, 2048
CUT = 12 if MENDED else 19


class Rib(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Spine(nn.Module):
    """Ribs before CUT live on cuda:0, the others on cuda:1."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(256, WIDTH).to("cuda:0")
        self.front = nn.Sequential(*(Rib() for _ in range(CUT))).to("cuda:0")  # <- the mistake
        self.back = nn.Sequential(*(Rib() for _ in range(DEPTH - CUT))).to("cuda:1")
        self.leave = nn.Linear(WIDTH, 50).to("cuda:1")

    def forward(self, x):
        x = self.front(self.enter(x.to("cuda:0")))  # <- the mistake
        return self.leave(self.back(x.to("cuda:1")))


def sensors(steps, batch=2048):
    for _ in range(steps):
        yield torch.randn(batch, 256), torch.randint(0, 50, (batch,))


def main():
    model = Spine()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    for number, (x, y) in enumerate(sensors(4)):
        loss = F.cross_entropy(model(x), y.to("cuda:1"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        del loss
        print("step", number, "over", torch.cuda.device_count(), "cards")


if __name__ == "__main__":
    main()
