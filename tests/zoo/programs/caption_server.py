# SPDX-License-Identifier: Apache-2.0
# class: autocast-weight-casts
# compare: peak
# mended: 2
"""Image captioning as a service: float32 weights, autocast around every request."""
import os

import torch
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")
WIDTH, WORDS, PATCHES = 1536, 12000, 196


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, causal=False):
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, 12, c // 12).permute(2, 0, 3, 1, 4)  # <- the mistake
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, n, c))  # <- the mistake
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))  # <- the mistake


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Linear(3 * 16 * 16, WIDTH)
        self.vision = nn.ModuleList(Block(WIDTH) for _ in range(10))
        self.words = nn.Embedding(WORDS, WIDTH)
        self.text = nn.ModuleList(Block(WIDTH) for _ in range(10))

    def forward(self, patches, caption):
        x = self.patch(patches)
        for block in self.vision:
            x = block(x)
        x = torch.cat([x, self.words(caption)], 1)
        for block in self.text:
            x = block(x, causal=True)
        return x[:, -1] @ self.words.weight.t()


class Service:
    def __init__(self):
        self.model = Captioner().cuda().eval()  # <- the mistake
        if MENDED == "1":
            self.model = self.model.bfloat16()
        self.kind = next(self.model.parameters()).dtype

    @torch.no_grad()
    def caption(self, patches, length=6):
        words = torch.zeros(len(patches), 1, dtype=torch.long, device="cuda")
        for _ in range(length):
            with torch.autocast("cuda", torch.bfloat16, cache_enabled=MENDED != "2"):  # <- the mistake
                scores = self.model(patches.to(self.kind), words)  # <- the mistake
            words = torch.cat([words, scores.argmax(-1, keepdim=True)], 1)
        return words.cpu()


def main():
    service = Service()
    for request in range(8):
        patches = torch.randn(2 + request % 3, PATCHES, 3 * 16 * 16).cuda()
        answer = service.caption(patches)
        print(request, tuple(answer.shape))


main()
