#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes traces of torch.profiler, and beside each what PyTorch itself says of it: key_averages(), as JSON.

    make_traces.py FOLDER [NAME...] [--device cpu|cuda]

Writes DEVICE_VERSION_NAME.trace.json.gz and DEVICE_VERSION_NAME.averages.json.gz, where what names the machine is
replaced. `cuda` may be gmdry's stand-in: `gmdry -- python make_traces.py FOLDER --device cuda`. The traces beside
this file were made so, with PyTorch's wheels from PyPI.

What modules and annotations took is no table of PyTorch's: it is measured where they begin and end, by what
torch.cuda.memory_allocated() is made of.
"""
import argparse
import collections
import contextlib
import gzip
import json
import os
import pathlib
import re
import sys
import tempfile
import threading

import torch
from torch.utils.checkpoint import checkpoint
from torch.profiler import ProfilerActivity, profile, record_function, schedule

try:
    from torch.utils.checkpoint import set_checkpoint_early_stop
except ImportError:  # before 2.1 nothing stops early
    def set_checkpoint_early_stop(_):
        return contextlib.nullcontext()

VERSION = torch.__version__.split("+")[0]


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.linear = torch.nn.Linear(width, width)

    def forward(self, x):
        return x + torch.nn.functional.gelu(self.linear(self.norm(x)))


def allocated():
    return 0 if not torch.cuda.is_initialized() else torch._C._cuda_memoryStats(0)["allocated_bytes"]["all"]["current"]


class Measured:
    """Calls, and bytes of the device within them: all (total), and without those in others inside (self)."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.rows = {}
        self.inside = []  # of each that has begun: its name, allocated bytes, totals of those directly in it
        self.numbers = collections.defaultdict(dict)

    def begin(self, name):
        self.inside.append([name, allocated(), 0])

    def end(self):
        name, before, others = self.inside.pop()
        total = allocated() - before
        row = self.rows.setdefault(name, {"name": name, "count": 0, "device_bytes": 0, "self_device_bytes": 0})
        row["count"] += 1
        row["device_bytes"] += total
        row["self_device_bytes"] += total - others
        if self.inside:
            self.inside[-1][2] += total

    def module(self, module):
        """As torch.profiler names it: by its class, and the how many-th of that class it met."""
        name = type(module).__name__
        return f"nn.Module: {name}_{self.numbers[name].setdefault(id(module), len(self.numbers[name]))}"


MODULES, ANNOTATIONS = Measured(), Measured()


@contextlib.contextmanager
def annotated(name):
    with record_function(name):
        ANNOTATIONS.begin(name)
        yield
        ANNOTATIONS.end()


def measure_modules(model):
    for module in model.modules():
        module.register_forward_pre_hook(lambda m, _: MODULES.begin(MODULES.module(m)))
        module.register_forward_hook(lambda m, _, out: MODULES.end())


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 2 + x.new_zeros(x.shape)


def training(device, model, make_input, optimizer):
    model = model.to(device)
    optimizer = optimizer(model.parameters())

    def step(i):
        with record_function("step"):
            with record_function("forward"):
                y = model(make_input(i).to(device))
            with record_function("backward"):
                y.sum().backward()
            with record_function("optimizer"):
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)

    return step


def mlp(device):
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    return training(device, model, lambda i: torch.ones(8 + i, 16), torch.optim.Adam)


def blocks(device):
    model = torch.nn.Sequential(Block(24), Block(24))
    return training(device, model, lambda i: torch.ones(6, 24), lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9))


def convolution(device):
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU())
    return training(device, model, lambda i: torch.ones(2, 3, 8 + i % 2, 8), torch.optim.AdamW)


def wide(device):
    """Operators that take longer than the clock of old versions ticks."""
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.LayerNorm(2048),
                                torch.nn.Linear(2048, 16))
    return training(device, model, lambda i: torch.ones(256, 512), torch.optim.AdamW)


def lists(device):
    weight = torch.ones(10, 4, device=device, requires_grad=True)

    def step(i):
        rows = [torch.nn.functional.embedding(torch.arange(n + 1, device=device), weight) for n in range(3)]
        y = Scale.apply(torch.cat(rows))
        torch.split(y, 2)
        y.to(torch.float64).sum().backward()
        torch._foreach_mul([weight.detach(), weight.grad], 0.5)
        weight.grad = None

    return step


def threads(device):
    def work(n):
        with record_function("worker"):
            for size in range(1, 4):
                x = torch.ones(n * size, 16, device=device)
                (x @ x.t()).relu_().sum()

    def step(i):
        both = [threading.Thread(target=work, args=(n,)) for n in (2, 5)]
        for t in both:
            t.start()
        kept = torch.zeros(100, device=device)
        for t in both:
            t.join()
        del kept

    return step


