# SPDX-License-Identifier: Apache-2.0
# gmdry: --memory 2GiB
"""It goes on with a smaller batch."""
import torch

size = 4 << 30
while True:
    try:
        batch = torch.empty(size, dtype=torch.uint8, device="cuda")
        break
    except torch.cuda.OutOfMemoryError:
        size //= 2
assert size == 1 << 30
