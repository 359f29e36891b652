# SPDX-License-Identifier: Apache-2.0
# gmdry: --memory 2GiB
# verdict: OOM
"""It asks until there is no more."""
import torch

held = []
while True:
    held.append(torch.empty(100 << 20, dtype=torch.uint8, device="cuda"))
