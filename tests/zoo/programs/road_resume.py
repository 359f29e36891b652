# SPDX-License-Identifier: Apache-2.0
# class: checkpoint-beside-model
# compare: peak
# libs: transformers
"""SegFormer resumed from a file: weights and Adam's moments are read straight to the card."""
import os
import tempfile

import torch
import torch.nn.functional as F
from transformers import SegformerConfig, SegformerForSemanticSegmentation

MENDED = os.environ.get("ZOO_MENDED")


def segformer():
    config = SegformerConfig(num_labels=11, hidden_sizes=[128, 256, 640, 1024], depths=[2, 3, 12, 3],
                             num_attention_heads=[2, 4, 10, 16], decoder_hidden_size=512)
    return SegformerForSemanticSegmentation(config)


class State:
    """Everything that a run needs to go on."""

    def __init__(self, device):
        self.model = segformer().to(device).train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=6e-5, fused=device == "cuda")
        self.step = 0

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "step": self.step, "rng": torch.get_rng_state()}, path)

    def load(self, path):
        kept = torch.load(path, map_location="cpu" if MENDED else "cuda", weights_only=True)  # <- the mistake
        self.model.load_state_dict(kept["model"])
        self.step = kept["step"]
        return kept


def roads(steps):
    for _ in range(steps):
        yield torch.randn(2, 3, 256, 256), torch.randint(0, 11, (2, 256, 256))


def resume(path):
    state = State("cuda")
    kept = state.load(path)
    for image, kinds in roads(4):
        scores = state.model(pixel_values=image.cuda()).logits
        scores = F.interpolate(scores, size=(256, 256), mode="bilinear")
        loss = F.cross_entropy(scores, kinds.cuda())
        state.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        state.optimizer.step()
        state.step += 1
        del scores, loss
    print("went on from", kept["step"], "to", state.step)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        first = State("cpu")
        first.step = 40000
        first.save(os.path.join(folder, "last.pt"))
        del first
        resume(os.path.join(folder, "last.pt"))
