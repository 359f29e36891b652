# SPDX-License-Identifier: Apache-2.0
"""Replays traces on a GPU and writes what came of it as Markdown; exit code 1 if something is wrong. usage:
report.py GMREPLAY TRACES TRUTH KERNELS.md SANITIZER   (TRUTH may be empty: none was recorded)"""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "compute"))
from runs import Run, compare, decisions, load  # noqa: E402

PROGRAM, TRACES, TRUTH, KERNELS, SANITIZER = sys.argv[1:6]
SUFFIXES = (".gmtrace", ".pickle", ".pkl")
GIB = 1 << 30
wrong = []


def gib(size):
    return f"{size / GIB:.3f}"


def table(*columns):
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))


def row(*values):
    print("| " + " | ".join(str(v) for v in values) + " |", flush=True)


def largest(run):
    return max(d["peak_reserved_bytes"] for d in run.json["devices"])


def is_same(path, memory, folder):
    """In words: whether the GPU leaves the snapshot that the simulated device leaves."""
    ours, theirs = os.path.join(folder, "sim"), os.path.join(folder, "gpu")
    sim = Run(PROGRAM, path, "--memory", memory, "-o", ours, "--summary", os.devnull)
    gpu = Run(PROGRAM, path, "--memory", memory, "-o", theirs, "--backend", "cuda")
    if gpu.code != sim.code:
        return f"exit {gpu.code}: {gpu.errors}"
    different = compare(load(ours), load(theirs))
    same = [decisions(d) for d in sim.json["devices"]] == [decisions(d) for d in gpu.json["devices"]]
    return "yes" if same and not different else f"NO: {(different or ['decisions'])[0]}"


def replay(path, memory, folder):
    modes = {"caching": (), "expandable": ("--alloc-conf", "expandable_segments:True")}
    runs = {name: Run(PROGRAM, path, "--memory", memory, "--backend", "cuda", *more) for name, more in modes.items()}
    runs["async"] = Run(PROGRAM, path, "--memory", memory, "--backend", "cuda-async")
    runs["full"] = Run(PROGRAM, path, "--memory", memory, "--backend", "cuda", "--compute", "full")
    for name, run in runs.items():
        if run.code not in (0, 1) or run.json is None:
            wrong.append(f"{path.name}, {name}: {run.errors}")
            return
    same = is_same(path, memory, folder)
    bad = sum(d["gpu"]["mismatches"] for d in runs["full"].json["devices"])
    if same != "yes" or bad or runs["full"].code:
        wrong.append(f"{path.name}: same snapshot: {same}; {bad} mismatches; {runs['full'].errors}")
    events = sum(d["events"] for d in runs["caching"].json["devices"])
    us = [sum(d["gpu"]["duration_us"] for d in runs[name].json["devices"]) / events for name in ("caching", "async")]
    row(f"`{path.name[:60]}`", events, same, bad, *(gib(largest(runs[n])) for n in ("caching", "expandable", "async")),
        f"{us[0]:.1f}", f"{us[1]:.1f}")


def out_of_memory(path, folder):
    peak = largest(Run(PROGRAM, path, "--memory", 1 << 50))
    snapshot = os.path.join(folder, "oom")
    run = Run(PROGRAM, path, "--backend", "cuda", "--memory", peak // 2, "--compute", "touch", "-o", snapshot)
    told = [line.strip() for line in run.text.splitlines() if "OUT OF MEMORY" in line]
    last = load(snapshot)["device_traces"][0][-1]["action"] if os.path.exists(snapshot) else None
    if run.code != 1 or not told or last != "oom":
        wrong.append(f"out of memory: exit {run.code}, {told}, {last}, {run.errors}")
    print(f"\n## Out of memory\n\n`{path.name}` with half of its peak: exit code {run.code}, the snapshot's last event "
          f"is `{last}`.\n\n    {told[0] if told else run.errors}")


def truth(folder):
    """Each program under each setting, predicted from its default recording, against what was recorded."""
    print("\n## Predictions against recordings of PyTorch on this machine\n")
    table("program", "setting", "addresses (--verify)", "recorded GiB", "predicted GiB", "error")
    for path in sorted(pathlib.Path(TRUTH).glob("*__*.pickle")):
        program, setting = path.stem.split("__")
        base = path.with_name(f"{program}__default.pickle")
        followed = Run(PROGRAM, path, "--verify")
        conf = (load(path).get("allocator_settings") or {}).get("PYTORCH_CUDA_ALLOC_CONF", "")
        if not base.exists() or followed.json is None:
            continue
        recorded, device = largest(followed), followed.device()
        predicted = largest(Run(PROGRAM, base, "--alloc-conf", conf))
        row(program, setting, f"{device['exact_addresses']} of {device['allocs']}", gib(recorded), gib(predicted),
            f"{100 * (predicted - recorded) / recorded:+.2f} %" if recorded else "n/a")
    del folder


def main():
    paths = [p for p in sorted(pathlib.Path(TRACES).rglob("*")) if p.name.endswith(SUFFIXES)]
    with tempfile.TemporaryDirectory() as folder:
        # Half of the GPU, so that both allocators meet the same limit.
        first = Run(PROGRAM, paths[0], "--backend", "cuda")
        if first.json is None:
            sys.exit(first.errors)
        gpu = first.device()["gpu"]
        memory = gpu["total_bytes"] * 3 // 4
        print(f"# On a GPU\n\nWritten by `tests/gpu/run.sh`. {gpu['name']}, {gib(gpu['total_bytes'])} GiB, compute "
              f"capability {gpu['compute_major']}.{gpu['compute_minor']}, CUDA {gpu['runtime_version'] // 1000}."
              f"{gpu['runtime_version'] % 1000 // 10}, driver for {gpu['driver_version'] // 1000}."
              f"{gpu['driver_version'] % 1000 // 10}. compute-sanitizer on all kernels: {SANITIZER}.\n\n## Kernels\n")
        with open(KERNELS, encoding="utf-8") as file:
            print(file.read())
        print(f"## Traces\n\nCap: {gib(memory)} GiB. Peaks are of reserved memory, in GiB; mismatches with "
              "`--compute full`; us: microseconds per event with `--compute none`.\n")
        table("trace", "events", "same as simulated", "mismatches", "caching", "expandable", "cudaMallocAsync", "us",
              "us, async")
        for path in paths:
            if any(d["events"] for d in (Run(PROGRAM, path).json or {"devices": []})["devices"]):
                replay(path, memory, folder)
        out_of_memory(paths[0], folder)
        if TRUTH:
            truth(folder)
    print(f"\n{len(wrong)} wrong." + "".join("\n- " + w for w in wrong))
    sys.exit(1 if wrong else 0)


main()
