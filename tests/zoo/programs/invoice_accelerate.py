# SPDX-License-Identifier: Apache-2.0
# class: gradients-through-forward
# compare: peak
# libs: transformers accelerate
"""Extraction of fields from invoices with Accelerate. The gradients are zeroed, but zeros take as much room."""
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset
from transformers import LayoutLMConfig, LayoutLMForTokenClassification

MENDED = os.environ.get("ZOO_MENDED")


class Invoices(Dataset):
    def __len__(self):
        return 60

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        words = torch.randint(5, 15000, (384,), generator=generator)
        corners = torch.randint(0, 500, (384, 2), generator=generator)
        return {"input_ids": words, "bbox": torch.cat([corners, corners + 100], -1),
                "labels": torch.randint(0, 9, (384,), generator=generator)}


def model():
    config = LayoutLMConfig(vocab_size=15000, hidden_size=1024, num_hidden_layers=12, num_attention_heads=16,
                            intermediate_size=4096, num_labels=9, max_position_embeddings=512)
    return LayoutLMForTokenClassification(config)


def clear(optimizer):
    optimizer.zero_grad(set_to_none=bool(MENDED))  # <- the mistake


def main():
    accelerator = Accelerator(mixed_precision="no")
    network = model().train()
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    network, optimizer, loader = accelerator.prepare(
        network, optimizer, DataLoader(Invoices(), batch_size=10, shuffle=False))
    for number, batch in enumerate(loader):
        labels = batch.pop("labels")
        scores = network(**batch).logits
        loss = F.cross_entropy(scores.flatten(0, 1), labels.flatten())
        accelerator.backward(loss)  # <- the mistake
        optimizer.step()
        clear(optimizer)
        del scores, loss
        accelerator.print("batch", number)


if __name__ == "__main__":
    main()
