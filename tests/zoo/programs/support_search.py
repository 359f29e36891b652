# SPDX-License-Identifier: Apache-2.0
# class: no-inference-mode
# compare: peak
# libs: transformers
"""Embeds questions of a support desk with a RoBERTa and ranks stored answers."""
import os
from contextlib import nullcontext

import torch
from transformers import RobertaConfig, RobertaModel

MENDED = os.environ.get("ZOO_MENDED")


class Embedder:
    def __init__(self, layers=12):
        config = RobertaConfig(vocab_size=24000, hidden_size=768, num_hidden_layers=layers, num_attention_heads=12,
                               intermediate_size=3072, max_position_embeddings=514, pad_token_id=1)
        self.model = RobertaModel(config, add_pooling_layer=False).to("cuda").eval()
        self.quiet = torch.inference_mode if MENDED else nullcontext

    def __call__(self, tokens):
        mask = tokens.ne(1).long()
        with self.quiet():
            hidden = self.model(tokens, attention_mask=mask).last_hidden_state  # <- the mistake
            weights = mask.unsqueeze(-1).to(hidden.dtype)
            pooled = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1)
            return torch.nn.functional.normalize(pooled, dim=-1)


class Desk:
    def __init__(self, embedder, answers=20000):
        self.embedder = embedder
        self.answers = torch.nn.functional.normalize(torch.randn(answers, 768, device="cuda"), dim=-1)

    def best(self, questions, count=5):
        similar = self.embedder(questions) @ self.answers.t()
        return similar.topk(count).indices.cpu()


def tickets(days, size, longest):
    generator = torch.Generator().manual_seed(9)
    for _ in range(days):
        yield torch.randint(4, 24000, (size, longest), generator=generator)


def main():
    desk = Desk(Embedder())
    for day, questions in enumerate(tickets(4, 8, 256)):
        print(day, tuple(desk.best(questions.cuda()).shape))


if __name__ == "__main__":
    main()
