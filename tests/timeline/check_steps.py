# SPDX-License-Identifier: Apache-2.0
"""Steps of every real snapshot against a recomputation: annotations placed among the events by their times, peaks and
ends of each step by the contract's rule of live requested bytes, optimizer steps counted in the stacks, and for steps
found by period the share of allocations that come again in the next step."""
import bisect
import os
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import analysis, program, requested_of, snapshots, timelines  # noqa: E402

PHASES = ("forward", "backward", "optimizer", "prefill", "decode")


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


def is_phase(band):
    """Annotations of an optimizer step have a phase, too."""
    return not band["is_step"] and band["name"] == band["phase"]


def is_whole(steps):
    return len(steps["ranges"]) == steps["ranges_total"]


def check_rows(steps, trace, start, sums, wrong):
    phase_of = {}
    for band in filter(is_phase, steps["ranges"]) if is_whole(steps) else ():  # all of its phases, or none
        phase_of.update(dict.fromkeys(range(band["first_event"], band["last_event"] + 1), band["phase"]))
    before, last_event = None, -1
    for row in steps["rows"]:
        first, last = row["first_event"], row["last_event"]
        if not last_event < first <= last < len(trace):
            wrong.append(f"{row['label']}: events {first} to {last} after {last_event}")
            return
        inside = sums[first:last + 1]
        peak = max(inside)
        allocs = [e["size"] for e in trace[first:last + 1] if e["action"] == "alloc"]
        level = before if before is not None else sums[first - 1] if first > 0 else start
        should = {"peak": peak, "peak_event": first + inside.index(peak), "end": inside[-1], "allocs": len(allocs),
                  "alloc_bytes": sum(allocs)}
        told = {**row, "peak": row["peak"]["requested_bytes"], "end": row["end"]["requested_bytes"]}
        if row["growth_bytes"] is not None:
            should["growth_bytes"] = inside[-1] - level
        for phase in PHASES if phase_of else ():
            should[phase] = max((s for i, s in enumerate(inside, first) if phase_of.get(i) == phase), default=None)
            told[phase] = row["phase_peaks"].get(phase)
        for key, value in should.items():
            if told[key] != value:
                wrong.append(f"{row['label']}: {key} is {told[key]}, should be {value}")
        before, last_event = inside[-1], last


def check_annotations(steps, ranges, wrong):
    shown = Counter((b["name"], b["first_event"], b["last_event"]) for b in steps["ranges"]
                    if not b["is_step"] and not is_phase(b))
    should = Counter(r for r in ranges if not r[0].startswith("ProfilerStep#"))
    is_all = is_whole(steps) and sum(should.values()) <= 400
    if shown != should if is_all else shown - should:
        wrong.append(f"annotations: {shown - should} are shown, {should - shown} are not")
    if steps["source"] == "Optimizer.step annotations":
        ends = {last for name, _, last in ranges if name.startswith("Optimizer.step#")}
        rows = {row["last_event"] for row in steps["rows"] if not row["is_partial"]}
        if not rows <= ends:
            wrong.append(f"steps end at {sorted(rows)}, optimizer steps at {sorted(ends)}")
    if steps["source"] == "ProfilerStep annotations":
        if [r["label"] for r in steps["rows"]] != [r[0] for r in ranges if r[0].startswith("ProfilerStep#")]:
            wrong.append("profiler steps are not the rows")


def check_source(steps, trace, wrong):
    allocs = [(i, stack_of(e), e["size"]) for i, e in enumerate(trace) if e["action"] == "alloc"]
    whole = [r for r in steps["rows"] if not r["is_partial"]]
    if steps["source"] == "stacks of optimizer steps":
        flags = [is_optimizer(stack) for _, stack, _ in allocs]
        bursts = sum(1 for i, flag in enumerate(flags) if flag and (i == 0 or not flags[i - 1]))
        if len(whole) != bursts:
            wrong.append(f"{len(whole)} steps, but optimizers allocate {bursts} times")
    if steps["source"] == "repeating allocations":
        kinds = [Counter((stack, size) for i, stack, size in allocs if r["first_event"] <= i <= r["last_event"])
                 for r in whole]
        again = sum(sum((a & b).values()) for a, b in zip(kinds, kinds[1:]))
        total = sum(sum(a.values()) for a in kinds[:-1])
        if len(whole) < 2 or again < 0.8 * total or steps["period_events"] <= 0:
            wrong.append(f"{again} of {total} allocations come again in the next of {len(whole)} steps")


def main():
    tool = program()
    traces = failures = 0
    for path, snapshot in snapshots():
        devices = timelines(analysis(tool, path))
        for number, trace in enumerate(snapshot.get("device_traces", [])):
            if not trace:
                continue
            traces += 1
            wrong, steps = [], devices[number]["steps"]
            start, sums = live_after(trace, [s for s in snapshot["segments"] if s["device"] == number])
            if steps is not None:
                check_rows(steps, trace, start, sums, wrong)
                check_source(steps, trace, wrong)
            if steps is not None and "time_us" in trace[0]:
                times = [e["time_us"] for e in trace]
                check_annotations(steps, ranges_of(snapshot.get("external_annotations") or [], number, times), wrong)
            failures += bool(wrong)
            for line in wrong[:10]:
                print(f"{path.name}, device {number}: {line}")
    print(f"{traces} traces, {failures} wrong")
    sys.exit(1 if failures or not traces else 0)


main()
