# SPDX-License-Identifier: Apache-2.0
# class: hooks-keep-features
# compare: peak
# libs: timm
"""Out-of-distribution scores for a ConvNeXt: hooks take all stages' blocks, the scores need the last ones."""
import os

import timm
import torch

MENDED = os.environ.get("ZOO_MENDED")


class Tap:
    def __init__(self):
        self.seen = []

    def __call__(self, module, args, result):
        self.seen.append(result)  # <- the mistake


class Detector:
    def __init__(self):
        self.model = timm.create_model("convnext_large", pretrained=False, num_classes=300).cuda().eval()
        self.tap = Tap()
        stages = self.model.stages[-1:] if MENDED else self.model.stages
        for stage in stages:
            for block in stage.blocks:
                block.register_forward_hook(self.tap)

    @torch.inference_mode()
    def distance(self, images):
        self.tap.seen.clear()
        logits = self.model(images)  # <- the mistake
        last = torch.stack([feature.mean((2, 3)) for feature in self.tap.seen[-3:]])
        return last.std(0).mean(1) + logits.logsumexp(1)


def cameras(frames=6):
    for frame in range(frames):
        yield torch.rand(16, 3, 256, 256).cuda()


def main():
    torch.manual_seed(8)
    detector = Detector()
    rows = []
    for images in cameras():
        rows.append(detector.distance(images).cpu())
        del images
    print(torch.cat(rows).shape)


if __name__ == "__main__":
    main()
