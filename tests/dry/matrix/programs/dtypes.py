# SPDX-License-Identifier: Apache-2.0
"""Products of 8-bit floats and integers, of doubles, of complex numbers."""
import torch

x = torch.randn(64, 64, device="cuda")
if torch.cuda.get_device_capability() >= (8, 9):
    one = torch.ones((), device="cuda")
    a, b = x.to(torch.float8_e4m3fn), x.to(torch.float8_e4m3fn).T
    torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
torch._int_mm(x.to(torch.int8), x.to(torch.int8))
x.double() @ x.double()
x.to(torch.complex64) @ x.to(torch.complex64)
torch.bmm(x.half()[None], x.half()[None])
