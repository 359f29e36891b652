# SPDX-License-Identifier: Apache-2.0
# gmdry: --data ones
"""Sparse gradients of an embedding, with SparseAdam."""
import torch

table = torch.nn.Embedding(10000, 64, sparse=True).cuda()
bag = torch.nn.EmbeddingBag(1000, 64, mode="mean").cuda()
optimizer = torch.optim.SparseAdam(table.parameters())
for _ in range(3):
    ids = torch.randint(0, 10000, (256,), device="cuda")
    (table(ids).sum() + bag(ids % 1000, torch.arange(0, 256, 8, device="cuda")).sum()).backward()
    optimizer.step()
    optimizer.zero_grad()
