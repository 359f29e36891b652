# SPDX-License-Identifier: Apache-2.0
"""More programs whose memory is known, as role_programs.py has them, in another hand: loops written out, weights in
dictionaries, several models at once. Those of HELD are not looked at while rules are made."""
import copy
import math

from truth import rounds

ALL, HELD = {}, set()


def script(function):
    ALL[function.__name__] = function
    return function


def held(function):
    HELD.add(function.__name__)
    return script(function)


def encoder(nn, width, depth, words=3000):
    return nn.Sequential(nn.Embedding(words, width), *[nn.TransformerEncoderLayer(
        width, width // 64, 4 * width, dropout=0.0, batch_first=True) for _ in range(depth)], nn.Linear(width, words))


def image_net(nn, wide=64, classes=100):
    layers, now = [], 3
    for wide_now in (wide, 2 * wide, 4 * wide):
        layers += [nn.Conv2d(now, wide_now, 3, padding=1), nn.GroupNorm(8, wide_now), nn.ReLU(inplace=True),
                   nn.Conv2d(wide_now, wide_now, 3, padding=1), nn.GroupNorm(8, wide_now), nn.ReLU(inplace=True),
                   nn.MaxPool2d(2)]
        now = wide_now
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * now, classes))


def pull(truth, loss):
    truth.phase("backward")
    loss.backward()
    truth.phase("forward")


@script
def base_left_trainable(torch, truth, begin):
    """Adapters beside a base that nobody froze: its gradients are made, summed up and never given back."""
    nn = torch.nn
    base = encoder(nn, 384, 4).to("cuda")
    rank, hooks = 4, nn.ModuleList()
    for layer in base[1:-1]:
        down, up = nn.Linear(384, rank, bias=False, device="cuda"), nn.Linear(rank, 1536, bias=False, device="cuda")
        hooks.extend((down, up))
        layer.linear1.register_forward_hook(lambda m, args, out, down=down, up=up: out + up(down(args[0])))
    truth.watch(base, hooks)
    opt = torch.optim.AdamW(hooks.parameters(), lr=1e-4)
    for _ in rounds(6, begin, 2):
        tokens = torch.randint(3000, (8, 96), device="cuda")
        logits = base(tokens)
        loss = nn.functional.cross_entropy(logits.view(-1, 3000), tokens.view(-1))
        pull(truth, loss)
        opt.step()
        opt.zero_grad()
    return base, hooks, opt


@script
def teacher_of_same_size(torch, truth, begin):
    """Self-distillation: the teacher is what the student was."""
    nn = torch.nn
    student = encoder(nn, 320, 3).cuda()
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.requires_grad = False
    teacher.eval()
    truth.watch(student, teacher)
    opt = torch.optim.AdamW(student.parameters(), lr=3e-4)

    def train_one(batch):
        with torch.no_grad():
            goal = teacher(batch)
        out = student(batch)
        loss = nn.functional.kl_div(out.log_softmax(-1), goal.softmax(-1), reduction="batchmean")
        opt.zero_grad()
        pull(truth, loss)
        opt.step()
        return loss.detach()

    losses = []
    for _ in rounds(6, begin, 3):
        losses.append(train_one(torch.randint(3000, (6, 128), device="cuda")))
    return student, teacher, opt, losses


@script
def shadow_in_a_dictionary(torch, truth, begin):
    """A moving average kept by name; gradients of several small batches."""
    nn = torch.nn
    net = image_net(nn).cuda()
    truth.watch(net)
    shadow = {k: v.detach().clone() for k, v in net.state_dict().items()}
    for v in shadow.values():
        truth.note(v, "Parameter")
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    for _ in rounds(5, begin, 2):
        for micro in range(3):
            images, labels = torch.randn(8, 3, 48, 48).to("cuda"), torch.randint(100, (8,)).to("cuda")
            loss = nn.functional.cross_entropy(net(images), labels) / 3
            pull(truth, loss)
        opt.step()
        opt.zero_grad(set_to_none=True)
        for k, v in net.state_dict().items():
            shadow[k].mul_(0.99).add_(v, alpha=0.01)
    return net, shadow, opt


@script
def validation_collects(torch, truth, begin):
    """Epochs; between them a validation without no_grad that collects its outputs, graphs and all."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(600, 1200), nn.GELU(), nn.Linear(1200, 1200), nn.GELU(), nn.Linear(1200, 400)).cuda()
    truth.watch(net)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in rounds(4, begin, 2):
        for it in range(3):
            x, y = torch.randn(512, 600, device="cuda"), torch.randn(512, 400, device="cuda")
            opt.zero_grad()
            loss = (net(x) - y).pow(2).mean()
            pull(truth, loss)
            opt.step()
        outputs = []
        for it in range(4):
            outputs.append(net(torch.randn(512, 600, device="cuda")))
        score = torch.cat(outputs).mean()
        del outputs, score
    return net, opt


@script
def denoise(torch, truth, begin):
    """Pictures out of noise: a guided sampling loop."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.a, self.b, self.t = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1), nn.Linear(64, c)

        def forward(self, x, t):
            h = self.a(nn.functional.silu(x)) + self.t(t)[:, :, None, None]
            return x + self.b(nn.functional.silu(h))

    class Noise(nn.Module):
        def __init__(self, c=96):
            super().__init__()
            self.first, self.last = nn.Conv2d(4, c, 3, padding=1), nn.Conv2d(c, 4, 3, padding=1)
            self.down, self.up = nn.Conv2d(c, c, 2, 2), nn.ConvTranspose2d(c, c, 2, 2)
            self.outer, self.inner = nn.ModuleList(Block(c) for _ in range(2)), nn.ModuleList(Block(c) for _ in range(2))

        def forward(self, x, t):
            h = skip = self.outer[0](self.first(x), t)
            h = self.down(h)
            for block in self.inner:
                h = block(h, t)
            return self.last(self.outer[1](self.up(h) + skip, t))

    net = Noise().half().to("cuda")
    truth.watch(net)
    x = torch.randn(4, 4, 64, 64, device="cuda", dtype=torch.half)
    kept = []
    with torch.inference_mode():
        for i in rounds(18, begin, 8):
            t = torch.full((8, 64), i / 18, device="cuda", dtype=torch.half)
            plain, led = net(torch.cat((x, x)), t).chunk(2)
            noise = plain + 5.0 * (led - plain)
            x = x - 0.1 * noise + 0.01 * torch.randn_like(x)
            if i % 6 == 5:
                kept.append(x.clone())
            truth.step()
    return net, kept


@script
def weights_by_name(torch, truth, begin):
    """Generation without a module: weights in a dictionary, a list of caches that cat makes longer."""
    F = torch.nn.functional
    d, heads, depth, words = 512, 8, 5, 2000
    bank = {"emb": torch.randn(words, d, device="cuda", dtype=torch.bfloat16)}
    for n in range(depth):
        for key, shape in (("q", (d, d)), ("k", (d, d)), ("v", (d, d)), ("o", (d, d)), ("w1", (4 * d, d)), ("w2", (d, 4 * d))):
            bank[f"{n}.{key}"] = torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.02
    for w in bank.values():
        truth.note(w, "Parameter")

    def attend(x, n, memory):
        b, t, _ = x.shape
        q, k, v = (F.linear(x, bank[f"{n}.{key}"]).view(b, t, heads, -1).transpose(1, 2) for key in "qkv")
        if memory[n] is not None:
            k, v = torch.cat((memory[n][0], k), 2), torch.cat((memory[n][1], v), 2)
        memory[n] = (k, v)
        score = (q @ k.transpose(-1, -2)).softmax(-1) @ v
        return F.linear(score.transpose(1, 2).reshape(b, t, d), bank[f"{n}.o"])

    def next_word(tokens, memory):
        x = F.embedding(tokens, bank["emb"])
        for n in range(depth):
            x = x + attend(x, n, memory)
            x = x + F.linear(F.gelu(F.linear(x, bank[f"{n}.w1"])), bank[f"{n}.w2"])
        return F.linear(x[:, -1:], bank["emb"]).argmax(-1)

    memory = [None] * depth
    with torch.no_grad():
        tokens = torch.randint(words, (12, 200), device="cuda")
        for _ in rounds(30, begin, 12):
            tokens = next_word(tokens, memory)
            for k, v in memory:
                truth.note(k, "KV cache")
                truth.note(v, "KV cache")
            truth.step()
    return bank, memory


@script
def policy_and_rollouts(torch, truth, begin):
    """What the policy saw is kept on the device, and looked at several times."""
    nn = torch.nn
    body, actor, critic = nn.Sequential(nn.Linear(256, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh()), nn.Linear(1024, 32), nn.Linear(1024, 1)
    for part in (body, actor, critic):
        part.cuda()
    truth.watch(body, actor, critic)
    opt = torch.optim.Adam([{"params": body.parameters()}, {"params": [*actor.parameters(), *critic.parameters()], "lr": 1e-3}], lr=3e-4)
    for update in rounds(4, begin, 2):
        seen, done, worth = [], [], []
        state = torch.randn(128, 256, device="cuda")
        for t in range(12):
            with torch.no_grad():
                hidden = body(state)
                action = torch.distributions.Categorical(logits=actor(hidden), validate_args=False).sample()
                worth.append(critic(hidden))
            seen.append(state)
            done.append(action)
            state = state + 0.1 * torch.randn_like(state)
        seen, done, worth = torch.cat(seen), torch.cat(done), torch.cat(worth)
        for epoch in range(2):
            order = torch.randperm(seen.shape[0], device="cuda")
            for part in order.split(768):
                hidden = body(seen[part])
                chosen = actor(hidden).log_softmax(-1).gather(1, done[part][:, None])
                loss = (critic(hidden) - worth[part]).square().mean() - chosen.mean()
                opt.zero_grad()
                pull(truth, loss)
                nn.utils.clip_grad_norm_(body.parameters(), 0.5)
                opt.step()
    return body, actor, critic, opt


@script
def queue_of_keys(torch, truth, begin):
    """Contrastive learning: a slow copy of the encoder, and a queue of what it said."""
    nn = torch.nn
    fast = image_net(nn, 48, 128).cuda()
    slow = image_net(nn, 48, 128).cuda()
    slow.load_state_dict(fast.state_dict())
    slow.requires_grad_(False)
    holder = nn.Module()
    holder.register_buffer("queue", torch.randn(128, 16384, device="cuda"))
    truth.watch(fast, slow, holder)
    opt = torch.optim.SGD(fast.parameters(), 0.03, momentum=0.9)
    at = 0
    for _ in rounds(6, begin, 3):
        one, two = torch.randn(16, 3, 40, 40, device="cuda"), torch.randn(16, 3, 40, 40, device="cuda")
        q = nn.functional.normalize(fast(one), dim=1)
        with torch.no_grad():
            for a, b in zip(slow.parameters(), fast.parameters()):
                a.data = a.data * 0.999 + b.data * 0.001
                truth.note(a.data, "Parameter")
            k = nn.functional.normalize(slow(two), dim=1)
        near, far = (q * k).sum(1, keepdim=True), q @ holder.queue.clone()
        logits = torch.cat((near, far), 1) / 0.07
        loss = nn.functional.cross_entropy(logits, torch.zeros(16, dtype=torch.long, device="cuda"))
        opt.zero_grad()
        pull(truth, loss)
        opt.step()
        holder.queue[:, at:at + 16] = k.t()
        at += 16
    return fast, slow, holder, opt


@script
def resumed(torch, truth, begin):
    """A checkpoint read to the device, and kept; a batch that fails half way, and is tried again in halves."""
    nn = torch.nn
    net = encoder(nn, 256, 4).cuda()
    truth.watch(net)
    saved = {k: v.clone() for k, v in net.state_dict().items()}
    for v in saved.values():
        truth.note(v, "Parameter")
    net.load_state_dict(saved)
    opt = torch.optim.AdamW(net.parameters())

    def attempt(tokens, fails=False):
        out = net(tokens)
        if fails:
            raise RuntimeError("as if memory had run out")
        loss = nn.functional.cross_entropy(out.flatten(0, 1), tokens.flatten())
        pull(truth, loss)

    for it in rounds(7, begin, 3):
        tokens = torch.randint(3000, (8, 120), device="cuda")
        try:
            attempt(tokens, it == 4)
        except RuntimeError:
            for half in tokens.chunk(2):
                attempt(half)
        opt.step()
        opt.zero_grad()
    return net, saved, opt


@script
def names_outlive_the_round(torch, truth, begin):
    """A script without functions: what a round called logits and loss lives on while the next one computes its own."""
    nn = torch.nn
    net = encoder(nn, 192, 4, 6000)
    net = net.cuda()
    truth.watch(net)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True)
    for _ in rounds(6, begin, 3):
        tokens = torch.randint(0, 6000, (8, 128)).cuda()
        logits = net(tokens)
        loss = nn.functional.cross_entropy(logits.reshape(-1, 6000), tokens.reshape(-1))
        opt.zero_grad(set_to_none=True)
        pull(truth, loss)
        opt.step()
        shown = logits.softmax(-1)
    return net, opt, logits, loss, shown


@script
def layers_in_a_function(torch, truth, begin):
    """Layers called one after the other by a function of the script, frame by frame."""
    nn = torch.nn
    layers = nn.ModuleList(nn.TransformerEncoderLayer(384, 6, 1024, dropout=0, batch_first=True) for _ in range(8)).cuda().eval()
    stem, tip = nn.Linear(96, 384).cuda(), nn.Linear(384, 10).cuda()
    truth.watch(layers, stem, tip)

    def look(frame):
        x = torch.tanh(stem(frame))
        for layer in layers:
            x = layer(x)
        return tip(x.mean(1)).softmax(-1)

    answers = []
    with torch.no_grad():
        for _ in rounds(14, begin, 5):
            answers.append(look(torch.randn(8, 100, 96, device="cuda")).argmax(-1))
            truth.step()
    return layers, stem, tip, answers


@script
def encoder_of_pages(torch, truth, begin):
    """torch's own encoder for one page after the other; pages are of one length."""
    nn = torch.nn
    table = nn.Embedding(8000, 256).bfloat16().cuda()
    inner = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 1024, dropout=0, batch_first=True), 10,
                                  enable_nested_tensor=False).bfloat16().cuda().eval()
    truth.watch(table, inner)
    found = []
    for page in rounds(12, begin, 4):
        words = torch.randint(8000, (16, 200), device="cuda")
        with torch.inference_mode():
            vectors = inner(table(words))
            found.append(nn.functional.normalize(vectors.mean(1), dim=-1))
        truth.step()
    return table, inner, found


