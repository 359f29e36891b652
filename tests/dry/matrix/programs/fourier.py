# SPDX-License-Identifier: Apache-2.0
"""cuFFT."""
import torch

x = torch.randn(8, 4096, device="cuda", requires_grad=True)
(torch.fft.irfft(torch.fft.rfft(x)) + torch.fft.fft2(x).real + torch.stft(x, 256, return_complex=True).abs().sum()).sum().backward()
