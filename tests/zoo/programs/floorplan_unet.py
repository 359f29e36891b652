# SPDX-License-Identifier: Apache-2.0
# class: variable-shapes
# compare: peak
# mended: 2
# libs: segmentation_models_pytorch
"""Segmentation of floor plans in the sizes in which they were scanned."""
import os
import random

MENDED = os.environ.get("ZOO_MENDED")
if MENDED == "2":
    os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"

import segmentation_models_pytorch as smp  # noqa: E402
import torch  # noqa: E402

LARGEST = 768


def plans(count):
    chosen = random.Random(12)
    for _ in range(count):
        height, width = (32 * chosen.randint(9, LARGEST // 32) for _ in range(2))
        if MENDED == "1":  # all on one canvas
            height = width = LARGEST
        yield torch.rand(6, 3, height, width), torch.randint(0, 5, (6, height, width))


def train(model, steps):
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for number, (plan, rooms) in enumerate(plans(steps)):
        plan, rooms = plan.cuda(), rooms.cuda()
        with torch.autocast("cuda", torch.bfloat16):
            loss = criterion(model(plan), rooms)  # <- the mistake
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # <- the mistake
        optimizer.step()
        del loss
        if number % 8 == 0:
            print(number, tuple(plan.shape[-2:]))


if __name__ == "__main__":
    train(smp.Unet("resnet34", encoder_weights=None, classes=5).cuda().train(), 32)
