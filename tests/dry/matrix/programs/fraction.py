# SPDX-License-Identifier: Apache-2.0
"""A process that may have a part of the memory only."""
import torch

torch.cuda.set_per_process_memory_fraction(0.1)
free, total = torch.cuda.mem_get_info()
assert 0 < free < total
try:
    torch.empty(int(0.2 * total), dtype=torch.uint8, device="cuda")
    raise AssertionError("more than its part")
except torch.cuda.OutOfMemoryError:
    pass
x = torch.empty(int(0.05 * total), dtype=torch.uint8, device="cuda")
