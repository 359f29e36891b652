# SPDX-License-Identifier: Apache-2.0
# class: outlier-batch
# compare: peak
# libs: torchvision
"""Faster-RCNN-like backbone training on scanned pages; one page of the set is a fold-out poster."""
import os

import torch
import torch.nn.functional as F
from torchvision.models import resnet50
from torchvision.models.feature_extraction import create_feature_extractor
from torchvision.ops import FeaturePyramidNetwork

MENDED = os.environ.get("ZOO_MENDED")
PAGES = [(640, 448)] * 5 + [(1088, 768)] + [(640, 448)] * 4


class PageNet(torch.nn.Module):
    def __init__(self, kinds=6):
        super().__init__()
        taps = {"layer2": "c3", "layer3": "c4", "layer4": "c5"}
        self.body = create_feature_extractor(resnet50(weights=None), return_nodes=taps)
        self.pyramid = FeaturePyramidNetwork([512, 1024, 2048], 192)
        self.score = torch.nn.Conv2d(192, kinds, 3, padding=1)

    def forward(self, pages):
        levels = self.pyramid(self.body(pages))  # <- the mistake
        return [self.score(level) for level in levels.values()]


def scans(batch=4):
    """Pages of one size each time: they were sorted by format."""
    for height, width in PAGES:
        if MENDED and height > 1000:
            height, width = 640, 448
        yield torch.rand(batch, 3, height, width)


def heat(scores):
    return sum(F.binary_cross_entropy_with_logits(s, torch.zeros_like(s)) for s in scores)


def main():
    model = PageNet().cuda().to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    for pages in scans():
        pages = pages.cuda().to(memory_format=torch.channels_last)  # <- the mistake
        with torch.autocast("cuda", torch.bfloat16):
            scores = model(pages)  # <- the mistake
            loss = heat(scores)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        print(tuple(pages.shape[-2:]))
        del pages, scores, loss


if __name__ == "__main__":
    main()
