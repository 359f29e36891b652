# SPDX-License-Identifier: Apache-2.0
# needs: triton
# since: 2.5
"""FlexAttention with a block mask, not compiled and compiled."""
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256, device="cuda")
q, k, v = (torch.randn(1, 4, 256, 64, device="cuda", requires_grad=True) for _ in range(3))
flex_attention(q, k, v, block_mask=mask).sum().backward()
torch.compile(flex_attention)(q, k, v, block_mask=mask).sum().backward()
