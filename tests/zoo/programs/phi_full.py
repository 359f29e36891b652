# SPDX-License-Identifier: Apache-2.0
# class: plain-capacity
# compare: none
# gmdry: --memory 16GiB
# libs: transformers
"""All weights of a 2.4 B Phi are tuned on a card of 16 GiB: bf16, fused AdamW, checkpointing, one row at a time."""
import os

import torch
from transformers import PhiConfig, PhiForCausalLM, set_seed

MENDED = os.environ.get("ZOO_MENDED")


def phi():
    config = PhiConfig(vocab_size=51200, hidden_size=2304, intermediate_size=9216, num_hidden_layers=34,
                       num_attention_heads=24, max_position_embeddings=1024, use_cache=False, tie_word_embeddings=False)
    with torch.device("cuda"):
        model = PhiForCausalLM(config).to(torch.bfloat16)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    return model.train()


class MixedAdam:
    """Keeps float32 weights for the update, as mixed precision wants it."""

    def __init__(self, model, lr):
        self.pairs = [(p, p.detach().float().requires_grad_(True)) for p in model.parameters()]
        self.inner = torch.optim.AdamW([master for _, master in self.pairs], lr=lr, fused=True)

    def step(self):
        for p, master in self.pairs:
            master.grad, p.grad = p.grad.float(), None
        self.inner.step()
        self.inner.zero_grad(set_to_none=True)
        with torch.no_grad():
            for p, master in self.pairs:
                p.copy_(master)


def main():
    set_seed(1)
    model = phi()
    print(f"{sum(p.numel() for p in model.parameters()) / 1e9:.2f} B parameters")
    optimizer = MixedAdam(model, 1e-5)
    for step in range(3):
        tokens = torch.randint(0, 51200, (1, 512), device="cuda")
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        print("step", step)
        del loss


if __name__ == "__main__":
    main()
