# SPDX-License-Identifier: Apache-2.0
"""Programs for PyTorch's allocator, made from a seed; they ask for the same, whatever the allocator's settings are. Most
are a list of operations, so that they can be played again with some left out:

  ["a", id, bytes, stream, device, pool]   a tensor, made on a stream; pool: null or the number of a MemPool
  ["f", id]  its end;  ["r", id, stream]  record_stream;  ["y"]  synchronize;  ["e"]  empty_cache
  ["P", pool, no_split]  a MemPool is made;  ["Q", pool]  it is given up
  ["G", [operations], reset]  a CUDA graph of these; reset: it is given up at once

The others ("gpt", "cache") are models of torch.nn, whose requests are PyTorch's own."""
import random

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
MIXES = {  # weights of the kinds of sizes below
    "all": (2, 4, 2, 6, 4, 2, 0.5), "small": (4, 8, 1, 1, 0, 0, 0), "large": (0, 1, 2, 8, 6, 1, 0),
    "huge": (0, 1, 2, 2, 3, 6, 1), "middle": (1, 3, 2, 6, 3, 0, 0)}
EDGES = [512, MIB, MIB + 1, MIB - 512, MIB + 512, 2 * MIB, 10 * MIB, 10 * MIB - 1, 10 * MIB + 512, 20 * MIB, 20 * MIB + 1,
         64 * MIB, 128 * MIB, 256 * MIB]
FAMILIES = ["random", "steps", "pools", "random", "gpt", "streams", "cache", "steps", "graphs", "devices", "random"]


def size_of(rng, mix):
    kind = rng.choices(range(7), MIXES[mix])[0]
    if kind == 2:
        return rng.choice(EDGES)
    if kind == 1:
        return int(2 ** rng.uniform(9, 20))
    low, high = {0: (1, 8 * KIB), 3: (MIB, 10 * MIB), 4: (10 * MIB, 40 * MIB), 5: (40 * MIB, 300 * MIB),
                 6: (300 * MIB, 2 * GIB)}[kind]
    return rng.randint(low, high)


class Churn:
    """Random requests and ends; some sizes come again and again, so that equal free blocks are there."""

    def __init__(self, rng, mix):
        self.rng, self.mix, self.made = rng, mix, 0
        self.usual = [size_of(rng, mix) for _ in range(rng.randint(6, 30))]

    def ask(self, stream=0, device=0, pool=None, size=None):
        rng = self.rng
        if size is None:
            size = rng.choice(self.usual) if rng.random() < 0.6 else size_of(rng, self.mix)
            if rng.random() < 0.2:
                size = max(1, int(size * rng.uniform(0.7, 1.3)))
        self.made += 1
        return ["a", self.made - 1, size, stream, device, pool]

    def some(self, count, live, most, streams=1, devices=1, pool=None, empties=0.0):
        """Operations that add to `live` and take from it."""
        rng, done = self.rng, []
        for _ in range(count):
            dice = rng.random()
            if dice < 0.02 * empties:
                done.append(["e"])
            elif dice < 0.03 and streams > 1:
                done.append(["y"])
            elif live and rng.random() < len(live) / (2 * most):
                gone = live.pop(rng.randrange(len(live)) if rng.random() < 0.6 else -1)
                if streams > 1 and rng.random() < 0.4:
                    done.append(["r", gone, rng.randrange(streams)])
                done.append(["f", gone])
            else:
                stream = rng.randrange(streams) if rng.random() < 0.5 else 0
                done.append(self.ask(stream, rng.randrange(devices), pool))
                live.append(done[-1][1])
        return done


def random_ops(rng, p):
    churn = Churn(rng, p["mix"])
    return churn.some(p["n"], [], rng.randint(10, 60), p["streams"], p["devices"], empties=p["empties"])


def step_ops(rng, p):
    """As training: forward makes activations, backward frees them, some things stay; lengths vary."""
    churn, done = Churn(rng, p["mix"]), []

    def make(size):
        done.append(churn.ask(size=max(1, int(size))))
        return done[-1][1]

    parameters = [size_of(rng, p["mix"]) for _ in range(rng.randint(3, 12))]
    layers = [(size_of(rng, p["mix"]), size_of(rng, p["mix"])) for _ in range(rng.randint(3, 10))]
    for size in parameters:
        make(size)
    for step in range(p["steps"]):
        length = rng.choice([0.3, 0.5, 0.7, 1, 1.2, 1.5]) if p["vary"] else 1
        kept = []
        for activation, scratch in layers:
            kept.append((make(activation * length), scratch * length))
            done.append(["f", make(scratch * length)])
        for activation, scratch in reversed(kept):
            gradient = make(scratch)
            done.extend((["f", activation], ["f", gradient]))
        gradients = [make(size) for size in parameters]
        if step == 0:
            for size in parameters * 2:
                make(size)
        done.extend(["f", gradient] for gradient in gradients)
        if p["empties"] and rng.random() < 0.3:
            done.append(["e"])
    return done


