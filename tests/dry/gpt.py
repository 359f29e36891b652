# SPDX-License-Identifier: Apache-2.0
"""Trains a small GPT for some steps: what ./dev demo shows gmdry with, and what docs/dry.md has times of. --on says on what:
cuda, cpu, or fake, PyTorch's tensors without data (FakeTensorMode)."""
import argparse
import contextlib
import time

START = time.time()

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__)
for option, default in [("batch", 8), ("context", 256), ("layers", 6), ("width", 384), ("steps", 3)]:
    parser.add_argument("--" + option, type=int, default=default)
parser.add_argument("--on", choices=("cuda", "cpu", "fake"), default="cuda")
given = parser.parse_args()
IMPORTED, VOCABULARY = time.time(), 50304


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, -1, 64).transpose(1, 2)
                   for part in self.qkv(self.norms[0](x)).split(width, 2))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norms[1](x))


class GPT(nn.Module):
    def __init__(self, layers, width, context):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(layers)))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False))

    def forward(self, ids):
        return self.head(self.blocks(self.tokens(ids) + self.places.weight[: ids.shape[1]]))


def train():
    device = "cuda" if given.on == "cuda" else "cpu"  # fake ones of a GPU need a GPU in the backward pass
    with torch.device(device):
        model = GPT(given.layers, given.width, given.context)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(given.steps):
        ids = torch.randint(0, VOCABULARY, (given.batch, given.context + 1), device=device)
        logits = model(ids[:, :-1])
        functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()


def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode()


with fake() if given.on == "fake" else contextlib.nullcontext():
    train()
print(f"import torch {IMPORTED - START:.1f} s, {given.steps} steps {time.time() - IMPORTED:.1f} s")
