# SPDX-License-Identifier: Apache-2.0
# class: pinned-segments
# compare: end
"""Layer by layer a reduced map is kept; they lie in what the large maps left free, and pin their segments."""
import os
import torch

M = "ZOO_MENDED" not in os.environ
kernels = [torch.randn(32, 32, 3, 3, device="cuda", dtype=torch.half) for _ in range(10)]
kept = []
if not M:
    room = list(torch.zeros(4, 10, 6 << 20, dtype=torch.uint8, device="cuda").view(-1, 6 << 20).unbind())


@torch.no_grad()
def request(x):
    maps = []
    for k in kernels:
        x = torch.relu_(torch.nn.functional.conv2d(x, k, padding=1))
        maps.append(x)
        small = x.flatten()[:3 << 20].clone()  # <- the mistake
        if M:
            kept.append(small)
        else:
            room[len(kept)].copy_(small.view(torch.uint8))
            kept.append(None)
        del small
    return sum(m[0, 0, 0, 0].item() for m in maps)


for side in (512, 496, 488, 480):
    request(torch.zeros(6, 32, side, side, device="cuda", dtype=torch.half))
torch.cuda.empty_cache()
