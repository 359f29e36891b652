#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gmtrace cut against PyTorch itself: a program takes two snapshots, and the second one, cut where the first was taken,
is the first one: segments, blocks, stacks, events. With $GM_TORCH_PYTHON; else exit code 77. Binaries: $GMTRACE, $GMDRY."""
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

PROGRAM = """
import pickle, torch
torch.cuda.memory._record_memory_history(max_entries=200000)
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(6)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
def train(steps):
    for i in range(steps):
        model(torch.randn(64 * (1 + i % 3), 512, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
train(3)
kept = [torch.empty(3 * 2**20 * (i + 1), device="cuda", dtype=torch.uint8) for i in range(5)]
del kept[1], kept[2]
first = torch.cuda.memory._snapshot()
train(3)
torch.cuda.empty_cache()
del kept
train(2)
second = torch.cuda.memory._snapshot()
pickle.dump(first, open("first.pickle", "wb"))
pickle.dump(second, open("second.pickle", "wb"))
"""
SETTINGS = ["", "expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:4"]


def load(path):
    with open(path, "rb") as f:
        return pickle.load(f)  # our own


def state(snapshot):
    """All that PyTorch says of segments and blocks, but who had a free block last; and a segment's stack, which PyTorch
    forgets when it splits the first block."""
    for segment in snapshot["segments"]:
        segment["frames"] = []
        for block in segment["blocks"]:
            if block["state"] == "inactive":
                block["requested_size"] = 0
    return sorted(snapshot["segments"], key=lambda segment: segment["address"])


def events(snapshot):
    """Without times: PyTorch measures its clock anew for each snapshot, so those differ by a microsecond now and then."""
    return [{key: value for key, value in event.items() if key != "time_us"} for event in snapshot["device_traces"][0]]


def main():
    python = os.environ.get("GM_TORCH_PYTHON")
    if not python:
        print("skipped: no GM_TORCH_PYTHON")
        return 77
    for settings in SETTINGS:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "program.py").write_text(PROGRAM)
            subprocess.run([os.environ["GMDRY"], "-q", "--", python, "program.py"], cwd=folder, check=True,
                           env={**os.environ, "PYTORCH_CUDA_ALLOC_CONF": settings}, stdout=subprocess.DEVNULL)
            first = load(folder / "first.pickle")
            last = len(first["device_traces"][0]) - 1
            subprocess.run([os.environ["GMTRACE"], "cut", "-q", "--to", str(last), "-o", "cut.pickle", "second.pickle"],
                           cwd=folder, check=True)
            cut = load(folder / "cut.pickle")
            assert events(cut) == events(first), settings
            assert state(cut) == state(first), settings
            print(f"{settings or 'default settings'}: {len(first['segments'])} segments, {last + 1} events are the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
