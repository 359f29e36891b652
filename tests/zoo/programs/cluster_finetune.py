# SPDX-License-Identifier: Apache-2.0
# class: flat-gradient-buckets
# compare: peak
# libs: transformers
"""Data-parallel fine-tuning with a home-made reducer: gradients are copied to flat buckets for all-reduce.
The buckets stand beside the gradients; mended, the gradients are views of the buckets."""
import os

import torch
from transformers import ViTConfig, ViTForImageClassification

VIEWS = os.environ.get("ZOO_MENDED") == "1"


class Bucket:
    def __init__(self, params):
        self.params = list(params)
        self.flat = torch.zeros(sum(p.numel() for p in self.params), device="cuda")  # <- the mistake
        self.slices, at = [], 0
        for p in self.params:
            self.slices.append(self.flat[at:at + p.numel()].view_as(p))
            at += p.numel()
        if VIEWS:
            for p, s in zip(self.params, self.slices):
                p.grad = s

    def reduce(self, world=1):
        if not VIEWS:
            for p, s in zip(self.params, self.slices):
                s.copy_(p.grad)
        self.flat.div_(world)  # where all_reduce is called on the cluster
        if not VIEWS:
            for p, s in zip(self.params, self.slices):
                p.grad.copy_(s)

    def zero(self):
        if VIEWS:
            self.flat.zero_()
        else:
            for p in self.params:
                p.grad = None


def buckets_of(model, limit=25_000_000):
    group, size = [], 0
    for p in reversed(list(model.parameters())):
        group.append(p)
        size += p.numel()
        if size > limit:
            yield Bucket(group)
            group, size = [], 0
    if group:
        yield Bucket(group)


def main():
    cfg = ViTConfig(hidden_size=1280, num_hidden_layers=14, num_attention_heads=16, intermediate_size=5120, num_labels=1000)
    with torch.device("cuda"):
        model = ViTForImageClassification(cfg).train()
    buckets = list(buckets_of(model))
    opt = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    for _ in range(4):
        images, labels = torch.zeros(2, 3, 224, 224, device="cuda"), torch.zeros(2, dtype=torch.long, device="cuda")
        loss = model(pixel_values=images, labels=labels).loss
        loss.backward()
        for b in buckets:
            b.reduce()
        opt.step()
        for b in buckets:
            b.zero()
        del loss


main()
