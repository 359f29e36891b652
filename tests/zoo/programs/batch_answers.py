# SPDX-License-Identifier: Apache-2.0
# class: kv-cache-dominates
# compare: peak
# mended: 2
# libs: transformers
"""Answers to exam questions with a static cache: the longest context for every row of a large batch."""
import os

import torch
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

MENDED = os.environ.get("ZOO_MENDED")
ROWS = 32 if MENDED == "1" else 64
CONTEXT = 1024 if MENDED == "2" else 2048


class Examinee:
    def __init__(self):
        self.config = LlamaConfig(vocab_size=16000, hidden_size=1536, intermediate_size=4096, num_hidden_layers=12,
                                  num_attention_heads=12, num_key_value_heads=12, max_position_embeddings=4096)
        with torch.device("cuda"):
            self.model = LlamaForCausalLM(self.config).to(torch.bfloat16).eval()
        self.cache = StaticCache(config=self.config, max_cache_len=CONTEXT)

    def read(self, questions):
        self.position = 0
        return self.advance(questions)

    def advance(self, tokens):
        positions = torch.arange(self.position, self.position + tokens.shape[1], device="cuda")
        states = self.model(input_ids=tokens, past_key_values=self.cache, use_cache=True,  # <- the mistake
                            position_ids=positions[None].expand(len(tokens), -1), logits_to_keep=1)
        self.position += tokens.shape[1]
        return states.logits[:, -1].argmax(-1, keepdim=True)


@torch.inference_mode()
def sit(examinee, questions, longest):
    token = examinee.read(questions)
    written = [token]
    for _ in range(longest - 1):
        token = examinee.advance(token)
        written.append(token)
    return torch.cat(written, 1).cpu()


if __name__ == "__main__":
    student = Examinee()
    paper = torch.randint(0, 16000, (ROWS, 128), device="cuda")
    print(tuple(sit(student, paper, 16).shape))
