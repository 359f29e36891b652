# SPDX-License-Identifier: Apache-2.0
# class: uneven-devices
# compare: peak
# gmdry: --devices 2
# libs: transformers accelerate
"""GPT-NeoX over two cards with a device map written by hand, and most of the layers on the first one."""
import os

import torch
from accelerate import dispatch_model
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

MENDED = os.environ.get("ZOO_MENDED")
LAYERS = 20
FIRST = 10 if MENDED else 16


def device_map():
    where = {"gpt_neox.embed_in": 0, "gpt_neox.rotary_emb": 0, "gpt_neox.emb_dropout": 0}
    where.update({f"gpt_neox.layers.{i}": int(i >= FIRST) for i in range(LAYERS)})  # <- the mistake
    where.update({"gpt_neox.final_layer_norm": 1, "lm_head": 1})
    return where


def spread():
    config = GPTNeoXConfig(vocab_size=16000, hidden_size=1536, intermediate_size=6144, num_hidden_layers=LAYERS,
                           num_attention_heads=12, max_position_embeddings=1024, use_cache=False)
    model = GPTNeoXForCausalLM(config).to(torch.bfloat16)
    return dispatch_model(model, device_map=device_map())  # <- the mistake


class Sentences:
    def __init__(self, batch, length):
        self.batch, self.length = batch, length

    def __call__(self):
        return torch.randint(0, 16000, (self.batch, self.length), device="cuda:0")


def main():
    model = spread().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False, fused=True)
    sentences = Sentences(4, 256)
    for step in range(4):
        rows = sentences()
        loss = model(input_ids=rows, labels=rows).loss  # <- the mistake
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        del loss
        print("step", step)


if __name__ == "__main__":
    main()
