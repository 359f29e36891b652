# SPDX-License-Identifier: Apache-2.0
"""DataLoader: forked workers, pinned memory."""
import torch

rows = torch.utils.data.TensorDataset(torch.randn(64, 256), torch.randint(0, 10, (64,)))
for x, y in torch.utils.data.DataLoader(rows, batch_size=8, num_workers=2, pin_memory=True, persistent_workers=True):
    out = x.cuda(non_blocking=True).sum() + y.cuda(non_blocking=True).sum()