def pool_ops(rng, p):
    churn, done, outside = Churn(rng, p["mix"]), [], []
    live = {}
    for number in range(p["pools"]):
        done.append(["P", number, p["no_split"] and rng.random() < 0.5])
        live[number] = []
    for _ in range(p["turns"]):
        number = rng.choice(list(live))
        done += churn.some(rng.randint(5, 20), live[number], 6, pool=number)
        done += churn.some(rng.randint(0, 20), outside, 8, empties=p["empties"])
        if p["gone"] and rng.random() < 0.15 and not p["no_split"]:
            done += [["f", gone] for gone in live.pop(number)] + [["Q", number], ["e"]]
            number = max(live, default=number) + 1
            live[number] = []
            done.append(["P", number, False])
    return done


def graph_ops(rng, p):
    churn, done, outside = Churn(rng, p["mix"]), [], []
    for _ in range(p["graphs"]):
        inside = []
        captured = churn.some(rng.randint(5, 25), inside, 5)
        if p["streams"] > 1:
            captured += churn.some(rng.randint(5, 25), inside, 5, p["streams"])
            captured = [op for op in captured if op[0] != "y"]
        is_reset = rng.random() < 0.3
        done.append(["G", captured, is_reset])
        if is_reset or rng.random() < 0.5:
            done += [["f", gone] for gone in inside]
        done += churn.some(rng.randint(0, 25), outside, 8, empties=p["empties"])
    return done


MAKERS = {"random": random_ops, "streams": random_ops, "devices": random_ops, "steps": step_ops, "pools": pool_ops,
          "graphs": graph_ops}


def program(seed):
    """A program as plain data: "family", then "ops" or what a model is made of."""
    rng = random.Random(seed * 7919 + 1)
    family = FAMILIES[seed % len(FAMILIES)]
    p = {"family": family, "seed": seed, "empties": rng.choice([0, 0, 0, 1])}
    if family in ("random", "streams", "devices"):
        p |= {"mix": rng.choice(["all", "all", "small", "large", "huge"]), "n": rng.choice([30, 100, 300, 1000]),
              "streams": rng.choice([2, 3, 4]) if family == "streams" else 1,
              "devices": 2 if family == "devices" else 1}
    elif family == "steps":
        p |= {"mix": rng.choice(["all", "small", "large", "huge"]), "steps": rng.randint(2, 8),
              "vary": rng.choice([0, 1, 1])}
    elif family == "pools":
        p |= {"mix": rng.choice(["middle", "small", "large"]), "pools": rng.randint(1, 4), "turns": rng.randint(3, 12),
              "gone": rng.random() < 0.5, "no_split": rng.random() < 0.25}
    elif family == "graphs":
        p |= {"mix": rng.choice(["middle", "large"]), "graphs": rng.randint(1, 5), "streams": rng.choice([1, 1, 2])}
    elif family == "gpt":
        p |= {"vocabulary": rng.choice([1000, 5000, 32000]), "width": rng.choice([128, 256, 512]),
              "layers": rng.randint(1, 4), "is_half": bool(seed & 1), "accumulate": rng.choice([1, 1, 2]),
              "sets_none": rng.random() < 0.7,
              "shapes": [(rng.choice([1, 2, 4, 8]), rng.choice([64, 100, 128, 200, 256, 333]))
                         for _ in range(rng.randint(2, 6))]}
    else:
        p |= {"width": rng.choice([512, 1024]), "layers": rng.randint(2, 6), "batch": rng.choice([1, 4, 8]),
              "requests": [(rng.randint(16, 700), rng.randint(5, 30), rng.random() < 0.3, rng.random() < 0.3)
                           for _ in range(rng.randint(2, 6))]}
    if family in MAKERS:
        p["ops"] = MAKERS[family](rng, p)
    return p


# ---- playing them; torch is there ------------------------------------------------------------------------------------