@script
def rooms_of_a_class(torch, truth, begin):
    """Weights as a checkpoint would give them, caches as an object that nobody calls a cache; the prompt, then words."""
    nn = torch.nn
    d, heads, depth = 384, 6, 6

    class Memory:
        def __init__(self, rows, length):
            self.keys = [torch.zeros(rows, heads, length, d // heads, device="cuda") for _ in range(depth)]
            self.values = [torch.zeros(rows, heads, length, d // heads, device="cuda") for _ in range(depth)]

    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out, self.norm = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.LayerNorm(d)
            self.wide, self.back = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

        def forward(self, x, memory, n, at):
            b, t, _ = x.shape
            q, k, v = (p.view(b, t, heads, -1).transpose(1, 2) for p in self.qkv(self.norm(x)).chunk(3, -1))
            memory.keys[n][:, :, at:at + t] = k
            memory.values[n][:, :, at:at + t] = v
            y = nn.functional.scaled_dot_product_attention(q, memory.keys[n][:, :, :at + t], memory.values[n][:, :, :at + t])
            x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
            return x + self.back(nn.functional.gelu(self.wide(x)))

    words, steps = nn.Embedding(3000, d).cuda(), nn.ModuleList(Step() for _ in range(depth)).cuda()
    truth.watch(words, steps)
    memory = Memory(8, 320)
    for part in (*memory.keys, *memory.values):
        truth.note(part, "KV cache")
    with torch.inference_mode():
        tokens, at = torch.randint(3000, (8, 100), device="cuda"), 0
        for _ in rounds(20, begin, 8):
            x = words(tokens)
            for n, step in enumerate(steps):
                x = step(x, memory, n, at)
            at += tokens.shape[1]
            tokens = (x[:, -1:] @ words.weight.t()).argmax(-1)
            truth.step()
    return words, steps, memory


@script
def words_without_cache(torch, truth, begin):
    """Generation that computes the whole text again for each word."""
    nn = torch.nn
    net = encoder(nn, 256, 5, 3000).cuda().eval()
    truth.watch(net)
    with torch.no_grad():
        text = torch.randint(3000, (8, 60), device="cuda")
        for _ in rounds(20, begin, 8):
            text = torch.cat((text, net(text)[:, -1:].argmax(-1)), 1)
            truth.step()
    return net, text


@held
def two_halves_two_optimizers(torch, truth, begin):
    """An autoencoder whose halves are stepped by optimizers of two kinds."""
    nn = torch.nn
    inner = nn.Sequential(nn.Linear(1500, 700), nn.ELU(), nn.Linear(700, 150)).cuda()
    outer = nn.Sequential(nn.Linear(150, 700), nn.ELU(), nn.Linear(700, 1500)).cuda()
    truth.watch(inner, outer)
    first, second = torch.optim.SGD(inner.parameters(), lr=0.1, momentum=0.8), torch.optim.AdamW(outer.parameters())
    for _ in rounds(6, begin, 2):
        x = torch.rand(400, 1500, device="cuda")
        again = outer(inner(x))
        first.zero_grad()
        second.zero_grad()
        pull(truth, (again - x).abs().mean())
        first.step()
        second.step()
    truth.steps = truth.steps[1::2]
    return inner, outer, first, second


@held
def probe_on_features(torch, truth, begin):
    """A frozen trunk says what it sees once; a head learns of that."""
    nn = torch.nn
    trunk = image_net(nn, 64, 512).cuda().eval()
    for p in trunk.parameters():
        p.requires_grad_(False)
    head = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 10)).cuda()
    truth.watch(trunk, head)
    features = []
    with torch.no_grad():
        for _ in range(6):
            features.append(trunk(torch.randn(64, 3, 32, 32).cuda()))
    features = torch.cat(features)
    opt = torch.optim.Adam(head.parameters())
    for epoch in rounds(3, begin, 1):
        for chunk in features.split(128):
            loss = head(chunk).logsumexp(1).mean()
            opt.zero_grad()
            pull(truth, loss)
            opt.step()
    return trunk, head, features, opt


@held
def places_made_before(torch, truth, begin):
    """Serving: room for keys and values is made first, then the weights; the prompt comes in pieces."""
    nn = torch.nn

    class Room:
        def __init__(self, layers, rows, length, heads, size):
            self.k = [torch.empty(rows, heads, length, size, device="cuda", dtype=torch.bfloat16) for _ in range(layers)]
            self.v = [torch.empty_like(k) for k in self.k]

        def put(self, n, at, k, v):
            self.k[n][:, :, at:at + k.shape[2]].copy_(k)
            self.v[n][:, :, at:at + k.shape[2]].copy_(v)
            return self.k[n][:, :, :at + k.shape[2]], self.v[n][:, :, :at + k.shape[2]]

    class Floor(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.inp, self.out = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
            self.gate, self.up, self.down = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, 3 * d, bias=False), nn.Linear(3 * d, d, bias=False)

        def forward(self, x, put):
            b, t, d = x.shape
            q, k, v = self.inp(x).view(b, t, 3, d // 64, 64).permute(2, 0, 3, 1, 4)
            k, v = put(k, v)
            x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d))
            return x + self.down(nn.functional.silu(self.gate(x)) * self.up(x))

    room = Room(6, 8, 640, 8, 64)
    for part in (*room.k, *room.v):
        truth.note(part, "KV cache")
    floors = nn.ModuleList(Floor(512) for _ in range(6)).to(device="cuda", dtype=torch.bfloat16)
    words = nn.Embedding(5000, 512, device="cuda", dtype=torch.bfloat16)
    truth.watch(floors, words)

    @torch.no_grad()
    def run(tokens, at):
        x = words(tokens)
        for n, floor in enumerate(floors):
            x = floor(x, lambda k, v, n=n: room.put(n, at, k, v))
        return (x[:, -1] @ words.weight.t()).argmax(-1, keepdim=True)

    at = 0
    for piece in range(3):
        tokens = run(torch.randint(5000, (8, 128), device="cuda"), at)
        at += 128
        truth.step()
    for _ in rounds(24, begin, 8):
        tokens = run(tokens, at)
        at += 1
        truth.step()
    return room, floors, words


@held
def beams(torch, truth, begin):
    """Encoder and decoder; caches are made longer, and put in the order of the best beams."""
    nn = torch.nn

    class Turn(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.q, self.kv, self.o = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)
            self.ff = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))

        def forward(self, x, cache):
            k, v = self.kv(x).chunk(2, -1)
            if cache:
                k, v = torch.cat([cache["k"], k], 1), torch.cat([cache["v"], v], 1)
            cache["k"], cache["v"] = k.contiguous(), v.contiguous()
            x = x + self.o(torch.softmax(self.q(x) @ k.transpose(1, 2) / 20, -1) @ v)
            return x + self.ff(x)

    source = encoder(nn, 256, 2, 4000).cuda().eval()
    turns, table = nn.ModuleList(Turn(384) for _ in range(4)).cuda(), nn.Embedding(4000, 384).cuda()
    truth.watch(source, turns, table)
    with torch.no_grad():
        source(torch.randint(4000, (4, 60), device="cuda"))
        caches = [{} for _ in turns]
        tokens = torch.randint(4000, (40, 90), device="cuda")
        for _ in rounds(20, begin, 9):
            x = table(tokens)
            for turn, cache in zip(turns, caches):
                x = turn(x, cache)
            tokens = (x[:, -1] @ table.weight.t()).argmax(-1, keepdim=True)
            best = torch.randint(0, 40, (40,), device="cuda")
            for cache in caches:
                for name in ("k", "v"):
                    cache[name] = cache[name].index_select(0, best)
                    truth.note(cache[name], "KV cache")
            tokens = tokens[best]
            truth.step()
    return source, turns, table, caches


