# SPDX-License-Identifier: Apache-2.0
# class: workspaces-per-stream
"""Every thread that answers has its stream, and so its workspace of cuBLAS."""
import os
import threading

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
matrix = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
home = torch.cuda.current_stream()


def answer(turn):
    with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream() if MISTAKE else home):
        for _ in range(3):
            x = torch.randn(64, 4096, device="cuda", dtype=torch.bfloat16)
            y = x @ matrix  # <- the mistake
            del x, y


if MISTAKE:
    for turn in range(12):
        thread = threading.Thread(target=answer, args=(turn,))
        thread.start()
        thread.join()
else:
    for turn in range(12):
        answer(turn)
