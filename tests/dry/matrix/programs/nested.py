# SPDX-License-Identifier: Apache-2.0
"""Nested tensors and attention over rows of different lengths."""
import torch

rows = [torch.randn(n, 64, device="cuda") for n in (5, 17, 33)]
nested = torch.nested.nested_tensor(rows, layout=torch.jagged)
out = torch.nn.Linear(64, 64).cuda()(nested)
out.values().sum().backward()
layer = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(64, 4, batch_first=True), 2).cuda().eval()
mask = torch.zeros(3, 33, dtype=torch.bool, device="cuda")
with torch.no_grad():
    layer(torch.randn(3, 33, 64, device="cuda"), src_key_padding_mask=mask)
