# SPDX-License-Identifier: Apache-2.0
"""The live set at the peak of every real snapshot, recomputed: stacks, peaks without one, next peaks, lifetimes, sums."""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import analysis, frames_of, program, requested_of, snapshots, timelines  # noqa: E402

NEVER = 1 << 60
TEMPORARY_EVENTS = 32  # docs/peaks.md


def lives_of(trace, segments):
    """[born, freed, bytes, stack] by the contract's rule; a moment is a number of events."""
    lives, open_ = [], {}
    for i, e in enumerate(trace):
        if e["action"] == "alloc":
            if e["addr"] in open_:
                open_[e["addr"]][1] = i + 1
            open_[e["addr"]] = [i + 1, NEVER, e["size"], stack_of(e.get("frames"))]
            lives.append(open_[e["addr"]])
        elif e["action"] == "free_completed":
            if e["addr"] in open_:
                open_.pop(e["addr"])[1] = i + 1
            else:
                lives.append([0, i + 1, e["size"], ()])
    for segment in segments:
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] != "inactive" and block.get("address", address) not in open_:
                lives.append([0, NEVER, requested_of(block), stack_of(frames_of(block))])
            address += block["size"]
    return lives


def stack_of(frames):
    return tuple((f["name"], f["filename"], f["line"]) for f in frames or [])


def curve_of(lives, moments):
    change = [0] * (moments + 1)
    for born, freed, size, _ in lives:
        change[born] += size
        if freed < NEVER:
            change[freed] -= size
    total, curve = 0, []
    for c in change:
        total += c
        curve.append(total)
    return curve


def distinct_peaks(curve):
    """[height, first moment, how many] of local maxima that stand out by a twentieth of the peak, highest first."""
    clear = max(max(curve) / 20, 1)
    found = {}
    for m in [m for m in range(len(curve)) if m == 0 or curve[m - 1] < curve[m]]:
        low, k = curve[m], m
        while k > 0 and curve[k - 1] < curve[m] and low > curve[m] - clear:
            k -= 1
            low = min(low, curve[k])
        if k > 0 and low > curve[m] - clear:
            continue
        low, k = curve[m], m
        while k + 1 < len(curve) and curve[k + 1] <= curve[m] and low > curve[m] - clear:
            k += 1
            low = min(low, curve[k])
        if curve[m] and (k + 1 == len(curve) or low <= curve[m] - clear):
            found.setdefault(curve[m], [curve[m], m, 0])[2] += 1
    return sorted(found.values(), reverse=True)[:6]


def lifetime(life, step):
    born, freed = life[:2]
    if born == 0:
        return "before the trace, never freed" if freed == NEVER else "before the trace, freed later"
    if freed == NEVER:
        return "in the trace, never freed"
    if freed - born <= TEMPORARY_EVENTS:
        return "temporary"
    if step is None:
        return "made and freed in the trace"
    return "within one step" if step["first_event"] < born and freed <= step["last_event"] + 1 else "over several steps"


def check_stacks(d, live, lives, moments, wrong):
    held = collections.Counter()
    for life in live:
        held[life[3]] += life[2]
    rows = {}
    for row in d["groups_at_peak"]["rows"]:
        rows[stack_of(row["frames"])] = row
    if {s: r["bytes"] for s, r in rows.items()} != dict(held):
        wrong.append("stacks differ")
        return 0
    counted = [s for s, r in rows.items() if r["peak_without_bytes"] is not None]
    picked = sorted(counted, key=lambda s: -held[s])[:5] + sorted(counted, key=lambda s: held[s])[:2]
    for stack in picked:
        without = max(curve_of([life for life in lives if life[3] != stack], moments))
        if without != rows[stack]["peak_without_bytes"]:
            wrong.append(f"without {rows[stack]['label']}: {rows[stack]['peak_without_bytes']}, should be {without}")
    return len(picked)


def check_savings(d, wrong):
    before = d["peak_requested_bytes"]
    single = [r["peak_without_bytes"] for r in d["call_sites_at_peak"]["rows"] if r["peak_without_bytes"] is not None]
    if d["savings"] and d["savings"][0]["peak_after_bytes"] != min(single):
        wrong.append("the first saving is not the best")
    for saving in d["savings"]:
        after = saving["peak_after_bytes"]
        if before - after != saving["saved_bytes"] or not 0 < saving["saved_bytes"] <= saving["bytes_at_peak"]:
            wrong.append(f"saving {saving}")
        before = after


def check_next(d, curve, wrong):
    found = [[d["peak_requested_bytes"], d["peak_event"], d["peak_times"]]]
    found += [[n["requested_bytes"], n["event"], n["times"]] for n in d["next_peaks"]]
    should = [[height, moment - 1 if moment else None, times] for height, moment, times in distinct_peaks(curve)]
    if found != should:
        wrong.append(f"peaks {found}, should be {should}")


def check(d, trace, segments):
    wrong = []
    moments, lives = len(trace), lives_of(trace, segments)
    curve = curve_of(lives, moments)
    moment = 0 if d["peak_event"] is None else d["peak_event"] + 1
    live = [life for life in lives if life[0] <= moment < life[1]]
    steps = (d["steps"] or {}).get("rows", [])
    step = next((s for s in steps if s["first_event"] < moment <= s["last_event"] + 1), None)
    expected = collections.Counter()
    for life in live:
        expected[lifetime(life, step)] += life[2]
    found = {s["name"]: s["bytes"] for s in d["lifetimes_at_peak"]}
    if found != {k: v for k, v in expected.items() if v or k in found}:
        wrong.append(f"lifetimes {found}, should be {dict(expected)}")
    for name in ("call_sites_at_peak", "groups_at_peak"):
        table = d[name]
        sums = [sum(r[k] for r in table["rows"]) + table["rest_" + k] for k in ("bytes", "blocks")]
        if sums != [d["peak_requested_bytes"], len(live)]:
            wrong.append(f"{name} sums to {sums}")
    for name in ("categories_at_peak", "roles_at_peak", "lifetimes_at_peak"):
        if d[name] is not None and sum(s["bytes"] for s in d[name]) != d["peak_requested_bytes"]:
            wrong.append(f"{name} does not sum to the peak")
    picked = check_stacks(d, live, lives, moments, wrong)
    check_savings(d, wrong)
    check_next(d, curve, wrong)
    return wrong, picked


def main():
    binary = program()
    traces = without = bad = 0
    for path, snapshot in snapshots():
        found = None
        for device, trace in enumerate(snapshot.get("device_traces", [])):
            if not trace:
                continue
            if found is None:
                found = timelines(analysis(binary, path, "--group", "stack", "--top", "100000"))
            traces += 1
            segments = [s for s in snapshot["segments"] if s["device"] == device]
            wrong, picked = check(found[device], trace, segments)
            without += picked
            bad += bool(wrong)
            for line in wrong:
                print(f"{path.name}, device {device}: {line}")
    print(f"{traces} traces, {without} peaks without a stack recomputed, {bad} traces wrong")
    sys.exit(1 if bad or not traces else 0)


main()
