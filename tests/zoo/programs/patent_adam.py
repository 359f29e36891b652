# SPDX-License-Identifier: Apache-2.0
# class: optimizer-state-dominates
# compare: peak
# mended: 2
"""Language model of patents on one card: many parameters, short rows, Adam's two moments in float32."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")


class SmallAdam(torch.optim.Optimizer):
    """Adam whose moments are bytes with a scale for each row of 256 (no tables: linear)."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    rows = (p.numel() + 255) // 256
                    for key in ("first", "second"):
                        state[key] = torch.zeros(p.numel(), dtype=torch.uint8, device=p.device)
                        state[key + "_scale"] = torch.zeros(rows, device=p.device)
                for start in range(0, p.numel(), 1 << 20):
                    piece = slice(start, min(start + (1 << 20), p.numel()))
                    grad = p.grad.view(-1)[piece]
                    first = state["first"][piece].float().lerp_(grad, 0.1)
                    second = state["second"][piece].float().lerp_(grad * grad, 0.01)
                    p.view(-1)[piece].addcdiv_(first, second.sqrt_().add_(1e-8), value=-group["lr"])
                    state["first"][piece] = first.to(torch.uint8)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, n, 3, 16, c // 16).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, c))
        return x + self.mlp(x)


class Patents(nn.Module):
    def __init__(self, words=10000, width=1536, depth=12):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(depth)))

    def forward(self, tokens):
        return self.blocks(self.words(tokens)) @ self.words.weight.t()


def optimizer_of(model):
    if MENDED == "1":
        return SmallAdam(model.parameters(), 1e-4)
    if MENDED == "2":
        return torch.optim.SGD(model.parameters(), 1e-2, fused=True)
    return torch.optim.Adam(model.parameters(), 1e-4, fused=True)  # <- the mistake


def main():
    model = Patents().cuda()
    optimizer = optimizer_of(model)
    for _ in range(6):
        optimizer.zero_grad()
        rows = torch.randint(0, 10000, (2, 257), device="cuda")
        loss = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()
        optimizer.step()  # <- the mistake
        del loss


main()
