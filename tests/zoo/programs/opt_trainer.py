# SPDX-License-Identifier: Apache-2.0
# class: foreach-transients
# compare: peak
# libs: transformers
"""OPT trained with the Trainer and the optimizer that the team has always written there."""
import os
import tempfile

import torch
from transformers import OPTConfig, OPTForCausalLM, Trainer, TrainerCallback, TrainingArguments

MENDED = os.environ.get("ZOO_MENDED")


def model():
    config = OPTConfig(vocab_size=16000, hidden_size=1024, word_embed_proj_dim=1024, ffn_dim=4096,
                       num_hidden_layers=16, num_attention_heads=16, max_position_embeddings=512, use_cache=False)
    return OPTForCausalLM(config)


class Notes(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        row = torch.randint(0, 16000, (128,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": row, "attention_mask": torch.ones_like(row), "labels": row}


class Progress(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        print("step", state.global_step)


def main():
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            output_dir=folder, max_steps=6, per_device_train_batch_size=4, gradient_checkpointing=True,
            optim="adamw_torch_fused" if MENDED else "adamw_torch",  # <- the mistake
            learning_rate=1e-4, max_grad_norm=0.0, report_to=[], save_strategy="no", disable_tqdm=True,
            logging_strategy="no")
        trainer = Trainer(model=model(), args=settings, train_dataset=Notes(), callbacks=[Progress()])
        trainer.train()  # <- the mistake


if __name__ == "__main__":
    main()
