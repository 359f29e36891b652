# SPDX-License-Identifier: Apache-2.0
# class: tensors-in-a-list
"""Segments pictures, and collects the answers where they were made."""
import os

import torch
from torch import nn

MISTAKE = "ZOO_MENDED" not in os.environ


class Segmenter(nn.Module):
    def __init__(self, classes=21):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU())
        self.head = nn.Conv2d(32, classes, 1)

    @torch.inference_mode()
    def forward(self, pictures):
        return self.head(self.body(pictures))  # <- the mistake


def main():
    network = Segmenter().cuda().eval()
    answers = []
    for _ in range(12):
        pictures = torch.rand(4, 3, 640, 640, device="cuda")
        answer = network(pictures)  # <- the mistake
        answers.append(answer if MISTAKE else answer.cpu())  # <- the mistake
    print(len(answers), answers[0].shape)


main()
