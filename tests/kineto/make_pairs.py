#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes pairs of what one run leaves behind: a snapshot of the allocator and a trace of torch.profiler.

    make_pairs.py FOLDER [NAME...]

Writes VERSION_NAME.pickle.gz and VERSION_NAME.pair.json.gz, where what names the machine is replaced. It needs a GPU,
or gmdry's stand-in: `gmdry --devices 2 -- python make_pairs.py FOLDER`. The pairs in pairs/ were made so, with PyTorch's
wheels from PyPI.

What `lines` and `numbers` make is kept until the snapshot, and each of their lines says by which operator, and of which
shape: that is what test_join.py holds the operators and formulas of the largest blocks against.
"""
import argparse
import gzip
import pathlib
import re
import sys
import tempfile
import threading

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

VERSION = torch.__version__.split("+")[0]
DEVICE = "cuda"


def lines(kept):
    x = torch.randn(24, 48, device=DEVICE)  # aten::randn
    w = torch.ones(48, 40, device=DEVICE)  # aten::ones
    t = torch.arange(24, device=DEVICE)  # aten::arange
    kept += [x, w, t]
    for _ in range(3):
        y = x @ w  # aten::matmul
        z = y + 1.0  # aten::add
        kept += [y, z]
        kept.append(torch.relu(z))  # aten::relu
        kept.append(torch.cat([y, z]))  # aten::cat
        kept.append(torch.nn.functional.linear(x, w.t()))  # aten::linear
        kept.append(torch.nn.functional.embedding(t, y))  # aten::embedding
        kept.append(y.to(torch.float16))  # aten::to
        kept.append(y.sum(dim=0))  # aten::sum
        kept.append(y.unsqueeze(0) * y.unsqueeze(1))  # aten::mul
        kept.append(torch.bmm(y.unsqueeze(1), y.unsqueeze(2)))  # aten::bmm
        kept.append(y[t])  # aten::index
        kept.append(torch.zeros_like(z))  # aten::zeros_like
        kept.append(torch.empty(7, 11, device=DEVICE))  # aten::empty
        kept.append(y.clone())  # aten::clone


def numbers(kept):
    """Sizes that are told by numbers and not by tensors: behind the operator stands what a size is of."""
    image = torch.ones(2, 3, 17, 20, device=DEVICE)  # aten::ones: 2 x 3 x 17 x 20 x fp32
    filters = torch.ones(5, 3, 3, 4, device=DEVICE)  # aten::ones: 5 x 3 x 3 x 4 x fp32
    back = torch.ones(3, 6, 3, 3, device=DEVICE)  # aten::ones: 3 x 6 x 3 x 3 x fp32
    rows = torch.rand(24, 40, device=DEVICE)  # aten::rand: 24 x 40 x fp32
    kept += [image, filters, back, rows]
    for _ in range(2):
        kept.append(torch.empty(7, 11, device=DEVICE))  # aten::empty: 7 x 11 x fp32
        kept.append(torch.empty([33, 9], dtype=torch.bfloat16, device=DEVICE))  # aten::empty: 33 x 9 x bf16
        kept.append(torch.zeros(5, 129, dtype=torch.int64, device=DEVICE))  # aten::zeros: 5 x 129 x int64
        kept.append(torch.full((6, 67), 2.5, device=DEVICE))  # aten::full: 6 x 67 x fp32
        kept.append(torch.full((6, 67), 2, dtype=torch.int32, device=DEVICE))  # aten::full: 6 x 67 x int32
        kept.append(torch.full((19, 5), True, device=DEVICE))  # aten::full: 19 x 5 x bool
        kept.append(torch.randn(21, 13, dtype=torch.float16, device=DEVICE))  # aten::randn: 21 x 13 x fp16
        kept.append(torch.randint(0, 9, (14, 15), device=DEVICE))  # aten::randint: 14 x 15 x int64
        kept.append(torch.arange(187, device=DEVICE))  # aten::arange: 187 x int64
        kept.append(torch.arange(3, 190, 2, device=DEVICE))  # aten::arange: 94 x int64
        kept.append(torch.arange(0, 10, 0.25, device=DEVICE))  # aten::arange: 40 x fp32
        kept.append(torch.arange(7, 1, -1, dtype=torch.int32, device=DEVICE))  # aten::arange: 6 x int32
        kept.append(torch.linspace(0, 1, 311, device=DEVICE))  # aten::linspace: 311 x fp32
        kept.append(torch.eye(18, device=DEVICE))  # aten::eye: 18 x 18 x fp32
        kept.append(torch.empty_strided((4, 8), (16, 1), device=DEVICE))  # aten::empty_strided: 4 x 8 x fp32, strided
        kept.append(rows.new_empty((9, 31)))  # aten::new_empty: 9 x 31 x fp32
        kept.append(rows.new_zeros((9, 31), dtype=torch.float16))  # aten::new_zeros: 9 x 31 x fp16
        kept.append(rows.new_full((8, 31), 1))  # aten::new_full: 8 x 31 x fp32
        kept.append(rows.repeat(3, 2))  # aten::repeat: 72 x 80 x fp32
        kept.append(image.sum(dim=(1, 2), keepdim=True))  # aten::sum: 2 x 1 x 1 x 20 x fp32
        kept.append(image.mean(dim=-2))  # aten::mean: 2 x 3 x 20 x fp32
        kept.append(torch.nn.functional.pad(image, (1, 2, 3, 4)))  # aten::pad: 2 x 3 x 24 x 23 x fp32
        kept.append(torch.nn.functional.conv2d(image, filters, stride=2, padding=1))  # aten::conv2d: 2 x 5 x 9 x 10 x fp32
        kept.append(torch.nn.functional.conv_transpose2d(image, back, stride=2, output_padding=1))  # aten::conv_transpose2d: 2 x 6 x 36 x 42 x fp32
        kept.append(torch.nn.functional.avg_pool2d(image, 3))  # aten::avg_pool2d: 2 x 3 x 5 x 6 x fp32
        kept.append(torch.nn.functional.max_pool2d(image, 3, stride=2, padding=1))  # aten::max_pool2d: 2 x 3 x 9 x 10 x fp32
        kept += rows.topk(7)  # aten::topk: 24 x 7 x
        kept.append(rows.argmax(dim=1))  # aten::argmax: 24 x int64
        kept.append(rows > 0.5)  # aten::gt: 24 x 40 x bool
        kept.append(torch.nn.functional.interpolate(image, size=(30, 31)))  # aten::upsample_nearest2d: 2 x 3 x 30 x 31 x fp32


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 3 * width)
        self.down = torch.nn.Linear(3 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def training():
    model = torch.nn.Sequential(torch.nn.Embedding(64, 16), Block(16), torch.nn.Linear(16, 64)).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())

    def step(_):
        tokens = torch.ones(3, 5, dtype=torch.int64, device=DEVICE)
        with record_function("forward"):
            loss = model(tokens).sum()
        with record_function("backward"):
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def inference():
    model = torch.nn.Sequential(Block(16), Block(16)).to(DEVICE).eval()

    def step(i):
        with torch.no_grad():
            model(torch.ones(4 + i, 16, device=DEVICE))

    return step


def threads():
    def work(n):
        for size in range(1, 6):
            x = torch.ones(n * size, 16, device=DEVICE)
            (x @ x.t()).relu_().sum()

    def step(_):
        both = [threading.Thread(target=work, args=(n,)) for n in (2, 5)]
        for t in both:
            t.start()
        for size in range(3, 9):
            (torch.ones(size, 16, device=DEVICE) * 2).sum()
        for t in both:
            t.join()

    return step


def devices():
    def step(i):
        for d in range(torch.cuda.device_count()):
            x = torch.ones(3 + i + d, 16, device=f"cuda:{d}")
            (x @ x.t()).relu_().sum()
            (x * 2).sum()

    return step


def all_lines():
    kept = []
    lines([])
    return lambda _: lines(kept)


def all_numbers():
    kept = []
    numbers([])
    return lambda _: numbers(kept)


# name: program, steps, schedule, what is recorded
PROGRAMS = {
    "lines": (all_lines, 1, None, dict(record_shapes=True)),
    "numbers": (all_numbers, 1, None, dict(record_shapes=True)),
    "again": (all_lines, 1, None, dict(record_shapes=True)),
    "training": (training, 4, dict(wait=1, warmup=1, active=1, repeat=1), dict(record_shapes=True, with_stack=True)),
    "inference": (inference, 5, dict(wait=1, warmup=1, active=2, repeat=1), dict(record_shapes=True)),
    "threads": (threads, 4, dict(wait=0, warmup=1, active=2, repeat=1), dict()),
    "devices": (devices, 4, dict(wait=1, warmup=1, active=2, repeat=1), dict(record_shapes=True)),
}


def pack(path, data):
    with open(path, "wb") as packed, gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as out:
        out.write(data)


def plain(data):
    data = re.sub(rb'("(?:host_name|traceName)": )"[^"]*"', rb'\1"here"', data)
    return re.sub(rb'[^" ]*/(site-packages|lib)/', rb'\1/', data)


def record(name, there):
    program, steps, plan, what = PROGRAMS[name]
    torch.manual_seed(0)
    torch.empty(1, device=DEVICE)
    torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python")
    step = program()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True,
                 schedule=schedule(**plan) if plan else None,
                 on_trace_ready=lambda p: p.export_chrome_trace(f"{there}/trace.json"), **what) as p:
        for i in range(steps):
            step(i)
            if plan:
                p.step()
    torch.cuda.memory._dump_snapshot(f"{there}/pickle")
    torch.cuda.memory._record_memory_history(enabled=None)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("names", nargs="*")
    args = options.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in args.names or PROGRAMS:
        with tempfile.TemporaryDirectory() as there:
            record(name, there)
            pack(args.folder / f"{VERSION}_{name}.pair.json.gz", plain(pathlib.Path(there, "trace.json").read_bytes()))
            pack(args.folder / f"{VERSION}_{name}.pickle.gz", pathlib.Path(there, "pickle").read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
