# SPDX-License-Identifier: Apache-2.0
# class: vocabulary-copies
# mended: 2
"""A loss in HF's style: logits in float32, shifted, contiguous, flattened, each a copy."""
import os

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

MISTAKE, HOW = "ZOO_MENDED" not in os.environ, os.environ.get("ZOO_MENDED")
VOCAB = 64000


class CausalLM(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCAB, width)
        self.layers = nn.ModuleList(nn.GRU(width, width, batch_first=True) for _ in range(2))
        self.lm_head = nn.Linear(width, VOCAB, bias=False)

    def loss_of(self, hidden, labels):
        return nn.functional.cross_entropy(self.lm_head(hidden).float(), labels, reduction="sum")

    def forward(self, input_ids, labels):
        hidden = self.embed_tokens(input_ids)
        for layer in self.layers:
            hidden = layer(hidden)[0]
        if MISTAKE:
            logits = self.lm_head(hidden)  # <- the mistake
            logits = logits.float()  # <- the mistake
            shift_logits = logits[..., :-1, :].contiguous()  # <- the mistake
            shift_labels = labels[..., 1:].contiguous()
            loss = nn.functional.cross_entropy(shift_logits.view(-1, VOCAB), shift_labels.view(-1))  # <- the mistake
            return loss, logits
        hidden, labels = hidden[:, :-1].reshape(-1, hidden.size(-1)), labels[:, 1:].reshape(-1)
        if HOW == "2":
            return self.loss_of(hidden, labels), None
        loss = 0
        for part, label in zip(hidden.chunk(8), labels.chunk(8)):
            loss = loss + checkpoint(self.loss_of, part, label, use_reentrant=False)
        return loss, None


model = CausalLM().cuda().bfloat16()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(4):
    ids = torch.randint(VOCAB, (8, 512), device="cuda")
    loss, logits = model(ids, ids)
    del logits
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    del loss
