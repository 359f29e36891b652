# SPDX-License-Identifier: Apache-2.0
# class: stale-reference
"""Restores images with weights in a dictionary; what came out of a step is shown at the end, and stays through the next."""
import os

import torch
import torch.nn.functional as F

MISTAKE = "ZOO_MENDED" not in os.environ
torch.manual_seed(0)
weights = {
    "down": torch.randn(48, 3, 3, 3, device="cuda", requires_grad=True),
    "up": torch.randn(48, 12, 3, 3, device="cuda", requires_grad=True),
    "bias": torch.zeros(48, device="cuda", requires_grad=True),
}


def restore(image):
    hidden = F.conv2d(image, weights["down"], weights["bias"], padding=1).relu()
    return F.pixel_shuffle(F.conv_transpose2d(hidden, weights["up"], padding=1), 2)  # <- the mistake


def sharpness(picture):
    return (picture[..., 1:] - picture[..., :-1]).abs().mean()


for step in range(5):
    noisy = torch.randn(24, 3, 512, 512, device="cuda")
    clean = torch.randn(24, 3, 1024, 1024, device="cuda")
    restored = restore(noisy)  # <- the mistake
    loss = F.l1_loss(restored, clean)
    loss.backward()
    with torch.no_grad():
        for weight in weights.values():
            weight -= 1e-3 * weight.grad
            weight.grad = None
    if MISTAKE or step == 4:
        shown = restored.detach()  # <- the mistake
    del restored, loss
print(sharpness(shown).item())
