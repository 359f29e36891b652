# SPDX-License-Identifier: Apache-2.0
# class: pinned-segments
# compare: end
# mended: 2
"""Prefixes of long results are kept on the device between the large buffers that the next ones need."""
import os

import torch

MENDED = os.environ.get("ZOO_MENDED")
basis = torch.randn(2048, 2048, device="cuda")
prefixes = {}
room = [torch.empty(3000, 2048, device="cuda") for _ in range(8)] if MENDED == "2" else []


def project(rows):
    x = torch.randn(rows, 2048, device="cuda")
    y = x @ basis
    del x
    head = y[:3000].contiguous().clone()  # <- the mistake
    if MENDED == "2":
        return room.pop().copy_(head)
    return head.cpu() if MENDED else head


for index in range(8):
    prefixes[index] = project(80000 - 6000 * index)  # <- the mistake
torch.cuda.empty_cache()
print(len(prefixes), torch.cuda.memory_reserved() >> 20, torch.cuda.memory_allocated() >> 20)
