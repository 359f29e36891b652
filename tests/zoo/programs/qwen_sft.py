# SPDX-License-Identifier: Apache-2.0
# class: activations-dominate
# compare: peak
# libs: transformers
"""Supervised fine-tuning of a small Qwen2 on chat transcripts, packed to 2048 tokens."""
import os
from dataclasses import dataclass

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

MENDED = os.environ.get("ZOO_MENDED")


@dataclass
class Recipe:
    sequence: int = 2048
    microbatch: int = 4
    accumulate: int = 2
    updates: int = 3
    lr: float = 1e-5


def build():
    config = Qwen2Config(vocab_size=16384, hidden_size=1280, intermediate_size=4864, num_hidden_layers=14,
                         num_attention_heads=20, num_key_value_heads=4, max_position_embeddings=4096,
                         tie_word_embeddings=True, use_cache=False)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = Qwen2ForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    if MENDED:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    return model.train()


def packed_transcripts(recipe):
    generator = torch.Generator().manual_seed(11)
    while True:
        yield torch.randint(0, 16384, (recipe.microbatch, recipe.sequence), generator=generator)


class Finetuner:
    def __init__(self, recipe):
        self.recipe, self.model = recipe, build()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=recipe.lr, fused=True)
        self.data = packed_transcripts(recipe)

    def microstep(self):
        tokens = next(self.data).cuda(non_blocking=True)
        hidden = self.model.model(input_ids=tokens).last_hidden_state  # <- the mistake
        loss = self.chunked_loss(hidden, tokens) / self.recipe.accumulate
        loss.backward()

    def chunked_loss(self, hidden, tokens):
        """Next-token loss, 256 positions at a time, each recomputed in the backward pass."""
        total = hidden.new_zeros((), dtype=torch.float32)
        for start in range(0, self.recipe.sequence - 1, 256):
            stop = min(start + 256, self.recipe.sequence - 1)
            total = total + torch.utils.checkpoint.checkpoint(
                self.piece, hidden[:, start:stop], tokens[:, start + 1:stop + 1], use_reentrant=False)
        return total / tokens[:, 1:].numel()

    def piece(self, hidden, target):
        logits = self.model.lm_head(hidden).float()
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="sum")

    def run(self):
        for update in range(self.recipe.updates):
            for _ in range(self.recipe.accumulate):
                self.microstep()
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            print("update", update)


if __name__ == "__main__":
    Finetuner(Recipe()).run()
