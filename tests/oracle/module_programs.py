# SPDX-License-Identifier: Apache-2.0
"""Programs whose modules call each other in the ways that people write: lists in loops of one and of several lines,
Sequential in Sequential, statements over several lines, checkpoints, shared layers, what only the first call makes."""
ALL = {}


def program(function):
    ALL[function.__name__] = function
    return function


def train(torch, net, make, steps=3):
    net = net.cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    for _ in range(steps):
        loss = net(make()).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return net


@program
def decoder_of_many_lines(torch, _, __):
    """As large libraries write it."""
    from torch import nn
    from torch.nn import functional as F

    class Norm(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(d))

        def forward(self, x):
            kind = x.dtype
            x = x.float()
            spread = x.pow(2).mean(-1, keepdim=True)
            x = x * torch.rsqrt(spread + 1e-6)
            return self.weight * x.to(kind)

    class Gated(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.gate, self.up, self.down = nn.Linear(d, 3 * d), nn.Linear(d, 3 * d), nn.Linear(3 * d, d)

        def forward(self, x):
            return self.down(
                F.silu(self.gate(x))
                * self.up(x)
            )

    class Attention(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

        def forward(self, x, mask):
            b, t, d = x.shape
            q = self.q(x).view(b, t, 4, -1).transpose(1, 2)
            k = self.k(x).view(b, t, 4, -1).transpose(1, 2)
            v = self.v(x).view(b, t, 4, -1).transpose(1, 2)
            weights = q @ k.transpose(2, 3) + mask
            weights = F.softmax(
                weights,
                dim=-1,
            )
            return self.o((weights @ v).transpose(1, 2).reshape(b, t, d))

    class Layer(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.before, self.attention, self.after, self.mlp = Norm(d), Attention(d), Norm(d), Gated(d)

        def forward(self, x, mask):
            kept = x
            x = self.before(x)
            x = self.attention(
                x,
                mask,
            )
            x = kept + x
            kept = x
            x = self.after(x)
            x = self.mlp(x)
            x = kept + x
            return x

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.layers, self.norm = nn.Embedding(500, 128), nn.ModuleList(Layer(128) for _ in range(5)), Norm(128)
            self.head, self.mask = nn.Linear(128, 500, bias=False), None

        def forward(self, ids):
            x = self.tokens(ids)
            if self.mask is None:  # the first call only
                self.mask = torch.triu(torch.full((64, 64), -1e9, device=x.device), 1)
            seen = ()
            for layer in self.layers:
                seen += (x,)
                x = layer(
                    x,
                    self.mask,
                )
            return self.head(self.norm(x))

    return train(torch, Model(), lambda: torch.randint(0, 500, (4, 64), device="cuda"))


@program
def loop_of_two_lines(torch, _, __):
    from torch import nn

    class Step(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.one, self.two = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

        def forward(self, x):
            x = self.one(x)
            x = x.relu()
            return self.two(x)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(64, 128)
            self.mixers = nn.ModuleList(Step(128) for _ in range(6))
            self.steps = nn.ModuleList(Step(128) for _ in range(6))

        def forward(self, x):
            x = self.first(x)
            for mixer, step in zip(self.mixers, self.steps):
                x = x + mixer(x)
                x = x + step(x)
            return x

    return train(torch, Model(), lambda: torch.randn(256, 64, device="cuda"))


@program
def stages_of_sequentials(torch, _, __):
    from torch import nn

    class Residual(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)
            self.n, self.m = nn.BatchNorm2d(c), nn.BatchNorm2d(c)

        def forward(self, x):
            y = self.a(x)
            y = self.n(y).relu()
            y = self.b(y)
            y = self.m(y)
            return (x + y).relu()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, 16, 3, padding=1)
            self.stage1 = nn.Sequential(*(Residual(16) for _ in range(3)))
            self.widen = nn.Conv2d(16, 32, 3, stride=2, padding=1)
            self.stage2 = nn.Sequential(*(Residual(32) for _ in range(4)))
            self.head = nn.Linear(32, 10)

        def forward(self, x):
            x = self.stem(x)
            x = self.stage1(x)
            x = self.widen(x)
            x = self.stage2(x)
            return self.head(x.mean((2, 3)))

    return train(torch, Net(), lambda: torch.randn(8, 3, 32, 32, device="cuda"))


@program
def plain_linears(torch, _, __):
    from torch import nn
    parts = []
    for _ in range(6):
        parts += [nn.Linear(256, 256), nn.GELU()]
    return train(torch, nn.Sequential(*parts), lambda: torch.randn(512, 256, device="cuda"))


@program
def checkpointed_blocks(torch, _, __):
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Block(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.norm, self.up, self.down = nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

        def forward(self, x):
            y = self.norm(x)
            y = self.up(y)
            y = torch.nn.functional.gelu(y)
            return x + self.down(y)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(Block(128) for _ in range(6))

        def forward(self, x):
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False)
            return x

    return train(torch, Model(), lambda: torch.randn(4, 64, 128, device="cuda", requires_grad=True))


@program
def torch_transformer(torch, _, __):
    from torch import nn
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    return train(torch, nn.TransformerEncoder(layer, 5), lambda: torch.randn(4, 64, 128, device="cuda"))


@program
def helpers_between(torch, _, __):
    """Modules are called by methods and functions of their own."""
    from torch import nn

    def apply(module, x):
        return module(x)

    class Layer(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.parts = nn.ModuleDict({"up": nn.Linear(d, 2 * d), "down": nn.Linear(2 * d, d)})
            self.norm = nn.LayerNorm(d)

        def mix(self, x):
            x = apply(self.parts["up"], x)
            x = x.tanh()
            return apply(self.parts["down"], x)

        def forward(self, x):
            return x + self.mix(self.norm(x))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(Layer(96) for _ in range(7))

        def run(self, x):
            for i, layer in enumerate(self.layers):
                x = apply(layer, x) if i % 2 else layer(x)
            return x

        def forward(self, x):
            return self.run(x)

    return train(torch, Model(), lambda: torch.randn(300, 96, device="cuda"))


@program
def experts(torch, _, __):
    from torch import nn

    class Expert(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

        def forward(self, x):
            return self.down(torch.relu(self.up(x)))

    class Mixture(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.gate, self.experts = nn.Linear(d, 4), nn.ModuleList(Expert(d) for _ in range(4))

        def forward(self, x):
            shares = self.gate(x).softmax(-1)
            out = torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                out = out + shares[..., i:i + 1] * expert(x)
            return out

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(Mixture(64) for _ in range(3))

        def forward(self, x):
            for layer in self.layers:
                x = x + layer(x)
            return x

    return train(torch, Model(), lambda: torch.randn(256, 64, device="cuda"))
