# SPDX-License-Identifier: Apache-2.0
# class: autocast-weight-casts
# compare: peak
# mended: 2
# libs: timm
"""Tags photographs with a large ViT; the weights are float32 and each batch runs under autocast."""
import contextlib
import os

import timm
import torch

MENDED = os.environ.get("ZOO_MENDED")


def half_precision():
    if MENDED == "1":
        return contextlib.nullcontext()
    return torch.autocast("cuda", dtype=torch.float16, cache_enabled=not MENDED)  # <- the mistake


class Tagger:
    def __init__(self, tags=4000):
        self.model = timm.create_model("vit_large_patch16_224", pretrained=False, num_classes=tags)
        self.model.eval().requires_grad_(True)
        self.model.to("cuda", torch.float16 if MENDED == "1" else torch.float32)  # <- the mistake

    def __call__(self, photos):
        photos = photos.to("cuda", next(self.model.parameters()).dtype)
        with torch.no_grad(), half_precision():
            scores = self.model(photos)  # <- the mistake
        return scores.topk(5).indices.cpu()


def albums():
    for count in (6, 6, 4, 6, 2):
        yield torch.rand(count, 3, 224, 224)


if __name__ == "__main__":
    tagger, found = Tagger(), {}
    for number, photos in enumerate(albums()):
        found[number] = tagger(photos)
    print(sum(len(tags) for tags in found.values()), "photos tagged")
