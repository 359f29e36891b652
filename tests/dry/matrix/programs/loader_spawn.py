# SPDX-License-Identifier: Apache-2.0
"""DataLoader: workers that are spawned."""
import torch

rows = torch.utils.data.TensorDataset(torch.randn(64, 256))
if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(rows, batch_size=8, num_workers=2, pin_memory=True, multiprocessing_context="spawn")
    for (x,) in loader:
        out = x.cuda(non_blocking=True).sum()
