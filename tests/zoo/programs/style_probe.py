# SPDX-License-Identifier: Apache-2.0
# class: hooks-keep-features
# compare: peak
"""Training an image transformer; a probe looks at all blocks' outputs every fiftieth step, but its hooks stay on."""
import os
from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")


class GatedBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.gate, self.value = nn.Linear(dim, 2 * dim), nn.Linear(dim, 2 * dim)
        self.merge = nn.Linear(2 * dim, dim)
        self.token = nn.Conv1d(196, 196, 1)

    def forward(self, x):
        x = x + self.token(self.norm(x))
        y = self.norm(x)
        return x + self.merge(F.silu(self.gate(y)) * self.value(y))


class Probe:
    def __init__(self, blocks):
        self.features = OrderedDict()
        self.handles = [block.register_forward_hook(self.keeper(index)) for index, block in enumerate(blocks)]

    def keeper(self, index):
        def keep(module, inputs, output):
            self.features[index] = output.detach().float().clone()  # <- the mistake
        return keep

    def report(self):
        rows = [float(feature.std()) for feature in self.features.values()]
        print("spread of features", len(rows))
        if MENDED:
            for handle in self.handles:
                handle.remove()
            self.features.clear()


class Network(nn.Module):
    def __init__(self, dim=768, depth=10, classes=100):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, 16, 16)
        self.blocks = nn.ModuleList(GatedBlock(dim) for _ in range(depth))
        self.head = nn.Linear(dim, classes)

    def forward(self, images):
        x = self.patch(images).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) if self.training else block(x)
        return self.head(x.mean(1))


def main():
    model = Network().cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    probe = Probe(model.blocks)
    model.eval()
    with torch.no_grad():  # a first look, before any training, at a small batch
        model(torch.randn(4, 3, 224, 224, device="cuda"))
    probe.report()
    model.train()
    for step in range(6):
        images, labels = torch.randn(64, 3, 224, 224).cuda(), torch.randint(0, 100, (64,)).cuda()
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
