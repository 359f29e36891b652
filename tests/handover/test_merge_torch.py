#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gmtrace merge against PyTorch itself: a program is recorded with a large ring, and once more with a small one that it dumps
after each step and when memory runs out. The dumps, merged, are what the large ring has: events, stacks, segments, blocks. And
two processes as ranks of a job."""
import re
import sys

sys.dont_write_bytecode = True
from torch_run import GMREPLAY, GMTRACE, PYTHON, cases, gmdry, load, run  # noqa: E402

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


def without_times(snapshot):
    """Of another process: all else is the same."""
    for row in [event for trace in snapshot["device_traces"] for event in trace] + snapshot.get("external_annotations", []):
        row.pop("time_us", None)
    return snapshot


def check(folder, settings):
    for ring, name in ((10**6, "long"), (400, "short"), (40, "gap")):
        gmdry(folder, "--devices", "2", "--", PYTHON, "program.py", str(ring), name, PYTORCH_CUDA_ALLOC_CONF=settings)
    names = [f"short{i}.pickle" for i in range(11)]
    whole = load(folder / "long10.pickle")
    events = [len(t) for t in whole["device_traces"]]
    assert all(len(t) <= 400 for n in names for t in load(folder / n)["device_traces"]) and max(events) > 1000, events
    run(folder, GMTRACE, "merge", "-q", "-o", "merged.pickle", *reversed(names))
    merged = load(folder / "merged.pickle")
    times = [e.get("time_us", 0) for t in merged["device_traces"][:1] for e in t]
    assert times == sorted(times)
    assert without_times(merged) == without_times(whole)
    run(folder, GMREPLAY, "--verify", "-q", "merged.pickle")
    run(folder, GMTRACE, "merge", "-q", "-o", "gap.pickle", *[f"gap{i}.pickle" for i in range(11)], code=3)
    assert not (folder / "gap.pickle").exists()
    run(folder, GMTRACE, "merge", "--ranks", "-q", "-o", "job.pickle", "long10.pickle", "short10.pickle")
    job, last = load(folder / "job.pickle"), load(folder / "short10.pickle")
    assert without_times(job)["device_traces"] == whole["device_traces"] + without_times(last)["device_traces"]
    run(folder, GMREPLAY, "--verify", "-q", "job.pickle")
    site = run(folder, PYTHON, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").stdout.strip()
    for what in ("stats", "trace"):
        viewed = [re.sub("'time_us': [0-9]+", "", run(folder, PYTHON, f"{site}/torch/cuda/_memory_viz.py", what, name).stdout)
                  for name in ("merged.pickle", "long10.pickle")]
        assert viewed[0] == viewed[1] != ""
    return events


def main():
    for settings, folder in cases(PROGRAM, SETTINGS):
        events = check(folder, settings)
        print(f"{settings or 'default settings'}: {events} events of two devices, of 11 dumps, are the same", flush=True)


if __name__ == "__main__":
    main()
