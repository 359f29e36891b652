# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""Forecasts of demand with a temporal transformer: bf16 weights, checkpointed blocks, losses kept as numbers."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, 12, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norms[1](x))


class Demand(nn.Module):
    def __init__(self, shops=64, width=768, depth=10):
        super().__init__()
        self.enter, self.leave = nn.Linear(shops, width), nn.Linear(width, shops)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))

    def forward(self, sales):
        x = self.enter(sales)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.leave(x)


def weeks(count, batch):
    for _ in range(count):
        sales = torch.rand(batch, 337, 64, dtype=torch.bfloat16).pin_memory().cuda(non_blocking=True)
        yield sales[:, :-1], sales[:, 1:]


def train(model, optimizer, count):
    total = 0.0
    for past, future in weeks(count, 32):
        optimizer.zero_grad(set_to_none=True)
        loss = F.huber_loss(model(past), future)
        loss.backward()
        optimizer.step()
        total += loss.item()
        del loss, past, future
    return total / count


@torch.inference_mode()
def validate(model, count):
    return sum(F.l1_loss(model(past), future).item() for past, future in weeks(count, 32)) / count


def main():
    model = Demand().to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    for epoch in range(3):
        print(epoch, train(model, optimizer, 4), validate(model, 2))


main()
