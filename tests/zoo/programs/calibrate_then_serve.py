# SPDX-License-Identifier: Apache-2.0
# class: cache-of-finished-phase
# compare: end
# gmdry: --memory 4GiB
# libs: transformers
"""Activation ranges are measured with a large batch once; afterwards the encoder serves single sentences."""
import os

import torch
from transformers import BertConfig, BertModel

MENDED = os.environ.get("ZOO_MENDED")


def encoder():
    config = BertConfig(vocab_size=20000, hidden_size=1536, num_hidden_layers=24, num_attention_heads=24,
                        intermediate_size=6144, max_position_embeddings=512)
    torch.set_default_dtype(torch.float16)
    with torch.device("cuda"):
        model = BertModel(config, add_pooling_layer=False).eval()
    torch.set_default_dtype(torch.float32)
    return model


class Ranges:
    """Largest absolute value of each Linear's input, as kept for int8 kernels."""

    def __init__(self, model):
        self.highest = {}
        self.handles = [module.register_forward_pre_hook(self.watch(name))
                        for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)]

    def watch(self, name):
        def hook(_, inputs):
            seen = inputs[0].abs().amax()
            known = self.highest.get(name)
            self.highest[name] = seen if known is None else torch.maximum(known, seen)
        return hook

    def close(self):
        for handle in self.handles:
            handle.remove()
        return {name: float(value) for name, value in self.highest.items()}


@torch.inference_mode()
def calibrate(model, batches=3, size=64):
    ranges = Ranges(model)
    for seed in range(batches):
        torch.manual_seed(seed)
        tokens = torch.randint(0, 20000, (size, 512), device="cuda")
        model(input_ids=tokens)  # <- the mistake
    return ranges.close()


@torch.inference_mode()
def serve(model, requests):
    answers = []
    for length in requests:
        tokens = torch.randint(0, 20000, (1, length), device="cuda")
        answers.append(model(input_ids=tokens).last_hidden_state[:, 0].float().cpu())
    return answers


if __name__ == "__main__":
    model = encoder()
    table = calibrate(model)  # <- the mistake
    print(len(table), "ranges")
    if MENDED:
        torch.cuda.empty_cache()
    print(len(serve(model, [24, 61, 128, 33, 90, 47] * 20)), "answers")
