#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gmtrace cut against PyTorch itself: a program takes two snapshots, and the second one, cut where the first was taken,
is the first one: segments, blocks, stacks, events."""
import sys

sys.dont_write_bytecode = True
from torch_run import GMTRACE, PYTHON, cases, gmdry, load, run  # noqa: E402

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
    for settings, folder in cases(PROGRAM, SETTINGS):
        gmdry(folder, "--", PYTHON, "program.py", PYTORCH_CUDA_ALLOC_CONF=settings)
        first = load(folder / "first.pickle")
        last = len(first["device_traces"][0]) - 1
        run(folder, GMTRACE, "cut", "-q", "--to", str(last), "-o", "cut.pickle", "second.pickle")
        cut = load(folder / "cut.pickle")
        assert events(cut) == events(first), settings
        assert state(cut) == state(first), settings
        print(f"{settings or 'default settings'}: {len(first['segments'])} segments, {last + 1} events are the same")


if __name__ == "__main__":
    main()
