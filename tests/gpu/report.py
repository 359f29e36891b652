# SPDX-License-Identifier: Apache-2.0
"""Replays traces on a GPU and writes what came of it as Markdown; exit code 1 if something is wrong. run.sh calls it."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from page import gib, largest, row, table, traces, wrong
from runs import Run, compare, decisions, load
from truth import predictions


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("replay", "analyze", "traces", "truth", "kernels", "sanitizer", "recorded", "program-log", "bare", "out"):
        parser.add_argument("--" + name, required=True)
    return parser.parse_args()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def head(gpu):
    print(f"# On a GPU\n\nWritten by `tests/gpu/run.sh` ([how to run it](running.md)). {gpu['name']}, "
          f"{gib(gpu['total_bytes'])} GiB, compute capability {gpu['compute_major']}.{gpu['compute_minor']}, CUDA "
          f"{gpu['runtime_version'] // 1000}.{gpu['runtime_version'] % 1000 // 10}, driver for "
          f"{gpu['driver_version'] // 1000}.{gpu['driver_version'] % 1000 // 10}.\n")


def kernels(args):
    text, sanitizer = read(args.kernels), read(args.sanitizer)
    print("## Kernels\n\nAgainst their CPU references:\n\n" + text)
    if "NO" in text:
        wrong.append("kernels: a result differs, or fill and verify are too slow")
    print("## compute-sanitizer\n")
    table("what", "errors and leaks")
    print(sanitizer)
    if "NOT CLEAN" in sanitizer:
        wrong.append("compute-sanitizer")


def is_same(args, path, memory, folder):
    """In words: whether the GPU leaves the snapshot that the simulated device leaves; and that snapshot."""
    ours, theirs = os.path.join(folder, "sim"), os.path.join(folder, "gpu")
    sim = Run(args.replay, path, "--memory", memory, "-o", ours, "--summary", os.devnull)
    gpu = Run(args.replay, path, "--memory", memory, "-o", theirs, "--backend", "cuda")
    if gpu.code != sim.code:
        return f"exit {gpu.code}: {gpu.errors}", None
    snapshot = load(ours)
    different = compare(snapshot, load(theirs))
    same = [decisions(d) for d in sim.json["devices"]] == [decisions(d) for d in gpu.json["devices"]]
    return "yes" if same and not different else f"NO: {(different or ['decisions'])[0]}", snapshot


def bare(args, snapshot, folder):
    """Microseconds per call if each request is a cudaMalloc, and each free a cudaFree; None: it did not run."""
    calls, slots, unused = [], {}, []
    for event in [e for trace in snapshot["device_traces"] for e in trace]:
        if event["action"] == "alloc" and event["size"] > 0:
            slots[event["addr"]] = unused.pop() if unused else len(slots)
            calls.append(f"a {slots[event['addr']]} {event['size']}\n")
        elif event["action"] == "free_completed" and event["addr"] in slots:
            unused.append(slots.pop(event["addr"]))
            calls.append(f"f {unused[-1]}\n")
    path = os.path.join(folder, "calls")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(calls)
    done = subprocess.run([args.bare, path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        wrong.append(f"bare cudaMalloc: exit {done.returncode}: {done.stderr.strip()}")
        return None
    count, refused, seconds = done.stdout.split()
    return float(seconds) * 1e6 / int(count), int(refused)


def replay(args, path, memory, folder):
    modes = {"caching": ("--backend", "cuda"), "async": ("--backend", "cuda-async"),
             "expandable": ("--backend", "cuda", "--alloc-conf", "expandable_segments:True"),
             "full": ("--backend", "cuda", "--compute", "full")}
    runs = {name: Run(args.replay, path, "--memory", memory, *options) for name, options in modes.items()}
    for name, run in runs.items():
        if run.code not in (0, 1) or run.json is None:
            wrong.append(f"{path.name}, {name}: {run.errors}")
            return
    same, snapshot = is_same(args, path, memory, folder)
    bad = sum(d["gpu"]["mismatches"] for d in runs["full"].json["devices"])
    if same != "yes" or bad or runs["full"].code != runs["caching"].code:
        wrong.append(f"{path.name}: same snapshot: {same}; {bad} mismatches; {runs['full'].errors}")
    events = sum(d["events"] for d in runs["caching"].json["devices"])
    us = [sum(d["gpu"]["duration_us"] for d in runs[n].json["devices"]) / events for n in ("caching", "expandable", "async")]
    plain = bare(args, snapshot, folder) if snapshot else None
    row(f"`{path.name[:60]}`", events, same, bad, *(gib(largest(runs[n])) for n in ("caching", "expandable", "async")),
        *(f"{one:.2f}" for one in us), f"{plain[0]:.2f}" + (f" ({plain[1]} refused)" if plain[1] else "") if plain else "n/a")


def all_traces(args, memory, folder):
    print(f"\n## Traces\n\nCap: {gib(memory)} GiB. Peaks are of reserved memory, in GiB; mismatches with `--compute full`. "
          "Times are microseconds per event with `--compute none`, and per call of bare cudaMalloc and cudaFree for the "
          "same requests in the same order.\n")
    table("trace", "events", "same as simulated", "mismatches", "caching", "expandable", "cudaMallocAsync", "us caching",
          "us expandable", "us async", "us bare")
    replayed = []
    for path in traces(args.traces):
        if any(d["events"] for d in (Run(args.replay, path).json or {"devices": []})["devices"]):
            replay(args, path, memory, folder)
            replayed.append(path)
    print(f"\n{len(replayed)} traces.")
    return replayed


def analyze(args, path, folder):
    done = subprocess.run([args.analyze, "-q", "--no-charts", "-o", os.path.join(folder, "results"), "--json", "-",
                           str(path)], capture_output=True, text=True, check=False)
    return done, json.loads(done.stdout) if done.returncode == 0 else None


def out_of_memory(args, path, folder):
    peak = largest(Run(args.replay, path, "--memory", 1 << 50))
    snapshot = os.path.join(folder, "oom")
    run = Run(args.replay, path, "--backend", "cuda", "--memory", peak // 2, "--compute", "touch", "-o", snapshot)
    told = [line.strip() for line in run.text.splitlines() if "OUT OF MEMORY" in line]
    last = load(snapshot)["device_traces"][0][-1]["action"] if os.path.exists(snapshot) else None
    if run.code != 1 or not told or last != "oom":
        wrong.append(f"out of memory: exit {run.code}, {told}, {last}, {run.errors}")
    print(f"\n## Out of memory\n\n`{path.name}` with half of its peak: exit code {run.code}, the snapshot's last event "
          f"is `{last}`.\n\n    {told[0] if told else run.errors}")


def out_of_all_memory(args, path, total, folder):
    """Without a cap: sizes are scaled until they are too much for the whole card."""
    factor = 2 * total / max(largest(Run(args.replay, path)), 1)
    done, found = analyze(args, path, folder)
    if found is None:
        wrong.append(f"out of all memory: gmanalyze: {done.stderr.strip()}")
        return
    roles = {role["name"] for d in found["timeline"]["devices"] for role in d["roles_at_peak"] if role["bytes"]}
    scales = [word for role in sorted(roles) for word in ("--scale", f"role:{role}={factor:.3f}")]
    snapshot = os.path.join(folder, "full")
    run = Run(args.replay, path, "--backend", "cuda", *scales, "--compute", "none", "-o", snapshot)
    again = Run(args.replay, path, "--backend", "cuda")
    told = [line.strip() for line in run.text.splitlines() if "OUT OF MEMORY" in line]
    if run.code != 1 or not told or again.code not in (0, 1):
        wrong.append(f"out of all memory: exit {run.code}, {run.errors}; after it {again.code}, {again.errors}")
    print(f"\nThe same on the whole card, sizes times {factor:.0f}: exit code {run.code}; what was tried next ran.\n\n"
          f"    {told[0] if told else run.errors}")


def recorder(args, folder):
    print("\n## The recorder in a program that multiplies with cuBLAS\n")
    if not os.path.isabs(args.recorded):
        print(args.recorded)
        return
    said = read(args.program_log).strip()
    if not os.path.exists(args.recorded):
        wrong.append(f"the recorder wrote nothing: {said}")
        return
    done, analysis = analyze(args, args.recorded, folder)
    run = Run(args.replay, args.recorded, "-o", os.path.join(folder, "recorded.pickle"))
    if analysis is None or run.json is None or "exit code" in said:
        wrong.append(f"the recording: {said}; gmanalyze {done.returncode} {done.stderr}; gmreplay {run.code} {run.errors}")
        return
    found, device = analysis["timeline"]["devices"][0], run.device()
    marks = load(os.path.join(folder, "recorded.pickle")).get("external_annotations", [])
    names = sorted({m["name"] for m in marks})
    if found["allocs"] < 4 or not {"forward"} <= set(names) or len(names) < 3:
        wrong.append(f"the recording lacks something: {found['allocs']} allocations, {names}")
    print(f"`{said.splitlines()[-1].split(': /', 1)[0]}`. gmanalyze: {found['allocs']} allocations, {found['frees']} frees, peak "
          f"{gib(found['peak_allocated_bytes'])} GiB; gmreplay: PyTorch's allocator would have reserved "
          f"{gib(device['peak_reserved_bytes'])} GiB for them. Ranges, kernels and copies, by name:\n")
    print("\n".join(f"- `{name[:100]}`" for name in names))


def main():
    args = arguments()
    paths = traces(args.traces)
    with tempfile.TemporaryDirectory() as folder:
        first = Run(args.replay, paths[0], "--backend", "cuda")
        if first.json is None:
            sys.exit(first.errors)
        gpu = first.device()["gpu"]
        head(gpu)
        kernels(args)
        # Three quarters of the GPU, so that both allocators meet the same limit.
        replayed = all_traces(args, gpu["total_bytes"] * 3 // 4, folder)
        if not replayed:
            wrong.append("no trace has events")
        else:
            out_of_memory(args, replayed[0], folder)
            out_of_all_memory(args, replayed[0], gpu["total_bytes"], folder)
        recorder(args, folder)
        if args.truth:
            predictions(args.replay, args.truth, args.out, folder)
    print(f"\n{len(wrong)} wrong." + "".join("\n- " + w for w in wrong))
    sys.exit(1 if wrong else 0)


main()
