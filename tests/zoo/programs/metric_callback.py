# SPDX-License-Identifier: Apache-2.0
# class: slow-leak
# also: tensors-in-a-list
# compare: peak
# libs: transformers
"""A Trainer whose loss also notes, for each token, how sure the model was; the notes stay on the card."""
import os
import tempfile

import torch
from transformers import BertConfig, BertForTokenClassification, Trainer, TrainerCallback, TrainingArguments

MENDED = os.environ.get("ZOO_MENDED")


class Names(torch.utils.data.Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        row = torch.randint(0, 9000, (128,), generator=generator)
        return {"input_ids": row, "labels": row % 9}


class Ledger(TrainerCallback):
    """Keeps what it was told since the start; a summary is printed at the end."""

    def __init__(self):
        self.notes = {}

    def note(self, step, hidden):
        self.notes[step] = hidden.cpu().mean() if MENDED else hidden  # <- the mistake

    def on_train_end(self, args, state, control, **kwargs):
        print("notes of", len(self.notes), "steps")


class NotingTrainer(Trainer):
    def __init__(self, *args, ledger, **kwargs):
        super().__init__(*args, callbacks=[ledger], **kwargs)
        self.ledger = ledger

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        result = model(**inputs, output_hidden_states=True)  # <- the mistake
        self.ledger.note(self.state.global_step, result.hidden_states[-1].detach())  # <- the mistake
        return (result.loss, result) if return_outputs else result.loss


def main():
    config = BertConfig(vocab_size=9000, hidden_size=512, num_hidden_layers=4, num_attention_heads=8,
                        intermediate_size=2048, num_labels=9)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(output_dir=folder, max_steps=150, per_device_train_batch_size=16, report_to=[],
                                      save_strategy="no", disable_tqdm=True, optim="adamw_torch_fused", logging_strategy="no")
        NotingTrainer(model=BertForTokenClassification(config), args=arguments, train_dataset=Names(), ledger=Ledger()).train()


if __name__ == "__main__":
    main()
