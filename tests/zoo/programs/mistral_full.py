# SPDX-License-Identifier: Apache-2.0
# class: optimizer-state-dominates
# compare: peak
# mended: 2
# libs: transformers
"""All weights of a small Mistral are tuned in float32 with AdamW; rows are short, blocks are checkpointed."""
import os

import torch
from transformers import Adafactor, MistralConfig, MistralForCausalLM

MENDED = os.environ.get("ZOO_MENDED")


class ByteMoments(torch.optim.Optimizer):
    """AdamW with both moments in one byte for each element (scales left out: they are 1/64 of it)."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "m" not in state:
                    state["m"], state["v"] = (torch.zeros_like(p, dtype=torch.int8) for _ in range(2))
                for row, grad, m, v in zip(p.view(-1).split(1 << 21), p.grad.view(-1).split(1 << 21),
                                           state["m"].view(-1).split(1 << 21), state["v"].view(-1).split(1 << 21)):
                    row.addcdiv_(m.float(), v.float().sqrt_().add_(1e-6), value=-group["lr"])
                    m.copy_(grad.sign())


def optimizer_for(parameters):
    if MENDED == "1":
        return ByteMoments(parameters, 1e-5)
    if MENDED == "2":
        return Adafactor(parameters, lr=1e-5, scale_parameter=False, relative_step=False)
    return torch.optim.AdamW(parameters, lr=1e-5, fused=True)  # <- the mistake


class Tuning:
    def __init__(self):
        config = MistralConfig(vocab_size=12000, hidden_size=1536, intermediate_size=5120, num_hidden_layers=10,
                               num_attention_heads=12, num_key_value_heads=4, use_cache=False)
        with torch.device("cuda"):
            self.model = MistralForCausalLM(config).train()
        self.model.gradient_checkpointing_enable({"use_reentrant": False})
        self.optimizer = optimizer_for(self.model.parameters())

    def step(self, rows):
        loss = self.model(input_ids=rows, labels=rows).loss
        loss.backward()
        self.optimizer.step()  # <- the mistake
        self.optimizer.zero_grad(set_to_none=True)


def main():
    tuning = Tuning()
    for _ in range(5):
        tuning.step(torch.randint(0, 12000, (2, 160), device="cuda"))


main()
