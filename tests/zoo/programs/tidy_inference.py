# SPDX-License-Identifier: Apache-2.0
# class: empty-cache-in-loop
# compare: none
"""Serves requests, each followed by gc.collect() and empty_cache()."""
import gc

import torch


def tidy():
    gc.collect()
    torch.cuda.empty_cache()  # <- the mistake


matrices = [torch.randn(3000, 3000, device="cuda", dtype=torch.bfloat16) for _ in range(6)]
with torch.inference_mode():
    for request in range(25):
        x = torch.randn(4000, 3000, device="cuda", dtype=torch.bfloat16)
        for matrix in matrices:
            x = torch.nn.functional.gelu(x @ matrix)
        answer = x.float().softmax(-1).amax(-1).cpu()
        del x
        tidy()