def offload(device):
    weights = [torch.ones(1 << 14, device=device) for _ in range(3)]

    def step(i):
        with record_function("offload"):
            there = [w.to("cpu") for w in weights]
            for w in weights:
                w.data = torch.empty(0, device=device)
        with record_function("reload"):
            for w, t in zip(weights, there):
                w.data = t.to(device)

    return step


class Tower(torch.nn.Module):
    """Modules in each other, one of them twice, one again in backward."""

    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block(32) for _ in range(2))
        self.shared = torch.nn.Linear(32, 32)
        self.head = torch.nn.Sequential(torch.nn.Linear(32, 8), torch.nn.ReLU())

    def forward(self, x):
        x = self.shared(self.blocks[0](self.shared(x)))
        x = checkpoint(self.blocks[1], x, use_reentrant=False)
        with annotated("scaled"):
            kept = x.new_ones(4096)
            with annotated("inside"):
                x = Scale.apply(x)
            del kept
        return self.head(x)


def modules(device):
    model = Tower().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    if device == "cuda":
        measure_modules(model)
        name = "Optimizer.step#SGD.step"  # which PyTorch annotates itself
        optimizer.register_step_pre_hook(lambda *_: ANNOTATIONS.begin(name))
        optimizer.register_step_post_hook(lambda *_: ANNOTATIONS.end())

    def step(i):
        with annotated("step"), set_checkpoint_early_stop(False):
            with annotated("forward"):
                loss = model(torch.ones(16, 32, device=device)).sum()
            with annotated("backward"):
                loss.backward()
            with annotated("update"):
                optimizer.step()
                for p in model.parameters():
                    p.grad = None

    return step


def with_optimizer(make):
    def program(device):
        model = torch.nn.Sequential(*[torch.nn.Linear(12, 12) for _ in range(3)])
        return training(device, model, lambda i: torch.ones(4, 12), make)

    return program


def autograd_threads(device):
    """Forward and backward in several threads, whose sequence numbers are alike."""
    models = [torch.nn.Sequential(torch.nn.Linear(width, 8), torch.nn.Tanh()).to(device) for width in (3, 5, 7)]

    def work(model):
        width = model[0].in_features
        with record_function(f"width {width}"):
            for _ in range(width):
                model(torch.ones(2, width, device=device)).sum().backward()
            model.zero_grad(set_to_none=True)

    def step(i):
        for_each = [threading.Thread(target=work, args=(m,)) for m in models[1:]]
        for t in for_each:
            t.start()
        work(models[0])
        for t in for_each:
            t.join()

    return step


def nested(device):
    """Annotations in each other, some of one name, and a gradient of a gradient."""
    def down(x, depth):
        with record_function("down" if depth % 3 else "turn"):
            return down(x * 2, depth - 1) + x.new_ones(64).sum() if depth else x.exp()

    def step(i):
        x = torch.ones(32, device=device, requires_grad=True)
        (first,) = torch.autograd.grad(down(x, 7).sum(), x, create_graph=True)
        with record_function("second"):
            first.sum().backward()

    return step


def devices(device):
    """A stage of a pipeline on each of two devices, where there are two; what is reserved grows on the way."""
    places = [f"cuda:{i % torch.cuda.device_count()}" for i in range(2)] if device == "cuda" else [device] * 2
    stages = [torch.nn.Linear(512, 512).to(place) for place in places]

    def step(i):
        x = torch.ones(64 * (i + 1), 512)
        for stage, place in zip(stages, places):
            x = stage(x.to(place)).relu()
        x.sum().backward()

    return step


