# SPDX-License-Identifier: Apache-2.0
"""Programs whose memory is known: each gets torch and a Truth (truth.py), and `begin`, to be called where recording
may begin late. What they return is held to the end. They are written as people write programs: in functions, classes,
loops; with and without autocast, checkpointing, adapters."""
import math
from contextlib import nullcontext

from truth import rounds

ALL = {}


def program(function):
    ALL[function.__name__] = function
    return function


def backward(truth, loss, **more):
    truth.phase("backward")
    loss.backward(**more)
    truth.phase("forward")


def blocks(torch):
    """A GPT's parts, made late since torch is."""
    from torch import nn
    from torch.nn import functional as F

    class Mix(nn.Module):
        def __init__(self, d, heads):
            super().__init__()
            self.heads, self.qkv, self.out = heads, nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.one, self.two = nn.LayerNorm(d), nn.LayerNorm(d)
            self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

        def forward(self, x, cache=None):
            b, t, d = x.shape
            q, k, v = (p.view(b, t, self.heads, -1).transpose(1, 2) for p in self.qkv(self.one(x)).chunk(3, -1))
            if cache is not None:
                k, v = cache(k, v)
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=t > 1).transpose(1, 2).reshape(b, t, d))
            return x + self.down(F.gelu(self.up(self.two(x))))

    class Small(nn.Module):
        def __init__(self, vocabulary=4000, d=256, layers=4, heads=4, length=256, tied=False):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, d), nn.Embedding(length, d)
            self.layers = nn.ModuleList(Mix(d, heads) for _ in range(layers))
            self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocabulary, bias=False)
            if tied:
                self.head.weight = self.tokens.weight

        def forward(self, ids, run=None):
            x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
            for layer in self.layers:
                x = layer(x) if run is None else run(layer, x)
            return self.head(self.norm(x))

    return Mix, Small


def ids_of(torch, batch=8, length=128, vocabulary=4000):
    return torch.randint(0, vocabulary, (batch, length), device="cuda")


def loss_of(torch, logits, ids):
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten())


@program
def mlp_plain(torch, truth, begin):
    from torch import nn
    net = nn.Sequential(nn.Linear(784, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 10)).cuda()
    truth.watch(net)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in rounds(6, begin, 3):
        x, y = torch.randn(256, 784, device="cuda"), torch.randint(0, 10, (256,), device="cuda")
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        backward(truth, loss)
        optimizer.step()
    return net, optimizer


