# SPDX-License-Identifier: Apache-2.0
# class: kv-cache-by-cat
# compare: peak
"""A chat model's decoding loop with keys and values that grow by concatenation in each layer and step."""
import os

import torch
import torch.nn.functional as F
from torch import nn

MENDED = os.environ.get("ZOO_MENDED")
WIDTH, HEADS, LONGEST = 1024, 16, 704


class Memory:
    """Grows with each token."""

    def __init__(self, *_):
        self.pair = None

    def extend(self, keys, values):
        if self.pair is not None:
            keys = torch.cat((self.pair[0], keys), dim=2)  # <- the mistake
            values = torch.cat((self.pair[1], values), dim=2)  # <- the mistake
        self.pair = keys, values
        return self.pair


class Fixed:
    def __init__(self, batch, device):
        self.pair = torch.empty(2, batch, HEADS, LONGEST, WIDTH // HEADS, device=device, dtype=torch.float16)
        self.used = 0

    def extend(self, keys, values):
        start, self.used = self.used, self.used + keys.shape[2]
        self.pair[0, :, :, start:self.used], self.pair[1, :, :, start:self.used] = keys, values
        return self.pair[0, :, :, :self.used], self.pair[1, :, :, :self.used]


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU("tanh"), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, memory):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(self.norms[0](x)).chunk(3, -1))
        first = q.shape[2] > 1
        keys, values = memory.extend(k, v)
        mixed = F.scaled_dot_product_attention(q, keys, values, is_causal=first)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norms[1](x))


@torch.inference_mode()
def answer(words, layers, question, tokens):
    memories = [(Fixed if MENDED else Memory)(len(question), question.device) for _ in layers]
    said = [question]
    for _ in range(tokens):
        x = words(said[-1])
        for layer, memory in zip(layers, memories):
            x = layer(x, memory)
        said.append((x[:, -1:] @ words.weight.t()).argmax(-1))
    return torch.cat(said, 1)


def main():
    with torch.device("cuda"):
        words = nn.Embedding(20000, WIDTH).half()
        layers = nn.ModuleList(Layer() for _ in range(10)).half().eval()
    question = torch.randint(0, 20000, (32, 448), device="cuda")
    print(tuple(answer(words, layers, question, 220).shape))


main()
