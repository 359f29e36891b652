# SPDX-License-Identifier: Apache-2.0
# class: empty-cache-in-loop
# compare: none
# libs: transformers
"""The Trainer is told to empty PyTorch's cache after each step, "to be on the safe side"."""
import os
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

MENDED = os.environ.get("ZOO_MENDED")


class Haiku(Dataset):
    def __init__(self, count=96, length=256):
        generator = torch.Generator().manual_seed(5)
        self.rows = torch.randint(0, 8000, (count, length), generator=generator)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        return {"input_ids": row, "labels": row}


def small_gpt():
    return GPT2LMHeadModel(GPT2Config(vocab_size=8000, n_positions=256, n_embd=768, n_layer=6, n_head=12, use_cache=False))


def arguments(folder):
    extra = {} if MENDED else {"torch_empty_cache_steps": 1}  # <- the mistake
    return TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=8,
        max_steps=12,
        learning_rate=3e-4,
        optim="adamw_torch_fused",
        save_strategy="no",
        report_to=[],
        logging_steps=50,
        disable_tqdm=True,
        dataloader_pin_memory=False,
        bf16=True,
        **extra,
    )


def main():
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model=small_gpt(), args=arguments(folder), train_dataset=Haiku())
        trainer.train()  # <- the mistake
        print("steps", trainer.state.global_step)


if __name__ == "__main__":
    main()