@program
def gpt_adamw(torch, truth, begin):
    model = blocks(torch)[1]().to("cuda")
    truth.watch(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in rounds(6, begin, 3):
        ids = ids_of(torch)
        loss = loss_of(torch, model(ids), ids)
        backward(truth, loss)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return model, optimizer


@program
def gpt_autocast_fused(torch, truth, begin):
    with torch.device("cuda"):
        model = blocks(torch)[1](d=384)
    truth.watch(model)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for number in rounds(5, begin, 2):
        ids = ids_of(torch, 4, 200)
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_of(torch, model(ids), ids)
        optimizer.zero_grad()
        backward(truth, loss)
        optimizer.step()
    return model, optimizer


@program
def scaler_foreach(torch, truth, begin):
    model = blocks(torch)[1](layers=3).cuda()
    truth.watch(model)
    optimizer, scaler = torch.optim.AdamW(model.parameters(), foreach=True), torch.amp.GradScaler("cuda")
    for _ in rounds(6, begin, 3):
        ids = ids_of(torch)
        with torch.autocast("cuda", torch.float16):
            loss = loss_of(torch, model(ids), ids)
        backward(truth, scaler.scale(loss))
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return model, optimizer


@program
def loop_adam_amsgrad(torch, truth, begin):
    model = blocks(torch)[1](layers=2).cuda()
    truth.watch(model)
    optimizer = torch.optim.Adam(model.parameters(), foreach=False, amsgrad=True)
    for _ in rounds(5, begin, 2):
        ids = ids_of(torch, 4)
        backward(truth, loss_of(torch, model(ids), ids))
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


@program
def sgd_momentum(torch, truth, begin):
    from torch import nn
    layers = []
    for _ in range(6):
        layers += [nn.Linear(1024, 1024), nn.BatchNorm1d(1024), nn.ReLU()]
    net = nn.Sequential(*layers, nn.Linear(1024, 100)).to("cuda")
    truth.watch(net)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    for epoch in range(2):
        for _ in range(4):
            if epoch == 1 and _ == 0:
                begin()
            out = net(torch.randn(512, 1024, device="cuda"))
            sgd.zero_grad()
            backward(truth, nn.functional.cross_entropy(out, torch.randint(0, 100, (512,), device="cuda")))
            sgd.step()
    return net, sgd


@program
def accumulation(torch, truth, begin):
    model = blocks(torch)[1]().cuda()
    truth.watch(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in rounds(4, begin, 2):
        for _ in range(4):
            ids = ids_of(torch, 2, 128)
            backward(truth, loss_of(torch, model(ids), ids) / 4)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


@program
def checkpointed(torch, truth, begin):
    from torch.utils.checkpoint import checkpoint
    model = blocks(torch)[1](layers=6).cuda()
    truth.watch(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in rounds(4, begin, 2):
        ids = ids_of(torch, 16, 200)
        logits = model(ids, run=lambda layer, x: checkpoint(layer, x, use_reentrant=False))
        backward(truth, loss_of(torch, logits, ids))
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


@program
def adapters_on_frozen(torch, truth, begin):
    from torch import nn

    class Adapted(nn.Module):
        def __init__(self, base, rank=8):
            super().__init__()
            self.base = base
            self.a = nn.Parameter(torch.randn(rank, base.in_features, device="cuda") * 0.01)
            self.b = nn.Parameter(torch.zeros(base.out_features, rank, device="cuda"))

        def forward(self, x):
            return self.base(x) + x @ self.a.t() @ self.b.t()

    model = blocks(torch)[1](d=512).cuda().requires_grad_(False)
    for layer in model.layers:
        layer.qkv, layer.up = Adapted(layer.qkv), Adapted(layer.up)
    truth.watch(model)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    for _ in rounds(5, begin, 2):
        ids = ids_of(torch, 4)
        backward(truth, loss_of(torch, model(ids), ids))
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


@program
def ema_copy(torch, truth, begin):
    import copy
    model = blocks(torch)[1]().cuda()
    average = copy.deepcopy(model).requires_grad_(False)
    truth.watch(model, average)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in rounds(5, begin, 2):
        ids = ids_of(torch)
        backward(truth, loss_of(torch, model(ids), ids))
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), model.parameters()):
                slow.lerp_(fast, 0.1)
    return model, average, optimizer


@program
def tied(torch, truth, begin):
    model = blocks(torch)[1](vocabulary=16000, tied=True).cuda()
    truth.watch(model)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.1)
    for _ in rounds(5, begin, 3):
        ids = ids_of(torch, 4, vocabulary=16000)
        backward(truth, loss_of(torch, model(ids), ids))
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


@program
def flat_buffers(torch, truth, begin):
    model = blocks(torch)[1]().cuda()
    sizes = [p.numel() for p in model.parameters()]
    flat, gradients = (torch.zeros(sum(sizes), device="cuda") for _ in range(2))
    at = 0
    for p in model.parameters():
        flat[at:at + p.numel()].copy_(p.data.flatten())
        p.data = flat[at:at + p.numel()].view_as(p)
        p.grad = gradients[at:at + p.numel()].view_as(p)
        at += p.numel()
    truth.watch(model)
    master = torch.nn.Parameter(flat)
    optimizer = torch.optim.AdamW([master])
    for _ in rounds(5, begin, 3):
        ids = ids_of(torch)
        backward(truth, loss_of(torch, model(ids), ids))
        master.grad = gradients
        optimizer.step()
        gradients.zero_()
    return model, optimizer


