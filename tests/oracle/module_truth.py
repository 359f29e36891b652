#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls of modules as gmanalyze tells them apart, held against which module was running when each block was made.
usage: module_truth.py record FOLDER GMDRY PYTHON [NAME...],
module_truth.py score DUMP_ALLOCATIONS FOLDER [--least PERCENT], or module_truth.py test DUMP_ALLOCATIONS GMDRY, which
records into a folder of its own with GM_TORCH_PYTHON (77: there is none).

Of the bytes that were made while a module ran, right are those whose place in the tree (line by line, call by call) is
where most of that module's bytes are, and most of that place's bytes are that module's: two layers in one place are
wrong, and so is a layer in two places. `layer` asks that of the elements of lists of modules only."""
import argparse
import bisect
import collections
import glob
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


# ---- recording: under gmdry ------------------------------------------------------------------------------------------

class Running:
    """Which module runs in this thread, as (time, name) at each change. The interpreter tells: no hook, which would
    stand in the stacks."""

    def __init__(self, module):
        self.module, self.names, self.stack, self.marks = module, {}, [], []

    def mark(self):
        before = time.time_ns() // 1000
        while (now := time.time_ns() // 1000) == before:
            pass
        self.marks.append((now, self.stack[-1] if self.stack else ""))
        while time.time_ns() // 1000 == now:
            pass

    def name(self, module):
        if id(module) not in self.names:
            root = f"root{len(self.names)}"
            for name, one in module.named_modules():
                self.names.setdefault(id(one), (f"{root}.{name}".rstrip("."), one))  # held: ids are not used again
        return self.names[id(module)][0]

    def see(self, frame, event, _):
        if frame.f_code.co_name != "forward" or event not in ("call", "return"):
            return
        module = frame.f_locals.get("self")
        if not isinstance(module, self.module):
            return
        if event == "call":
            self.stack.append(self.name(module))
        elif self.stack:
            self.stack.pop()
        self.mark()


def worker(folder, wanted):
    import quiet
    import module_programs
    import role_programs
    quiet.begin()
    import torch
    import torch._dynamo  # noqa: F401
    from truth import Truth
    for name in wanted:
        if os.fork() == 0:
            running, kept = Running(torch.nn.Module), None  # what programs return is held
            torch.cuda.memory._record_memory_history(stacks="python")
            sys.setprofile(running.see)
            try:
                kept = {**role_programs.ALL, **module_programs.ALL}[name](torch, Truth(torch), lambda: None)
            except Exception as error:  # pylint: disable=broad-except
                print(name, error, file=sys.stderr, flush=True)
            sys.setprofile(None)
            with open(os.path.join(folder, name + ".pickle"), "wb") as file:
                pickle.dump(torch.cuda.memory._snapshot(), file)
            with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
                json.dump(running.marks, file)
            os._exit(0 if kept is not None else 1)
        os.wait()


def record(folder, gmdry, python, wanted):
    import module_programs
    import role_programs
    os.makedirs(folder, exist_ok=True)
    names = wanted or [*role_programs.ALL, *module_programs.ALL]
    return subprocess.run([gmdry, "-q", "--no-charts", "-o", os.path.join(folder, "runs"), "--", python, __file__,
                           "worker", folder, *names], check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}).returncode


# ---- scoring ---------------------------------------------------------------------------------------------------------

def agree(pairs):
    """Of {(truth, found): bytes}, by truth the bytes where each is the other's most."""
    best, back, right = {}, {}, collections.Counter()
    for (truth, found), size in sorted(pairs.items()):
        if size > best.get(truth, (0, ""))[0]:
            best[truth] = (size, found)
        if size > back.get(found, (0, ""))[0]:
            back[found] = (size, truth)
    for (truth, found), size in pairs.items():
        if found and best[truth][1] == found and back[found][1] == truth:
            right[truth] += size
    return right


def layer_of(name):
    """root0.layers.3.mlp: root0.layers.3"""
    found = re.match(r"^(.*?\.\d+)(\.|$)", name)
    return found.group(1) if found else None


def score_one(dump, path):
    done = subprocess.run([dump, path], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{path}: {done.stderr}")
    found = json.loads(done.stdout)
    with open(os.path.splitext(path)[0] + ".json", encoding="utf-8") as file:
        marks = json.load(file)
    times = [when for when, _ in marks]
    leaves, layers = collections.Counter(), collections.defaultdict(collections.Counter)
    for _, size, born, *_, place in found["allocations"]:
        i = bisect.bisect_right(times, found["times"][born - 1]) - 1 if born > 0 else -1
        name = marks[i][1] if i >= 0 else ""
        if not name:
            continue
        leaves[name, place] += size
        parts = place.split("|")[1:]
        layer = layer_of(name)
        for depth in range(1, 12):
            if layer:
                layers[depth][layer, "|".join(parts[:depth])] += size
    whole, of_layers = sum(leaves.values()), sum(layers[1].values())
    right = collections.Counter()  # elements of lists may lie at several depths
    for one in layers.values():
        right |= agree(one)
    return sum(agree(leaves).values()), whole, sum(right.values()), of_layers


def score(dump, folder, least):
    shares, layer_shares, weak = [], [], 0
    for path in sorted(glob.glob(os.path.join(folder, "*.pickle"))):
        right, whole, layer_right, of_layers = score_one(dump, path)
        if not whole:
            continue
        shares.append(100 * right / whole)
        told = "no layers"
        if of_layers:
            layer_shares.append(100 * layer_right / of_layers)
            told = f"layer {layer_shares[-1]:6.2f} %"
            weak += layer_shares[-1] < least
        print(f"{os.path.basename(path)[:-7]:32} module {shares[-1]:6.2f} %  {told}")
    print(f"mean of {len(shares)} programs: module {sum(shares) / max(1, len(shares)):.2f} %, layer "
          f"{sum(layer_shares) / max(1, len(layer_shares)):.2f} % ({len(layer_shares)}); {weak} under {least} %")
    return sum(layer_shares) / max(1, len(layer_shares)) < least or not shares


def main():
    if sys.argv[1:2] == ["worker"]:
        return worker(sys.argv[2], sys.argv[3:])
    if sys.argv[1:2] == ["record"]:
        return record(*sys.argv[2:5], sys.argv[5:])
    if sys.argv[1:2] == ["test"]:
        python = os.environ.get("GM_TORCH_PYTHON")
        if not python:
            print("skipped: GM_TORCH_PYTHON is not set")
            return 77
        import module_programs
        with tempfile.TemporaryDirectory() as folder:
            record(folder, sys.argv[3], python, [*module_programs.ALL])  # exit code 4: there is no report
            return score(sys.argv[2], folder, 90)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("score", choices=["score"])
    parser.add_argument("dump")
    parser.add_argument("folder")
    parser.add_argument("--least", type=float, default=90)
    options = parser.parse_args()
    return score(options.dump, options.folder, options.least)


if __name__ == "__main__":
    sys.exit(main())
