# SPDX-License-Identifier: Apache-2.0
"""Every real snapshot on the fake GPU, with ample memory and with 70 % of the peak: the decisions and the snapshot of the
simulated device, nothing left behind; and through the pool. Those that allocate little are also touched, with every
kernel, on late streams. usage: check_real.py GMREPLAY_FAKE"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from runs import Run, compare, decisions, load  # noqa: E402
from snapshots import snapshots  # noqa: E402

GIB = 1 << 30
LITTLE = 1 << 30  # bytes of all allocations: what the CPU writes some six times


def check(path, snapshot, folder):
    ours, theirs = os.path.join(folder, "sim.pickle"), os.path.join(folder, "gpu.pickle")
    ample, wrong = 120 * GIB, []
    first = Run(sys.argv[1], path, "--memory", ample)
    if first.code == 3:
        return wrong, 0
    peak = max(d["peak_reserved_bytes"] for d in first.json["devices"])
    for memory in (ample, max(peak * 7 // 10, 64 << 20)):
        sim = Run(sys.argv[1], path, "--memory", memory, "-o", ours, "--summary", os.devnull)
        gpu = Run(sys.argv[1], path, "--memory", memory, "-o", theirs, "--backend", "cuda", memory=200 * GIB)
        where = f"{path.name}, {memory}"
        if sim.code not in (0, 1) or gpu.code != sim.code and sim.json["verdict"] is not None:
            wrong.append(f"{where}: exit {sim.code} and {gpu.code}: {gpu.errors}")
            continue
        if [decisions(d) for d in sim.json["devices"]] != [decisions(d) for d in gpu.json["devices"]]:
            wrong.append(f"{where}: other decisions")
        wrong += [f"{where}: {what}" for what in compare(load(ours), load(theirs))]
        if gpu.held():
            wrong.append(f"{where}: left {gpu.held()}")
    run = Run(sys.argv[1], path, "--backend", "cuda-async", memory=200 * GIB)
    if run.code != 0 or run.held():
        wrong.append(f"{path.name}: async: exit {run.code}, {run.errors}, left {run.held()}")
    total = sum(e["size"] for t in snapshot["device_traces"] for e in t if e["action"] == "alloc")
    blocks = sum(d["start"]["bytes"] for d in first.json["devices"])
    if total + blocks > LITTLE:
        return wrong, 0
    for backend in ("cuda", "cuda-async"):
        run = Run(sys.argv[1], path, "--backend", backend, "--compute", "full", late=1)
        bad = sum(d["gpu"]["mismatches"] for d in run.json["devices"]) if run.json else -1
        if run.code != 0 or bad != 0 or run.held():
            wrong.append(f"{path.name}: {backend} in full: exit {run.code}, {run.errors}, {bad} mismatches")
    return wrong, 1


def main():
    wrong, seen, touched = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for path, snapshot in snapshots():
            if not any(snapshot.get("device_traces") or []) or os.path.getsize(path) > 30 << 20:
                continue
            complaints, is_touched = check(path, snapshot, folder)
            wrong += complaints
            touched += is_touched
            seen += 1
            print("\n".join(complaints), end="\n" if complaints else "", flush=True)
    print(f"{seen} snapshots, {touched} of them touched: {len(wrong)} wrong")
    sys.exit(1 if wrong or seen == 0 else 0)


main()
