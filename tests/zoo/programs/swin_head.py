# SPDX-License-Identifier: Apache-2.0
# class: frozen-gradients
# compare: peak
# libs: timm
"""A linear probe on a Swin transformer: only the head's parameters are given to the optimizer."""
import os

import timm
import torch
import torch.nn.functional as F

MENDED = os.environ.get("ZOO_MENDED")


class Probe:
    def __init__(self, classes=30):
        self.backbone = timm.create_model("swin_base_patch4_window7_224", pretrained=False, num_classes=0).cuda().train()
        if MENDED:
            self.backbone.requires_grad_(False)
        self.head = torch.nn.Linear(self.backbone.num_features, classes, device="cuda")
        self.optimizer = torch.optim.AdamW(self.head.parameters(), lr=1e-3, fused=True)

    def step(self, images, labels):
        features = self.backbone(images)
        loss = F.cross_entropy(self.head(features), labels, label_smoothing=0.1)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # <- the mistake
        self.optimizer.step()

    def train(self, epochs=2, batches=4, batch=4):
        for epoch in range(epochs):
            for _ in range(batches):
                images = torch.randn(batch, 3, 224, 224).cuda(non_blocking=True)
                labels = torch.randint(0, 30, (batch,)).cuda(non_blocking=True)
                self.step(images, labels)
            print("epoch", epoch, "done")


def trainable(module):
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


if __name__ == "__main__":
    torch.manual_seed(0)
    probe = Probe()
    probe.train()
    print(trainable(probe.head), "trained parameters")
