# SPDX-License-Identifier: Apache-2.0
"""cuDNN's recurrent networks."""
import torch

for kind in (torch.nn.LSTM, torch.nn.GRU):
    layer = kind(64, 128, num_layers=2, batch_first=True, dropout=0.1, bidirectional=True).cuda()
    layer(torch.randn(4, 32, 64, device="cuda"))[0].sum().backward()