@held
def adam_by_hand(torch, truth, begin):
    """No torch.optim: two moments per weight, updated all at once."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(900, 1800), nn.SiLU(), nn.Linear(1800, 900), nn.SiLU(), nn.Linear(900, 90)).cuda()
    truth.watch(net)
    weights = list(net.parameters())
    first, second = [torch.zeros_like(w) for w in weights], [torch.zeros_like(w) for w in weights]
    for state in (*first, *second):
        truth.note(state, "Optimizer state")

    @torch.no_grad()
    def update(step):
        grads = [w.grad for w in weights]
        torch._foreach_lerp_(first, grads, 0.1)
        torch._foreach_mul_(second, 0.99)
        torch._foreach_addcmul_(second, grads, grads, 0.01)
        below = torch._foreach_sqrt(second)
        torch._foreach_add_(below, 1e-8)
        torch._foreach_addcdiv_(weights, first, below, -1e-3 / (1 - 0.9 ** step))

    for i in range(1, 7):
        if i == 4:
            begin()
        loss = net(torch.randn(300, 900, device="cuda")).square().mean()
        pull(truth, loss)
        truth.phase("optimizer")
        update(i)
        truth.phase("forward")
        net.zero_grad()
        truth.step()
    return net, first, second


@held
def averaged_model(torch, truth, begin):
    """torch's own averaging, and a look at how good the average is."""
    nn = torch.nn
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
    net = encoder(nn, 256, 3, 2500).cuda()
    mean = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.99))
    truth.watch(net, mean)
    opt = torch.optim.RAdam(net.parameters(), lr=1e-3)
    for i in rounds(6, begin, 3):
        tokens = torch.randint(2500, (6, 140), device="cuda")
        loss = nn.functional.cross_entropy(net(tokens).transpose(1, 2), tokens)
        opt.zero_grad()
        pull(truth, loss)
        opt.step()
        mean.update_parameters(net)
        if i % 2:
            with torch.inference_mode():
                mean(torch.randint(2500, (12, 140), device="cuda"))
    return net, mean, opt