class Player:
    def __init__(self, torch):
        self.torch, self.tensors, self.pools, self.graphs, self.streams = torch, {}, {}, [], {}
        self.asked_of, self.pool = 0, (0, 0)  # device and pool of the latest request
        self.asked = []  # of each request that was served: (device, address, pool)
        self.captures = 0
        self.keeps_graphs = False  # none is given up
        self.after = lambda: None  # called after each operation

    def stream(self, number, device):
        if number == 0:
            return self.torch.cuda.current_stream(device)
        key = (number, device)
        if key not in self.streams:
            self.streams[key] = self.torch.cuda.Stream(device)
        return self.streams[key]

    def ask(self, number, size, stream, device, pool):
        torch, routed = self.torch, self.pool
        self.asked_of = device
        with torch.cuda.device(device), torch.cuda.stream(self.stream(stream, device)):
            if pool in self.pools:
                self.pool = self.pools[pool].id
                with torch.cuda.use_mem_pool(self.pools[pool]):
                    self.tensors[number] = torch.empty(size, dtype=torch.uint8, device="cuda")
            else:
                self.tensors[number] = torch.empty(size, dtype=torch.uint8, device="cuda")
        self.asked.append((device, self.tensors[number].data_ptr(), self.pool))
        self.pool = routed

    def capture(self, ops, is_reset):
        torch, graph = self.torch, self.torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        with torch.cuda.graph(graph, stream=side):
            self.captures += 1
            self.pool = (self.captures, 0)  # the id of PyTorch's pool, which is told after the capture only
            others = {op[3] for op in ops if op[0] == "a"} - {0}
            for number in sorted(others):
                self.stream(number, 0).wait_stream(side)
            self.play(ops)
            for number in sorted(others):
                side.wait_stream(self.stream(number, 0))
            told, self.pool = self.pool, (0, 0)
        if tuple(graph.pool()) != told:
            raise RuntimeError(f"the capture's pool is {graph.pool()}, not {told}")
        if is_reset and not self.keeps_graphs:
            graph.reset()
        else:
            self.graphs.append(graph)

    def play(self, ops):
        torch, tensors = self.torch, self.tensors
        for what, *rest in ops:
            if what == "a":
                self.ask(*rest)
            elif what == "f":
                tensors.pop(rest[0], None)
            elif what == "r" and rest[0] in tensors:
                tensors[rest[0]].record_stream(self.stream(rest[1], tensors[rest[0]].device.index))
            elif what == "e":
                torch.cuda.empty_cache()
            elif what == "y":
                torch.cuda.synchronize()
            elif what == "P":
                self.pools[rest[0]] = torch.cuda.MemPool(no_split=True) if rest[1] else torch.cuda.MemPool()
            elif what == "Q":
                self.pools.pop(rest[0], None)
            elif what == "G":
                self.capture(*rest)
            self.after()


def train_gpt(torch, p):
    from torch import nn
    width, kept = p["width"], []
    torch.manual_seed(0)
    with torch.device("cuda"):
        embed = nn.Embedding(p["vocabulary"], width)
        blocks = nn.ModuleList(nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True)
                               for _ in range(p["layers"]))
        head = nn.Linear(width, p["vocabulary"], bias=False)
    parameters = [*embed.parameters(), *blocks.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4)
    for batch, length in p["shapes"]:
        for _ in range(p["accumulate"]):
            ids = torch.randint(0, p["vocabulary"], (batch, length), device="cuda")
            with torch.autocast("cuda", torch.bfloat16, enabled=p["is_half"]):
                x = embed(ids)
                for block in blocks:
                    x = block(x)
                loss = nn.functional.cross_entropy(head(x).flatten(0, 1).float(), ids.flatten())
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=p["sets_none"])
        if p["empties"]:
            torch.cuda.empty_cache()
        kept.append(loss.detach())
    return parameters, optimizer, kept


def serve_cache(torch, p):
    width, batch, kept = p["width"], p["batch"], []
    with torch.no_grad(), torch.device("cuda"):
        weights = [torch.empty(width, 4 * width, dtype=torch.bfloat16) for _ in range(p["layers"])]
        for start, tokens, stays, empties in p["requests"]:
            cache = [[torch.empty(batch, start, width, dtype=torch.bfloat16) for _ in range(2)] for _ in weights]
            for _ in range(tokens):
                x = torch.empty(batch, 1, width, dtype=torch.bfloat16)
                for weight, pair in zip(weights, cache):
                    h = x @ weight
                    pair[0] = torch.cat((pair[0], h[..., :width]), 1)
                    pair[1] = torch.cat((pair[1], h[..., width:2 * width]), 1)
                    x = torch.nn.functional.scaled_dot_product_attention(
                        x.unsqueeze(1), pair[0].unsqueeze(1), pair[1].unsqueeze(1)).squeeze(1)
            kept = kept[-2:] + [cache] if stays else kept
            if empties and p["empties"]:
                torch.cuda.empty_cache()
    return weights, kept


def run(torch, p, player):
    """What it returns is to be held until the snapshot is made."""
    if p["family"] == "gpt":
        return train_gpt(torch, p)
    if p["family"] == "cache":
        return serve_cache(torch, p)
    player.play(p["ops"])
    return player
