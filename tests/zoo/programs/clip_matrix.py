# SPDX-License-Identifier: Apache-2.0
# class: giant-tensor
# compare: need
# gmdry: --memory 8GiB
# libs: transformers
"""Near-duplicates in a photo library by CLIP embeddings: similarity of everything with everything."""
import os

import torch
from transformers import CLIPVisionConfig, CLIPVisionModelWithProjection

MENDED = os.environ.get("ZOO_MENDED")


class Library:
    def __init__(self, size):
        self.size = size
        config = CLIPVisionConfig(hidden_size=1280, intermediate_size=5120, num_hidden_layers=32, num_attention_heads=16,
                                  image_size=224, patch_size=14, projection_dim=768)
        with torch.device("cuda"):
            self.model = CLIPVisionModelWithProjection(config).eval()
            self.codes = torch.empty(size, 768)

    def embed(self, batch=64, photographed=256):
        """Only the newest photographs; all others have their codes from earlier runs."""
        for start in range(0, photographed, batch):
            pixels = torch.rand(batch, 3, 224, 224).cuda()
            self.codes[start:start + batch] = self.model(pixel_values=pixels).image_embeds
        return torch.nn.functional.normalize(self.codes, dim=1)


def duplicates(codes):
    if MENDED:
        best = [(piece @ codes.t()).topk(2, dim=1).values for piece in codes.split(512)]
        return torch.cat(best)[:, 1].cpu()
    similar = codes @ codes.t()  # <- the mistake
    return similar.topk(2, dim=1).values[:, 1].cpu()


def main():
    library = Library(40_000)
    with torch.inference_mode():
        codes = library.embed()
        print("codes", tuple(codes.shape))
        nearest = duplicates(codes)
    print("nearest", tuple(nearest.shape))


if __name__ == "__main__":
    main()