@held
def values_and_target(torch, truth, begin):
    """Q-learning: a target that is set now and then, and everything that was seen, on the device."""
    nn = torch.nn

    class Values(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.wide, self.tip = nn.Linear(300, 1500), nn.Linear(1500, 1500), nn.Linear(1500, 12)

        def forward(self, x):
            return self.tip(torch.relu(self.wide(torch.relu(self.stem(x)))))

    now, aim = Values().cuda(), Values().cuda()
    aim.load_state_dict(now.state_dict())
    truth.watch(now, aim)
    seen, reward = torch.zeros(20000, 300, device="cuda"), torch.zeros(20000, device="cuda")
    opt = torch.optim.RMSprop(now.parameters(), lr=1e-3)
    for i in rounds(10, begin, 5):
        with torch.no_grad():
            seen[i * 16:i * 16 + 16] = torch.randn(16, 300, device="cuda")
            now(seen[i * 16:i * 16 + 16]).argmax(1)
        pick = torch.randint(0, 20000, (256,), device="cuda")
        with torch.no_grad():
            wanted = reward[pick] + 0.9 * aim(seen[pick]).amax(1)
        got = now(seen[pick]).amax(1)
        loss = nn.functional.smooth_l1_loss(got, wanted)
        opt.zero_grad()
        pull(truth, loss)
        opt.step()
        if i % 4 == 3:
            aim.load_state_dict(now.state_dict())
    return now, aim, seen, reward, opt


@held
def compiled_graph(torch, truth, begin):
    """A model as torch.compile takes it apart (no code is generated)."""
    nn = torch.nn
    net = encoder(nn, 256, 2, 3500).cuda()
    truth.watch(net)
    fast = torch.compile(net, backend="aot_eager")
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for _ in rounds(5, begin, 2):
        tokens = torch.randint(3500, (8, 100), device="cuda")
        loss = nn.functional.cross_entropy(fast(tokens).flatten(0, 1), tokens.flatten())
        pull(truth, loss)
        opt.step()
        opt.zero_grad()
    return net, opt


@held
def a_trainer(torch, truth, begin):
    """All at once: autocast, a scaler, accumulation, checkpoints within layers, clipping, evaluation."""
    nn = torch.nn
    from torch.utils.checkpoint import checkpoint_sequential

    class Trainer:
        def __init__(self):
            self.net = encoder(nn, 256, 4, 2000).to("cuda")
            self.opt = torch.optim.AdamW(self.net.parameters(), lr=2e-4, betas=(0.9, 0.95))
            self.plan = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, 10)
            self.scaler = torch.amp.GradScaler("cuda")

        def loss(self, tokens):
            with torch.autocast("cuda", dtype=torch.float16):
                x = self.net[0](tokens)
                x = checkpoint_sequential(self.net[1:-1], 2, x, use_reentrant=False)
                return nn.functional.cross_entropy(self.net[-1](x).flatten(0, 1), tokens.flatten())

        def step(self):
            for _ in range(3):
                pull(truth, self.scaler.scale(self.loss(torch.randint(2000, (8, 90), device="cuda")) / 3))
            self.scaler.unscale_(self.opt)
            nn.utils.clip_grad_norm_(self.net.parameters(), 1)
            self.scaler.step(self.opt)
            self.scaler.update()
            self.plan.step()
            self.opt.zero_grad()

        @torch.no_grad()
        def evaluate(self):
            return sum(self.loss(torch.randint(2000, (16, 90), device="cuda")) for _ in range(2))

    trainer = Trainer()
    truth.watch(trainer.net)
    for i in rounds(6, begin, 3):
        trainer.step()
        if i % 2:
            trainer.evaluate()
    return trainer


@held
def latents_to_pictures(torch, truth, begin):
    """A transformer takes noise out of latents, then a decoder makes pictures of them, round after round."""
    nn = torch.nn
    core = nn.TransformerEncoder(nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, dropout=0), 6,
                                 enable_nested_tensor=False).half().cuda().eval()
    shape = nn.Linear(16, 512).half().cuda()
    back = nn.Linear(512, 16).half().cuda()
    decoder = nn.Sequential(nn.ConvTranspose2d(16, 128, 4, 2, 1), nn.SiLU(), nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.SiLU(),
                            nn.Conv2d(64, 3, 3, padding=1)).half().cuda()
    truth.watch(core, shape, back, decoder)
    pictures = []
    with torch.no_grad():
        for _ in rounds(3, begin, 1):
            z = torch.randn(4, 256, 16, device="cuda", dtype=torch.half)
            for t in range(8):
                z = z - back(core(shape(z))) * math.cos(t / 8)
                truth.step()
            pictures.append(decoder(z.transpose(1, 2).reshape(4, 16, 16, 16)).float())
    return core, shape, back, decoder, pictures
