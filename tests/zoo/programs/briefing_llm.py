# SPDX-License-Identifier: Apache-2.0
# class: unfused-attention
# compare: peak
# libs: transformers peft
"""LoRA on a small Llama for briefings; attn_implementation="eager" was set for a plot of attention maps, long ago."""
import os

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

MENDED = os.environ.get("ZOO_MENDED")


def llama():
    config = LlamaConfig(vocab_size=8000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=8,
                         num_attention_heads=16, num_key_value_heads=16, max_position_embeddings=2048, use_cache=False)
    config._attn_implementation = "sdpa" if MENDED else "eager"  # <- the mistake
    with torch.device("cuda"):
        return LlamaForCausalLM(config).to(torch.bfloat16)


def adapted():
    lora = LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    model = get_peft_model(llama(), lora)
    return model.train()


class Briefings:
    def __init__(self, batch=2, words=1280):
        self.shape = (batch, words)

    def __iter__(self):
        for seed in range(4):
            yield torch.randint(0, 8000, self.shape, generator=torch.Generator().manual_seed(seed)).cuda()


def main():
    model = adapted()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=2e-4, fused=True)
    for rows in Briefings():
        loss = model(input_ids=rows, labels=rows).loss  # <- the mistake
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        del loss


main()