# name: program, steps, schedule, what is recorded
PROGRAMS = {
    "mlp": (mlp, 4, dict(wait=1, warmup=1, active=2), dict(profile_memory=True, record_shapes=True, with_stack=True)),
    "blocks": (blocks, 3, dict(wait=0, warmup=1, active=1, repeat=1),
               dict(profile_memory=True, record_shapes=True, with_stack=True)),
    "convolution": (convolution, 8, dict(wait=1, warmup=1, active=2, repeat=2),
                    dict(profile_memory=True, record_shapes=True)),
    "wide": (wide, 3, dict(wait=0, warmup=1, active=2), dict(profile_memory=True, record_shapes=True)),
    "lists": (lists, 3, dict(wait=0, warmup=1, active=2), dict(profile_memory=True, record_shapes=True)),
    "threads": (threads, 3, dict(wait=0, warmup=1, active=2), dict(profile_memory=True)),
    "plain": (mlp, 3, None, dict()),
    "modules": (modules, 1, None, dict(profile_memory=True, record_shapes=True, with_stack=True)),
    "annotations": (modules, 1, None, dict(profile_memory=True)),
    "foreach": (with_optimizer(lambda p: torch.optim.Adam(p, foreach=True)), 3, None,
                dict(profile_memory=True, record_shapes=True)),
    "fused": (with_optimizer(lambda p: torch.optim.AdamW(p, fused=True)), 3, None,
              dict(profile_memory=True, record_shapes=True)),
    "cycles": (with_optimizer(lambda p: torch.optim.SGD(p, lr=0.1, nesterov=True, momentum=0.5)), 14,
               dict(skip_first=1, wait=1, warmup=1, active=2, repeat=3), dict(profile_memory=True, with_stack=True)),
    "autograd_threads": (autograd_threads, 3, dict(wait=0, warmup=1, active=2),
                         dict(profile_memory=True, record_shapes=True, with_stack=True)),
    "nested": (nested, 2, None, dict(profile_memory=True, record_shapes=True, with_stack=True)),
    "devices": (devices, 5, dict(wait=0, warmup=1, active=4, repeat=1),
                dict(profile_memory=True, record_shapes=True)),
    "offload": (offload, 3, dict(wait=0, warmup=1, active=2), dict(profile_memory=True, record_shapes=True)),
}


def rows(averages):
    out = []
    for e in averages:
        device = getattr(e, "device_memory_usage", None)
        device = e.cuda_memory_usage if device is None else device
        self_device = getattr(e, "self_device_memory_usage", None)
        self_device = e.self_cuda_memory_usage if self_device is None else self_device
        out.append({
            "name": e.key, "shapes": str(e.input_shapes), "stack": list(e.stack or []), "count": e.count,
            "device_type": str(e.device_type), "annotation": bool(getattr(e, "is_user_annotation", False)),
            "cpu_bytes": e.cpu_memory_usage, "self_cpu_bytes": e.self_cpu_memory_usage,
            "device_bytes": device, "self_device_bytes": self_device,
            "cpu_ns": round(1000 * e.cpu_time_total), "self_cpu_ns": round(1000 * e.self_cpu_time_total),
            "device_ns": round(1000 * getattr(e, "device_time_total", 0)),
            "self_device_ns": round(1000 * getattr(e, "self_device_time_total", 0)),
        })
    return out


def pack(path, data):
    with open(path, "wb") as packed, gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as out:
        out.write(data)


def write(p, folder, name):
    with tempfile.TemporaryDirectory() as there:
        path = os.path.join(there, "trace.json")
        p.export_chrome_trace(path)
        trace = pathlib.Path(path).read_bytes()
    trace = re.sub(rb'("(?:host_name|traceName)": )"[^"]*"', rb'\1"here"', trace)
    pack(folder / f"{name}.trace.json.gz", trace)
    averages = {
        "torch": VERSION,
        "operators": rows(p.key_averages()),
        "shapes": rows(p.key_averages(group_by_input_shape=True)),
        "stacks": rows(p.key_averages(group_by_stack_n=5)),
        "modules": list(MODULES.rows.values()),
        "annotations": list(ANNOTATIONS.rows.values()) if torch.cuda.is_initialized() else [],
    }
    pack(folder / f"{name}.averages.json.gz", json.dumps(averages, indent=0, sort_keys=True).encode())


def make(folder, name, device):
    program, steps, plan, what = PROGRAMS[name]
    torch.manual_seed(0)
    step = program(device)
    step(0)
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    made = []
    if what.get("with_stack") and hasattr(getattr(torch._C, "_profiler", None), "_ExperimentalConfig"):
        # without it key_averages() knows no stacks
        what = dict(what, experimental_config=torch._C._profiler._ExperimentalConfig(verbose=True))

    def ready(p):
        if made and not hasattr(p, "acc_events"):
            return  # up to 2.5 the first cycle's numbers are added to the second's
        write(p, folder, f"{device}_{VERSION}_{name}" + (f"{len(made)}" if made else ""))
        made.append(name)

    MODULES.clear()
    ANNOTATIONS.clear()
    with profile(activities=activities, schedule=schedule(**plan) if plan else None,
                 on_trace_ready=ready, **what) as p:
        for i in range(steps):
            step(i)
            if plan:
                p.step()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("names", nargs="*")
    options.add_argument("--device", default="cpu")
    args = options.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in args.names or PROGRAMS:
        make(args.folder, name, args.device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