@program
def zeros_kept(torch, truth, begin):
    model = blocks(torch)[1]().cuda()
    truth.watch(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in rounds(5, begin, 3):
        ids = ids_of(torch)
        optimizer.zero_grad(set_to_none=False)
        backward(truth, loss_of(torch, model(ids), ids))
        optimizer.step()
    return model, optimizer


@program
def inference_growing(torch, truth, begin):
    model = blocks(torch)[1](length=2048).cuda().eval()
    truth.watch(model)

    class Cache:
        def __init__(self):
            self.k = self.v = None

        def update(self, k, v):
            self.k = k if self.k is None else torch.cat([self.k, k], 2)
            self.v = v if self.v is None else torch.cat([self.v, v], 2)
            truth.note(self.k, "KV cache")
            truth.note(self.v, "KV cache")
            return self.k, self.v

    with torch.no_grad():
        caches = [Cache() for _ in model.layers]
        ids = ids_of(torch, 16, 256)
        for token in rounds(24, begin, 12):
            x = model.tokens(ids)
            for layer, cache in zip(model.layers, caches):
                x = layer(x, cache.update)
            ids = model.head(model.norm(x[:, -1:])).argmax(-1)
            truth.step()
    return model, caches


@program
def inference_static(torch, truth, begin):
    model = blocks(torch)[1]().cuda().half().eval()
    truth.watch(model)
    store = [torch.zeros(2, 8, 4, 512, 64, device="cuda", dtype=torch.float16) for _ in model.layers]
    for cache in store:
        truth.note(cache, "KV cache")

    @torch.inference_mode()
    def token(ids, at):
        x = model.tokens(ids)
        for layer, cache in zip(model.layers, store):
            def keep(k, v, cache=cache):
                cache[0, :, :, at:at + k.shape[2]] = k
                cache[1, :, :, at:at + k.shape[2]] = v
                return cache[0], cache[1]
            x = layer(x, keep)
        return model.head(model.norm(x[:, -1:])).argmax(-1)

    ids = token(ids_of(torch, 8, 128), 0)
    for i in rounds(20, begin, 10):
        ids = token(ids, 128 + i)
        truth.step()
    return model, store


@program
def optimizer_late(torch, truth, begin):
    model = blocks(torch)[1]().cuda()
    truth.watch(model)
    optimizer = None
    for i in rounds(6, begin, 4):
        ids = ids_of(torch)
        loss = loss_of(torch, model(ids), ids)
        if i < 2:
            continue
        if optimizer is None:
            optimizer = torch.optim.AdamW(model.parameters())
        backward(truth, loss)
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


@program
def ends_in_the_middle(torch, truth, begin):
    model = blocks(torch)[1]().cuda()
    truth.watch(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for i in rounds(4, begin, 2):
        ids = ids_of(torch, 8 * (1 + i))
        loss = loss_of(torch, model(ids), ids)
        if i == 3:
            return model, optimizer, loss
        backward(truth, loss)
        optimizer.step()
        optimizer.zero_grad()
    return None


@program
def evaluates_between(torch, truth, begin):
    model = blocks(torch)[1]().cuda()
    truth.watch(model)
    optimizer = torch.optim.AdamW(model.parameters())

    def evaluate():
        model.eval()
        with torch.no_grad():
            for _ in range(3):
                ids = ids_of(torch, 32)
                loss_of(torch, model(ids), ids)
        model.train()

    for i in rounds(8, begin, 4):
        ids = ids_of(torch)
        backward(truth, loss_of(torch, model(ids), ids))
        optimizer.step()
        optimizer.zero_grad()
        if i % 3 == 2:
            evaluate()
    return model, optimizer


@program
def two_players(torch, truth, begin):
    from torch import nn
    g = nn.Sequential(nn.Linear(128, 1024), nn.ReLU(), nn.Linear(1024, 3072)).cuda()
    d = nn.Sequential(nn.Linear(3072, 1024), nn.LeakyReLU(0.2), nn.Linear(1024, 1)).cuda()
    truth.watch(g, d)
    og, od = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
    bce, one, zero = nn.BCEWithLogitsLoss(), torch.ones(256, 1, device="cuda"), torch.zeros(256, 1, device="cuda")
    for _ in rounds(5, begin, 2):
        real, noise = torch.randn(256, 3072, device="cuda"), torch.randn(256, 128, device="cuda")
        made = g(noise)
        od.zero_grad()
        backward(truth, bce(d(real), one) + bce(d(made.detach()), zero))
        od.step()
        og.zero_grad()
        backward(truth, bce(d(made), one))
        og.step()
    truth.steps = truth.steps[1::2]
    return g, d, og, od, one, zero


@program
def twice_backward(torch, truth, begin):
    model = blocks(torch)[1](layers=2).cuda()
    truth.watch(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in rounds(4, begin, 2):
        ids = ids_of(torch)
        loss = loss_of(torch, model(ids), ids)
        backward(truth, loss, retain_graph=True)
        backward(truth, loss * 0.5)
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


@program
def recurrent(torch, truth, begin):
    from torch import nn
    embed, rnn, head = nn.Embedding(2000, 256).cuda(), nn.LSTMCell(256, 512).cuda(), nn.Linear(512, 2000).cuda()
    truth.watch(embed, rnn, head)
    everything = [*embed.parameters(), *rnn.parameters(), *head.parameters()]
    optimizer = torch.optim.RMSprop(everything, momentum=0.9)
    for _ in rounds(4, begin, 2):
        ids = ids_of(torch, 32, 40, 2000)
        h = c = torch.zeros(32, 512, device="cuda")
        total = 0
        for t in range(39):
            h, c = rnn(embed(ids[:, t]), (h, c))
            total = total + nn.functional.cross_entropy(head(h), ids[:, t + 1])
        optimizer.zero_grad()
        backward(truth, total / 39)
        optimizer.step()
    return embed, rnn, head, optimizer


@program
def convolutions(torch, truth, begin):
    from torch import nn
    net = nn.Sequential(*[nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.BatchNorm2d(b), nn.SiLU())
                          for a, b in ((3, 64), (64, 128), (128, 256), (256, 512))],
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)).cuda()
    truth.watch(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in rounds(5, begin, 2):
        x, y = torch.randn(16, 3, 64, 64), torch.randint(0, 1000, (16,))
        x, y = x.cuda(non_blocking=True), y.cuda()
        out = net(x)
        loss = nn.functional.cross_entropy(out, y)
        optimizer.zero_grad()
        backward(truth, loss)
        optimizer.step()
    return net, optimizer


@program
def own_optimizer(torch, truth, begin):
    """Weights in a dictionary, an optimizer by hand that makes new tensors."""
    sizes = [(512, 2048), (2048, 2048), (2048, 512)]
    weights = {i: torch.randn(*s, device="cuda").requires_grad_() for i, s in enumerate(sizes)}
    speed = {i: torch.zeros_like(w) for i, w in weights.items()}
    for _ in rounds(6, begin, 3):
        x = torch.randn(256, 512, device="cuda")
        for w in weights.values():
            x = torch.tanh(x @ w)
        backward(truth, x.square().mean())
        for w in weights.values():
            truth.note(w, "Parameter")
            truth.note(w.grad, "Gradient")
        truth.phase("optimizer")
        with torch.no_grad():
            for k, w in weights.items():
                speed[k].mul_(0.9).add_(w.grad)
                w -= 0.01 * speed[k]
                w.grad = None
        truth.phase("forward")
        for s in speed.values():
            truth.note(s, "Optimizer state")
        truth.step()
    return weights, speed


@program
def factored(torch, truth, begin):
    model = blocks(torch)[1]().cuda()
    truth.watch(model)
    if not hasattr(torch.optim, "Adafactor"):
        return None
    optimizer = torch.optim.Adafactor(model.parameters())
    for _ in rounds(5, begin, 2):
        ids = ids_of(torch)
        backward(truth, loss_of(torch, model(ids), ids))
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


@program
def step_in_backward(torch, truth, begin):
    """The optimizer of each parameter runs as soon as its gradient is there."""
    model = blocks(torch)[1]().cuda()
    truth.watch(model)
    own = {p: torch.optim.SGD([p], lr=0.1, momentum=0.9) for p in model.parameters()}

    def now(p):
        own[p].step()
        own[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(now)
    rounds = []
    for _ in rounds(5, begin, 2):
        ids = ids_of(torch)
        loss_of(torch, model(ids), ids).backward()
        rounds.append(len(truth.steps) - 1)
    truth.steps = [truth.steps[i] for i in rounds]
    truth.phases = []
    return model, own


@program
def half_with_masters(torch, truth, begin):
    model = blocks(torch)[1](d=384).cuda().bfloat16()
    truth.watch(model)
    masters = [p.detach().float().requires_grad_() for p in model.parameters()]
    optimizer = torch.optim.AdamW(masters)
    for m in masters:
        truth.note(m, "Optimizer state")
    for _ in rounds(5, begin, 2):
        ids = ids_of(torch)
        backward(truth, loss_of(torch, model(ids).float(), ids))
        for m, p in zip(masters, model.parameters()):
            m.grad, p.grad = p.grad.float(), None
            truth.note(m.grad, "Gradient")
        optimizer.step()
        for m, p in zip(masters, model.parameters()):
            m.grad = None
            p.data.copy_(m.data)
            truth.note(m, "Optimizer state")
    return model, masters, optimizer


@program
def longer_and_longer(torch, truth, begin):
    class Loop:
        def __init__(self, size):
            self.net = blocks(torch)[1](d=size).to(torch.device("cuda"))
            self.opt = torch.optim.NAdam(self.net.parameters())

        def turn(self, length):
            ids = ids_of(torch, 4, length)
            self.opt.zero_grad()
            backward(truth, loss_of(torch, self.net(ids), ids))
            self.opt.step()

    loop = Loop(320)
    truth.watch(loop.net)
    for i, length in enumerate((32, 64, 128, 200, 256, 100)):
        if i == 3:
            begin()
        loop.turn(length)
    return loop


@program
def frozen_teacher(torch, truth, begin):
    teacher = blocks(torch)[1](d=512, layers=4).cuda().eval().requires_grad_(False)
    student = blocks(torch)[1](d=128, layers=2).cuda()
    truth.watch(teacher, student)
    optimizer = torch.optim.AdamW(student.parameters())
    for _ in rounds(5, begin, 2):
        ids = ids_of(torch)
        with torch.no_grad():
            target = teacher(ids).softmax(-1)
        guess = student(ids).log_softmax(-1)
        loss = -(target * guess).sum(-1).mean()
        optimizer.zero_grad()
        backward(truth, loss)
        optimizer.step()
    return teacher, student, optimizer


@program
def memory_runs_out(torch, truth, begin):
    model = blocks(torch)[1]().cuda()
    truth.watch(model)
    optimizer = torch.optim.AdamW(model.parameters())
    held = []
    for i in rounds(100, begin, 2):
        ids = ids_of(torch, 8 << min(i, 12), 128)
        loss = loss_of(torch, model(ids), ids)
        backward(truth, loss)
        optimizer.step()
        optimizer.zero_grad()
        held.append(math.pi)
    return model, optimizer


@program
def a_list_of_losses(torch, truth, begin):
    """A leak, as people write it: the losses hold the graphs."""
    from torch import nn
    net = nn.Sequential(nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 1)).cuda()
    truth.watch(net)
    optimizer, losses = torch.optim.AdamW(net.parameters()), []
    for _ in rounds(8, begin, 4):
        with nullcontext():
            loss = net(torch.randn(1024, 512, device="cuda")).square().mean()
        losses.append(net(torch.randn(256, 512, device="cuda")).mean())
        optimizer.zero_grad()
        backward(truth, loss)
        optimizer.step()
    return net, optimizer, losses


@program
def answers_of_pairs(torch, truth, begin):
    """Several requests, one after the other; past keys and values as tuples that forward gives back."""
    from torch import nn

    class Layer(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
            self.mlp = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

        def forward(self, x, past=None):
            q, k, v = self.q(x), self.k(x), self.v(x)
            if past is not None:
                k, v = torch.cat((past[0], k), dim=1), torch.cat((past[1], v), dim=1)
            x = x + self.o((q @ k.transpose(1, 2) / 16).softmax(-1) @ v)
            return x + self.mlp(x), (k, v)

    class Stack(nn.Module):
        def __init__(self, d=384, n=6):
            super().__init__()
            self.inner, self.embed = nn.ModuleList(Layer(d) for _ in range(n)), nn.Embedding(3000, d)

        def forward(self, ids, past):
            x, now = self.embed(ids), []
            for layer, old in zip(self.inner, past or [None] * len(self.inner)):
                x, kept = layer(x, old)
                now.append(kept)
            return x[:, -1] @ self.embed.weight.t(), now

    stack = Stack().to("cuda", torch.bfloat16)
    truth.watch(stack)
    past = None
    with torch.inference_mode():
        for request in range(3):
            past, ids = None, ids_of(torch, 8, 100 + 60 * request, 3000)
            for token in range(16):
                if request == 1 and token == 0:
                    begin()
                logits, past = stack(ids, past)
                ids = logits.argmax(-1, keepdim=True)
                for pair in past:
                    truth.note(pair[0], "KV cache")
                    truth.note(pair[1], "KV cache")
                truth.step()
    return stack, past


@program
def slots_for_keys(torch, truth, begin):
    """Two big tensors for all layers, written by index; half precision; many requests."""
    model = blocks(torch)[1](layers=6).half().cuda().eval()
    truth.watch(model)
    keys = torch.zeros(6, 16, 4, 384, 64, dtype=torch.half, device="cuda")
    values = torch.zeros_like(keys)
    truth.note(keys, "KV cache")
    truth.note(values, "KV cache")
    with torch.no_grad():
        for request in range(3):
            ids, at = ids_of(torch, 16, 64), 0
            if request == 1:
                begin()
            for _ in range(10):
                x = model.tokens(ids)
                for n, layer in enumerate(model.layers):
                    def store(k, v, n=n):
                        keys[n, :, :, at:at + k.shape[2]] = k
                        values[n, :, :, at:at + k.shape[2]] = v
                        return keys[n, :, :, :at + k.shape[2]], values[n, :, :, :at + k.shape[2]]
                    x = layer(x, store)
                at += ids.shape[1]
                ids = model.head(model.norm(x[:, -1:])).argmax(-1)
                truth.step()
    return model, keys, values


@program
def copies_in_float(torch, truth, begin):
    """Half-precision weights; an optimizer over float copies, gradients copied before each step."""
    from torch import nn

    class Copies:
        def __init__(self, net):
            self.pairs = [(p, nn.Parameter(p.detach().clone().float())) for p in net.parameters()]
            self.inner = torch.optim.AdamW([m for _, m in self.pairs])
            self.mark()

        def mark(self):
            for _, m in self.pairs:
                truth.note(m, "Optimizer state")
                truth.note(m.grad, "Gradient")

        def step(self):
            for p, m in self.pairs:
                m.grad = p.grad.detach().to(torch.float32)
                p.grad = None
            self.mark()
            self.inner.step()
            for p, m in self.pairs:
                p.data.copy_(m)
                m.grad = None

    net = nn.Sequential(*[nn.Sequential(nn.Linear(768, 768), nn.Tanh()) for _ in range(8)]).cuda().half()
    truth.watch(net)
    copies = Copies(net)
    for _ in rounds(5, begin, 2):
        out = net(torch.randn(512, 768, device="cuda", dtype=torch.half))
        backward(truth, out.float().square().mean())
        copies.step()
    return net, copies
