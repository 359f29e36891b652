# SPDX-License-Identifier: Apache-2.0
# class: pending-on-streams
# gmdry: --events sync
"""Results are copied to the host on a second stream; record_stream keeps each from being used again."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
copier = torch.cuda.Stream()
w = torch.randn(4096, 4096, device="cuda")
host = torch.empty(8192, 4096)


def send(result):
    copier.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(copier):
        host.copy_(result, non_blocking=True)
    if MISTAKE:
        result.record_stream(copier)  # <- the mistake
    else:
        torch.cuda.current_stream().wait_stream(copier)


for i in range(10):
    x = torch.tanh(torch.randn(8192, 4096, device="cuda") @ w)  # <- the mistake
    send(x)
    del x
torch.cuda.synchronize()
