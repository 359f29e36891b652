# SPDX-License-Identifier: Apache-2.0
"""Steps of every real snapshot against a recomputation: annotations placed among the events by their times, peaks and
ends of each step by the contract's rule of live requested bytes, optimizer steps counted in the stacks, and for steps
found by period the share of allocations that come again in the next step."""
import bisect
import json
import os
import subprocess
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import program, requested_of, snapshots  # noqa: E402

PHASES = ("other", "forward", "backward", "optimizer", "prefill", "decode")


def found_by(tool, path):
    done = subprocess.run([tool, str(path)], capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{path.name}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    text, decoder, at, devices = done.stdout.decode(), json.JSONDecoder(), 0, {}
    while at < len(text):
        device, at = decoder.raw_decode(text, at)
        devices[device["device"]] = device
        while at < len(text) and text[at].isspace():
            at += 1
    return devices


def live_after(trace, segments):
    """Requested bytes of live blocks before event 0 and after every event."""
    live, total, start, sums = {}, 0, 0, []
    for e in trace:
        if e["action"] == "alloc":
            total += e["size"] - live.get(e["addr"], 0)
            live[e["addr"]] = e["size"]
        elif e["action"] in ("free_completed", "free"):
            if e["addr"] not in live:
                start += e["size"]
            total -= live.pop(e["addr"], e["size"])
        sums.append(total)
    for segment in segments:
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] != "inactive" and block.get("address", address) not in live:
                start += requested_of(block)
            address += block["size"]
    return start, [start + s for s in sums]


def ranges_of(annotations, device, times):
    """(name, first event, last event) of all STARTs with their ENDs; the ends of the trace where one is missing."""
    mine = [a for a in annotations if a["device"] == device] or annotations
    opened, ranges = {}, []
    for a in sorted(mine, key=lambda a: a["time_us"]):
        if a["stage"] == "START":
            opened.setdefault(a["name"], []).append(a["time_us"])
        elif a["stage"] == "END":
            starts = opened.get(a["name"])
            ranges.append((a["name"], starts.pop() if starts else None, a["time_us"]))
    ranges += [(name, start, None) for name, starts in opened.items() for start in starts]
    placed = []
    for name, start, end in ranges:
        first = 0 if start is None else bisect.bisect_left(times, start)
        last = len(times) - 1 if end is None else bisect.bisect_right(times, end) - 1
        if first <= last:
            placed.append((name, first, last))
    return placed


def stack_of(event):
    return tuple((f["name"], f["filename"], f["line"]) for f in event.get("frames") or [])


def is_optimizer(stack):
    """torch.optim is on the stack, and nothing inside of it is a module's or backward's."""
    for name, filename, _ in stack:
        if "Backward" in name or name in ("forward", "_call_impl", "backward") or "Engine::" in name:
            return False
        if "torch/optim/" in filename.replace("\\", "/"):
            return True
    return False


def check_rows(device, trace, start, sums, wrong):
    phase_of, runs = [], device["phases"]
    for (name, first), following in zip(runs, runs[1:] + [[None, len(trace)]]):
        phase_of += [name] * (following[1] - first)
    before, last_event = None, -1
    for row in device["rows"]:
        first, last = row["first"], row["last"]
        if not last_event < first <= last < len(trace):
            wrong.append(f"{row['label']}: events {first} to {last} after {last_event}")
            return
        inside = sums[first:last + 1]
        peak = max(inside)
        allocs = [e["size"] for e in trace[first:last + 1] if e["action"] == "alloc"]
        level = before if before is not None else sums[first - 1] if first > 0 else start
        should = {"peak": peak, "peak_event": first + inside.index(peak), "end": inside[-1], "allocs": len(allocs),
                  "alloc_bytes": sum(allocs), "growth": inside[-1] - level}
        for phase in PHASES if phase_of else ():
            should[phase] = max((s for s, p in zip(inside, phase_of[first:last + 1]) if p == phase), default=None)
        for key, value in should.items():
            if row[key] != value:
                wrong.append(f"{row['label']}: {key} is {row[key]}, should be {value}")
        before, last_event = inside[-1], last


def check_annotations(device, ranges, wrong):
    shown = Counter((b["name"], b["first"], b["last"]) for b in device["bands"]
                    if not b["is_step"] and b["name"] not in PHASES)
    should = Counter(r for r in ranges if not r[0].startswith("ProfilerStep#"))
    if (shown != should) if sum(should.values()) <= 400 else (sum(shown.values()) != 400 or shown - should):
        wrong.append(f"annotations: {shown - should} are shown, {should - shown} are not")
    if device["source"] == "Optimizer.step annotations":
        ends = {last for name, _, last in ranges if name.startswith("Optimizer.step#")}
        rows = {row["last"] for row in device["rows"] if not row["is_partial"]}
        if not rows <= ends:
            wrong.append(f"steps end at {sorted(rows)}, optimizer steps at {sorted(ends)}")
    if device["source"] == "ProfilerStep annotations":
        if [r["label"] for r in device["rows"]] != [r[0] for r in ranges if r[0].startswith("ProfilerStep#")]:
            wrong.append("profiler steps are not the rows")


def check_source(device, trace, wrong):
    allocs = [(i, stack_of(e), e["size"]) for i, e in enumerate(trace) if e["action"] == "alloc"]
    whole = [r for r in device["rows"] if not r["is_partial"]]
    if device["source"] == "stacks of optimizer steps":
        flags = [is_optimizer(stack) for _, stack, _ in allocs]
        bursts = sum(1 for i, flag in enumerate(flags) if flag and (i == 0 or not flags[i - 1]))
        if len(whole) != bursts:
            wrong.append(f"{len(whole)} steps, but optimizers allocate {bursts} times")
    if device["source"] == "repeating allocations":
        kinds = [Counter((stack, size) for i, stack, size in allocs if r["first"] <= i <= r["last"]) for r in whole]
        again = sum(sum((a & b).values()) for a, b in zip(kinds, kinds[1:]))
        total = sum(sum(a.values()) for a in kinds[:-1])
        if len(whole) < 2 or again < 0.8 * total or device["period_events"] <= 0:
            wrong.append(f"{again} of {total} allocations come again in the next of {len(whole)} steps")


def main():
    tool = program()
    traces = failures = 0
    for path, snapshot in snapshots():
        devices = found_by(tool, path)
        for number, trace in enumerate(snapshot.get("device_traces", [])):
            if not trace:
                continue
            traces += 1
            wrong, device = [], devices[number]
            start, sums = live_after(trace, [s for s in snapshot["segments"] if s["device"] == number])
            check_rows(device, trace, start, sums, wrong)
            if "time_us" in trace[0]:
                times = [e["time_us"] for e in trace]
                check_annotations(device, ranges_of(snapshot.get("external_annotations") or [], number, times), wrong)
            check_source(device, trace, wrong)
            failures += bool(wrong)
            for line in wrong[:10]:
                print(f"{path.name}, device {number}: {line}")
    print(f"{traces} traces, {failures} wrong")
    sys.exit(1 if failures or not traces else 0)


main()
