# SPDX-License-Identifier: Apache-2.0
# needs: transformers accelerate
"""transformers' Trainer: evaluation, checkpoints, bf16."""
import tempfile
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

model = GPT2LMHeadModel(GPT2Config(vocab_size=512, n_positions=64, n_embd=64, n_layer=2, n_head=4))
rows = [{"input_ids": torch.randint(0, 512, (64,)), "labels": torch.randint(0, 512, (64,))} for _ in range(32)]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=4, max_steps=6, bf16=True, report_to=[],
                                  save_steps=3, eval_strategy="steps", eval_steps=3, logging_steps=2, disable_tqdm=True)
    Trainer(model=model, args=arguments, train_dataset=rows, eval_dataset=rows[:8]).train()
