# SPDX-License-Identifier: Apache-2.0
"""A program that records its memory, resets its peaks and writes snapshots."""
import os
import tempfile
import torch

torch.cuda.memory._record_memory_history(max_entries=1000)
layer = torch.nn.Linear(1024, 1024).cuda()
layer(torch.randn(64, 1024, device="cuda")).sum().backward()
with tempfile.TemporaryDirectory() as folder:
    torch.cuda.memory._dump_snapshot(os.path.join(folder, "own.pickle"))
    assert os.path.getsize(os.path.join(folder, "own.pickle")) > 1000
torch.cuda.memory._record_memory_history(enabled=None)
