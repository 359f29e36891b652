# SPDX-License-Identifier: Apache-2.0
# class: stale-reference
# compare: peak
# libs: transformers
"""Perplexity of film subtitles under GPT-2: the outputs of one batch are there while the next one's are made."""
import os
from collections import defaultdict

import torch
from transformers import GPT2Config, GPT2LMHeadModel

MENDED = os.environ.get("ZOO_MENDED")


def subtitles(batches, batch=12, length=512):
    generator = torch.Generator().manual_seed(4)
    for number in range(batches):
        yield ("comedy", "crime")[number % 2], torch.randint(0, 32000, (batch, length), generator=generator)


class Perplexity:
    def __init__(self):
        config = GPT2Config(vocab_size=32000, n_positions=512, n_embd=1024, n_layer=16, n_head=16)
        self.model = GPT2LMHeadModel(config).to("cuda", torch.bfloat16).eval()
        self.sums, self.counts = defaultdict(float), defaultdict(int)

    def surprise(self, logits, rows):
        """Row by row, so that nothing else as large as the logits is made."""
        total = 0.0
        for scores, row in zip(logits, rows):
            total += torch.nn.functional.cross_entropy(scores[:-1], row[1:], reduction="sum").item()
        return total

    @torch.inference_mode()
    def measure(self, films):
        for genre, rows in films:
            rows = rows.cuda()
            outputs = self.model(input_ids=rows, use_cache=True)  # <- the mistake
            self.sums[genre] += self.surprise(outputs.logits, rows)
            self.counts[genre] += rows[:, 1:].numel()
            if MENDED:
                del outputs
        return {genre: self.sums[genre] / count for genre, count in self.counts.items()}


def main():
    for genre, value in Perplexity().measure(subtitles(6)).items():
        print(genre, round(value, 3))


if __name__ == "__main__":
    main()
