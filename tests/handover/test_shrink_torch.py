#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gmtrace shrink against PyTorch itself: programs run out of memory, or reach a peak; what is left of their recordings is
run by PyTorch as the script that gmtrace wrote, on a larger card. It ends as it should, and PyTorch's recording of it is
the shrunk one, event by event, each address as an offset in its segment."""
import sys

sys.dont_write_bytecode = True
from torch_run import GMTRACE, PYTHON, cases, gmdry, load, run  # noqa: E402

PROGRAM = """
import random, sys, torch
rng, live = random.Random(int(sys.argv[1])), []
what = sys.argv[2]
sizes = [700, 90000, 3 << 20, 9 << 20, 14 << 20, 31 << 20]
streams = [torch.cuda.current_stream()] + [torch.cuda.Stream() for _ in range(2 if what == "streams" else 0)]
pool = torch.cuda.MemPool() if what == "pool" else None
if what != "late":
    torch.cuda.memory._record_memory_history(max_entries=200000)
def ask(size):
    with torch.cuda.stream(rng.choice(streams)):
        if pool is not None and rng.random() < 0.2:
            with torch.cuda.use_mem_pool(pool):
                return torch.empty(size, dtype=torch.uint8, device="cuda")
        return torch.empty(size, dtype=torch.uint8, device="cuda")
try:
    for i in range(3000):
        if what == "late" and i == 2000:
            torch.cuda.memory._record_memory_history(max_entries=200000)
        if live and rng.random() < (0.42 if len(live) < 60 else 0.495):
            t = live.pop(rng.randrange(len(live)))
            if what == "streams" and rng.random() < 0.1:
                t.record_stream(rng.choice(streams))
            del t
        elif i % 397 == 396:
            torch.cuda.empty_cache()
        else:
            live.append(ask(rng.choice(sizes)))
    print("no oom")
except torch.cuda.OutOfMemoryError:
    print("oom")
torch.cuda.memory._dump_snapshot("whole.pickle")
"""
CASES = [("plain", ""), ("plain", "max_split_size_mb:25"), ("plain", "roundup_power2_divisions:4"),
         ("streams", "expandable_segments:True"), ("late", ""), ("late", "expandable_segments:True"), ("pool", "")]


def rows(snapshot):
    """Events with the number of their segment, and the offset there; of an expandable one, what was mapped at once."""
    found, segments, streams = [], [], {}
    for event in snapshot["device_traces"][0]:
        action, size = event["action"], event["size"]
        if action in ("snapshot", "user_defined"):
            continue
        stream = streams.setdefault(event["stream"], len(streams))
        if action == "oom":
            found.append((action, size, stream))
            continue
        if action in ("segment_alloc", "segment_map"):
            segments.append((event["addr"], size))
        at = [(i, event["addr"] - start) for i, (start, bytes_) in enumerate(segments) if 0 <= event["addr"] - start < bytes_]
        found.append((action, size, stream, at[-1] if at else None))
    return found


def check(folder, name, *args):
    told = run(folder, GMTRACE, "shrink", "-o", "small.pickle", "--script", "small.py", *args, "whole.pickle", code=None)
    if told.returncode == 3 and "does not run out of memory in the model" in told.stderr:
        print(f"{name}: {told.stderr.strip().split(': ', 2)[-1]}")
        return False
    assert told.returncode == 0, (name, told.stderr)
    small, whole = load(folder / "small.pickle"), load(folder / "whole.pickle")
    again = gmdry(folder, "--memory", "7GiB", "--", PYTHON, "small.py", "again.pickle", code=None)
    told = told.stdout.splitlines()
    is_placed = any("hangs on where" in line for line in told)
    print(f"{name}: {next(line for line in told if ' events -> ' in line)}", flush=True)
    if is_placed and "NOT REPRODUCED" in again.stdout:
        print(f"{name}: as said, it hangs on where segments lie")
        return False
    assert "\nreproduced\n" in again.stdout, (name, again.stdout, again.stderr[-2000:], told)
    ours, theirs = rows(small), rows(load(folder / "again.pickle"))
    different = [(i, a, b) for i, (a, b) in enumerate(zip(ours, theirs)) if a != b]
    assert is_placed or (not different and len(ours) == len(theirs)), (name, different[:3], len(ours), len(theirs))
    assert len(ours) < len(rows(whole)) / 3, name
    return True


def main():
    reproduced = tried = 0
    for (seed, (what, settings)), folder in cases(PROGRAM, enumerate(CASES)):
        whole = gmdry(folder, "--memory", "1500MiB", "--", PYTHON, "program.py", str(seed), what, code=None,
                      PYTORCH_CUDA_ALLOC_CONF=settings)
        assert whole.stdout.split("\n")[0] == "oom", (what, settings, whole.stdout, whole.stderr[-2000:])
        tried += 2
        reproduced += check(folder, f"{what} {settings}: oom")
        reproduced += check(folder, f"{what} {settings}: peak", "--goal", "reserved")
    print(f"{reproduced} of {tried} reproduced by PyTorch")
    return reproduced < tried - 4


if __name__ == "__main__":
    sys.exit(main())
