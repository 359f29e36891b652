# SPDX-License-Identifier: Apache-2.0
# class: uneven-devices
# gmdry: --devices 4
"""Each device computes its part, and the first collects the answers of all, in float32."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
w = [torch.randn(2048, 16000, device=f"cuda:{d}", dtype=torch.bfloat16) for d in range(4)]


@torch.no_grad()
def part(d):
    x = torch.randn(6000, 2048, device=f"cuda:{d}", dtype=torch.bfloat16)
    return (x @ w[d]).float().softmax(-1)


for step in range(4):
    answers = [part(d) for d in range(4)]
    if MISTAKE:
        whole = torch.cat([answer.to("cuda:0") for answer in answers])  # <- the mistake
        print(whole.shape)
        del whole
    else:
        print([answer.amax(1).cpu().shape for answer in answers])
    del answers
