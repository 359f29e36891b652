# SPDX-License-Identifier: Apache-2.0
# class: kv-cache-by-cat
# compare: peak
# libs: transformers
"""Continues stories with generate(); long answers, a few prompts at a time."""
import os

import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

MENDED = os.environ.get("ZOO_MENDED")


def storyteller():
    config = LlamaConfig(vocab_size=12000, hidden_size=1024, intermediate_size=2048, num_hidden_layers=12,
                         num_attention_heads=16, num_key_value_heads=16, max_position_embeddings=2048,
                         tie_word_embeddings=True, bos_token_id=1, eos_token_id=2, pad_token_id=0)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).to(torch.bfloat16)
    return model.eval()


class Stories:
    def __init__(self, model, longest):
        self.model = model
        kind = {"cache_implementation": "static"} if MENDED else {}
        self.settings = GenerationConfig(max_new_tokens=longest, do_sample=False, pad_token_id=0, eos_token_id=2,
                                         bos_token_id=1, disable_compile=True, **kind)

    @torch.inference_mode()
    def tell(self, prompts):
        attention = torch.ones_like(prompts)
        return self.model.generate(prompts, attention_mask=attention, generation_config=self.settings)  # <- the mistake


def prompts(batches, size, words):
    generator = torch.Generator().manual_seed(2)
    for _ in range(batches):
        yield torch.randint(3, 12000, (size, words), generator=generator)


def main():
    stories = Stories(storyteller(), longest=160)
    for batch in prompts(2, 48, 512):
        told = stories.tell(batch.cuda())
        print(tuple(told.cpu().shape))


if __name__ == "__main__":
    main()
