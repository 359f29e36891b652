#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes traces of torch.profiler, and beside each what PyTorch itself says of it: key_averages(), as JSON.

    make_traces.py FOLDER [NAME...] [--device cpu|cuda]

Writes DEVICE_VERSION_NAME.trace.json.gz and DEVICE_VERSION_NAME.averages.json.gz, where what names the machine is
replaced. `cuda` may be gmdry's stand-in: `gmdry -- python make_traces.py FOLDER --device cuda`. The traces beside
this file were made so, with PyTorch's wheels from PyPI.
"""
import argparse
import gzip
import json
import os
import pathlib
import re
import sys
import tempfile
import threading

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

VERSION = torch.__version__.split("+")[0]


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.linear = torch.nn.Linear(width, width)

    def forward(self, x):
        return x + torch.nn.functional.gelu(self.linear(self.norm(x)))


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


# name: program, steps, schedule, what is recorded
PROGRAMS = {
    "mlp": (mlp, 4, dict(wait=1, warmup=1, active=2), dict(profile_memory=True, record_shapes=True, with_stack=True)),
    "blocks": (blocks, 3, dict(wait=0, warmup=1, active=1, repeat=1),
               dict(profile_memory=True, record_shapes=True, with_stack=True)),
    "convolution": (convolution, 8, dict(wait=1, warmup=1, active=2, repeat=2),
                    dict(profile_memory=True, record_shapes=True)),
    "lists": (lists, 3, dict(wait=0, warmup=1, active=2), dict(profile_memory=True, record_shapes=True)),
    "threads": (threads, 3, dict(wait=0, warmup=1, active=2), dict(profile_memory=True)),
    "plain": (mlp, 3, None, dict()),
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
    }
    pack(folder / f"{name}.averages.json.gz", json.dumps(averages, indent=0, sort_keys=True).encode())


def make(folder, name, device):
    program, steps, plan, what = PROGRAMS[name]
    torch.manual_seed(0)
    step = program(device)
    step(0)
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    made = []

    def ready(p):
        # older versions add the first cycle's numbers to the second's
        write(p, folder, f"{device}_{VERSION}_{name}" + (f"{len(made)}" if made else ""))
        made.append(name)

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
