# SPDX-License-Identifier: Apache-2.0
"""Recordings of the same programs under several allocator settings (PROGRAM__SETTING.pickle, and a .json beside it with
alloc_conf, memory_fraction, mem_get_info): each is predicted from all others of its program."""
import bisect
import csv
import json
import os

from page import gib, largest, row, table, traces, wrong
from runs import Run, load


def places(snapshot):
    """(base, offset, bytes) for each request of the first device, in order. A base is the number of the segment's allocation,
    or the range that maps with touching addresses make over the whole trace."""
    events = snapshot["device_traces"][0]
    ranges = []
    for start, end in sorted((e["addr"], e["addr"] + e["size"]) for e in events if e["action"] == "segment_map"):
        if ranges and start <= ranges[-1][1]:
            ranges[-1][1] = max(end, ranges[-1][1])
        else:
            ranges.append([start, end])
    starts, number, found, made = [], {}, [], 0
    for e in events:
        if e["action"] == "segment_alloc":
            bisect.insort(starts, e["addr"])
            number[e["addr"]] = (made, e["addr"] + e["size"])
            made += 1
        elif e["action"] == "segment_free" and e["addr"] in number:
            starts.remove(e["addr"])
            del number[e["addr"]]
        elif e["action"] == "alloc":
            at = bisect.bisect_right(starts, e["addr"]) - 1
            if at >= 0 and e["addr"] < number[starts[at]][1]:
                found.append((number[starts[at]][0], e["addr"] - starts[at], e["size"]))
                continue
            at = bisect.bisect_right(ranges, [e["addr"], float("inf")]) - 1
            base = ranges[at][0] if at >= 0 else 0
            found.append((("map", base), e["addr"] - base, e["size"]))
    return found


def exact(predicted, recorded):
    """How many requests got the recorded address, modulo where segments begin; up to the first request that differs."""
    forth, back, same = {}, {}, 0
    for (base, offset, size), (their_base, their_offset, their_size) in zip(predicted, recorded):
        if size != their_size:
            break
        is_same = forth.setdefault(base, their_base) == their_base and back.setdefault(their_base, base) == base
        same += is_same and offset == their_offset
    return same


class Recording:
    def __init__(self, replay, path):
        self.path, self.places = path, places(load(path))
        self.program, self.setting = path.stem.split("__", 1)
        beside = path.with_suffix(".json")
        self.about = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
        self.verified = Run(replay, path, "--verify")

    def options(self):
        """What makes a replay one with this setting."""
        fraction, memory = self.about.get("memory_fraction"), self.about.get("mem_get_info")
        cap = ("--memory", int(memory[1] * fraction)) if fraction and memory else ()
        return ("--alloc-conf", self.about.get("alloc_conf", ""), *cap)


def predict(replay, base, target, folder):
    """(peak, exact addresses) that the trace of `base` has for the setting of `target`; None: it could not be replayed."""
    out = os.path.join(folder, "predicted.pickle")
    run = Run(replay, base.path, *target.options(), "-o", out)
    if run.code not in (0, 1) or run.json is None:
        wrong.append(f"{base.path.name} under {target.setting}: exit {run.code}: {run.errors}")
        return None
    return largest(run), exact(places(load(out)), target.places)


def told(target, predictions):
    """The row of one recording; predictions are those from all others."""
    device, recorded, n = target.verified.device(), largest(target.verified), len(target.places)
    found = sorted(p for p in predictions.values() if p)
    errors = sorted(100 * (peak - recorded) / recorded for peak, _ in found) if recorded else []
    same = sorted(s for _, s in found)
    row(target.program, target.setting, f"{device['exact_addresses']} of {device['allocs']}", gib(recorded),
        f"{sum(peak == recorded for peak, _ in found)} of {len(found)}",
        f"{errors[0]:+.2f} % to {errors[-1]:+.2f} %" if errors else "n/a",
        f"{100 * same[0] / n:.2f} % to {100 * same[-1] / n:.2f} %" if found and n else "n/a")


def predictions(replay, truth, out, folder):
    """Prints the section; OUT/predictions.csv has every single prediction."""
    paths = [p for p in traces(truth) if "__" in p.stem and p.suffix == ".pickle"]
    recordings = [Recording(replay, path) for path in paths]
    print("\n## Predictions against recordings of PyTorch on this machine\n")
    torch = sorted({r.about.get("torch", "?") for r in recordings})
    print(f"{len(recordings)} recordings, PyTorch {', '.join(torch)}. Each program under each setting was predicted from "
          "its recordings under all other settings ([predictions.csv](predictions.csv)). Addresses are the same if they "
          "are, modulo where segments begin; they count up to the first request that the two programs do not share.\n")
    table("program", "setting", "--verify: addresses", "recorded GiB", "peak exact", "error of the peak", "addresses exact")
    with open(os.path.join(out, "predictions.csv"), "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("program", "setting", "predicted_from", "recorded_bytes", "predicted_bytes", "requests", "addresses_exact"))
        for target in recordings:
            if target.verified.json is None:
                wrong.append(f"{target.path.name}: {target.verified.errors}")
                continue
            found = {base.setting: predict(replay, base, target, folder) for base in recordings
                     if base.program == target.program and base is not target}
            for setting, one in found.items():
                if one:
                    rows.writerow((target.program, target.setting, setting, largest(target.verified), one[0],
                                   len(target.places), one[1]))
            told(target, found)
