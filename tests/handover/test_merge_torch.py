#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gmtrace merge against PyTorch itself: a program is recorded with a large ring, and once more with a small one that it dumps
after each step and when memory runs out. The dumps, merged, are what the large ring has: events, stacks, segments, blocks. And
two processes as ranks of a job. With $GM_TORCH_PYTHON; else exit code 77. Binaries: $GMTRACE, $GMREPLAY, $GMDRY."""
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

PROGRAM = """
import pickle, sys, torch
ring, name = int(sys.argv[1]), sys.argv[2]
dumps = 0
def dump(*_):
    global dumps
    snapshot = torch.cuda.memory._snapshot()
    pickle.dump(snapshot, open(f"{name}{dumps}.pickle", "wb"))
    dumps += 1
torch.cuda.init()
torch.cuda.memory._record_memory_history(enabled=None)
torch.cuda.memory._record_memory_history(max_entries=ring)
torch._C._cuda_attach_out_of_memory_observer(dump)
models, kept = [], []
for device in range(2):
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(6)]).cuda(device)
    models.append((model, torch.optim.AdamW(model.parameters())))
for i in range(10):
    for device, (model, optimizer) in enumerate(models[:1 + i % 2]):
        model(torch.randn(64 * (1 + i % 3), 512, device=device)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        kept.append(torch.empty(3 * 2**20 * (1 + i % 4), device=device, dtype=torch.uint8))
    if i == 4:
        kept.clear()
        torch.cuda.empty_cache()
    if i == 6:
        try:
            torch.empty(2**42, device=0, dtype=torch.uint8)
        except torch.OutOfMemoryError:
            pass
    dump()
"""
SETTINGS = ["", "expandable_segments:True,roundup_power2_divisions:4"]


def load(path):
    with open(path, "rb") as f:
        return pickle.load(f)  # our own


def without_times(snapshot):
    """Of another process: all else is the same."""
    for row in [event for trace in snapshot["device_traces"] for event in trace] + snapshot.get("external_annotations", []):
        row.pop("time_us", None)
    return snapshot


def run(folder, *command, code=0):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, (command, done.returncode, done.stdout, done.stderr)
    return done.stdout


def check(folder, python, gmdry, gmtrace, gmreplay):
    for ring, name in ((10**6, "long"), (400, "short"), (40, "gap")):
        run(folder, gmdry, "-q", "--devices", "2", "--", python, "program.py", str(ring), name)
    names = [f"short{i}.pickle" for i in range(11)]
    whole = load(folder / "long10.pickle")
    events = [len(t) for t in whole["device_traces"]]
    assert all(len(t) <= 400 for n in names for t in load(folder / n)["device_traces"]) and max(events) > 1000, events
    run(folder, gmtrace, "merge", "-q", "-o", "merged.pickle", *reversed(names))
    merged = load(folder / "merged.pickle")
    times = [e.get("time_us", 0) for t in merged["device_traces"][:1] for e in t]
    assert times == sorted(times)
    assert without_times(merged) == without_times(whole)
    run(folder, gmreplay, "--verify", "-q", "merged.pickle")
    run(folder, gmtrace, "merge", "-q", "-o", "gap.pickle", *[f"gap{i}.pickle" for i in range(11)], code=3)
    assert not (folder / "gap.pickle").exists()
    run(folder, gmtrace, "merge", "--ranks", "-q", "-o", "job.pickle", "long10.pickle", "short10.pickle")
    job, last = load(folder / "job.pickle"), load(folder / "short10.pickle")
    assert without_times(job)["device_traces"] == whole["device_traces"] + without_times(last)["device_traces"]
    run(folder, gmreplay, "--verify", "-q", "job.pickle")
    site = run(folder, python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip()
    for what in ("stats", "trace"):
        viewed = [re.sub("'time_us': [0-9]+", "", run(folder, python, f"{site}/torch/cuda/_memory_viz.py", what, name))
                  for name in ("merged.pickle", "long10.pickle")]
        assert viewed[0] == viewed[1] != ""
    return events


def main():
    python = os.environ.get("GM_TORCH_PYTHON")
    if not python:
        print("skipped: no GM_TORCH_PYTHON")
        return 77
    for settings in SETTINGS:
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = settings
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "program.py").write_text(PROGRAM)
            events = check(folder, python, *(os.environ[name] for name in ("GMDRY", "GMTRACE", "GMREPLAY")))
            print(f"{settings or 'default settings'}: {events} events of two devices, of 11 dumps, are the same", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
