# SPDX-License-Identifier: Apache-2.0
# class: vocabulary-copies
# compare: peak
# libs: transformers
"""Contracts with a Trainer of their own: tokens of clauses weigh more, so the loss is computed by hand."""
import os
import tempfile

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
from transformers import MistralConfig, MistralForCausalLM, Trainer, TrainingArguments

MENDED = os.environ.get("ZOO_MENDED")
WORDS = 64000


class Contracts(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        row = torch.randint(0, WORDS, (768,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": row, "labels": row, "weights": torch.linspace(0.5, 1.5, 768)}


def piece(head, hidden, target, weight):
    scores = F.log_softmax(head(hidden).float(), -1)
    return -(scores.gather(-1, target[..., None]).squeeze(-1) * weight).sum()


class ClauseTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        weights, labels = inputs["weights"][:, 1:], inputs["labels"][:, 1:]
        hidden = model.model(input_ids=inputs["input_ids"]).last_hidden_state[:, :-1]
        if MENDED:
            parts = zip(hidden.split(64, 1), labels.split(64, 1), weights.split(64, 1))
            total = sum(checkpoint(piece, model.lm_head, *part, use_reentrant=False) for part in parts)
        else:
            logits = model.lm_head(hidden).float()  # <- the mistake
            scores = F.log_softmax(logits / 0.9, dim=-1)  # <- the mistake
            total = -(scores.gather(-1, labels[..., None]).squeeze(-1) * weights).sum()
        return total / weights.sum()


def main():
    config = MistralConfig(vocab_size=WORDS, hidden_size=1024, intermediate_size=3584, num_hidden_layers=8,
                           num_attention_heads=16, num_key_value_heads=4, use_cache=False, sliding_window=None)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, per_device_train_batch_size=4, max_steps=4, remove_unused_columns=False, bf16=True,
            optim="adafactor", save_strategy="no", report_to=[], disable_tqdm=True)
        model = MistralForCausalLM(config).to(torch.bfloat16)
        ClauseTrainer(model=model, args=arguments, train_dataset=Contracts()).train()


if __name__ == "__main__":
    main()
