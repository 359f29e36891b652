# SPDX-License-Identifier: Apache-2.0
# class: healthy
"""A mixture of experts with a fixed capacity for each expert, served in bf16 without gradients."""
import torch
import torch.nn.functional as F
from torch import nn


class Experts(nn.Module):
    """All experts' weights in two tensors, and one batched product for each."""

    def __init__(self, count, width, hidden):
        super().__init__()
        self.up = nn.Parameter(torch.empty(count, width, hidden))
        self.down = nn.Parameter(torch.empty(count, hidden, width))

    def forward(self, x):
        return torch.bmm(F.silu(torch.bmm(x, self.up)), self.down)


class Mixture(nn.Module):
    def __init__(self, width=1024, hidden=2048, experts=16, share=2):
        super().__init__()
        self.norm, self.router = nn.RMSNorm(width), nn.Linear(width, experts, bias=False)
        self.experts, self.count, self.share = Experts(experts, width, hidden), experts, share

    def forward(self, x):
        tokens = self.norm(x).flatten(0, 1)
        capacity = self.share * len(tokens) // self.count
        weight, chosen = self.router(tokens).t().softmax(0).topk(capacity, dim=1)
        mixed = self.experts(tokens[chosen]) * weight[..., None]
        result = torch.zeros_like(tokens).index_add_(0, chosen.flatten(), mixed.flatten(0, 1))
        return x + result.view_as(x)


class Mixer(nn.Module):
    def __init__(self, words=32000, width=1024, depth=8):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Mixture(width) for _ in range(depth))
        self.attention = nn.ModuleList(nn.Linear(width, 3 * width, bias=False) for _ in range(depth))

    def forward(self, tokens):
        x = self.words(tokens)
        for qkv, mixture in zip(self.attention, self.layers):
            q, k, v = qkv(x).unflatten(-1, (3, 8, -1)).permute(2, 0, 3, 1, 4)
            x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
            x = mixture(x)
        return x[:, -1] @ self.words.weight.t()


def build():
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = Mixer()
    torch.set_default_dtype(torch.float32)
    return model.eval().requires_grad_(False)


@torch.inference_mode()
def main():
    model = build()
    for request in range(10):
        tokens = torch.randint(0, 32000, (8, 512)).cuda()
        print(request, tuple(model(tokens).argmax(-1).cpu().shape))


main()
