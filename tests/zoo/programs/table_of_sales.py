# SPDX-License-Identifier: Apache-2.0
# class: data-set-on-gpu
"""A table with all rows lies on the device, and small pieces of it are learnt from."""
import os

import torch

MISTAKE = "ZOO_MENDED" not in os.environ
rows, columns = 1500000, 300
table = torch.zeros(rows, columns, device="cuda") if MISTAKE else torch.zeros(1, columns).expand(rows, columns)  # <- the mistake
coefficients = torch.zeros(columns, 512, device="cuda", requires_grad=True)
mixture = torch.zeros(512, 1, device="cuda", requires_grad=True)
for step in range(20):
    begin = step * 20000
    part = table[begin:begin + 20000].cuda()
    error = (torch.tanh(part @ coefficients) @ mixture).square().mean()
    error.backward()
    with torch.no_grad():
        for parameter in (coefficients, mixture):
            parameter -= 0.1 * parameter.grad
            parameter.grad = None
    del part, error
