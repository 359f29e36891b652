# SPDX-License-Identifier: Apache-2.0
"""gmreplay on every real snapshot: each CUDA trace is followed exactly, peaks are those that gmanalyze computes without
the model, and a what-if with nothing changed gives the recorded peaks again. usage: check_verify.py GMREPLAY GMANALYZE"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import SKIPPED, analysis, snapshots  # noqa: E402

PEAKS = ("peak_allocated_bytes", "peak_reserved_bytes", "peak_active_bytes", "peak_requested_bytes")


def replay(path, *options):
    done = subprocess.run([sys.argv[1], "--json", "-", *options, str(path)], capture_output=True, check=False)
    if done.returncode > 1:
        raise AssertionError(f"{path.name} {options}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.returncode, json.loads(done.stdout)


def actions(trace):
    count = {}
    for event in trace:
        count[event["action"]] = count.get(event["action"], 0) + 1
    return count


def is_torn(snapshot, device):
    """The trace contradicts the snapshot's segments: written by hand, or cut."""
    live = set()
    for event in snapshot["device_traces"][device]:
        if event["action"] == "alloc":
            live.add(event["addr"])
        elif event["action"] == "free_completed":
            live.discard(event["addr"])
    held = set()
    for segment in snapshot["segments"]:
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                held.add(block.get("address", address))
            address += block["size"]
    return not live <= held or any(e["addr"] % 512 for e in snapshot["device_traces"][device] if e["action"] == "alloc")


def check(path, snapshot, totals):
    """Complaints about one snapshot."""
    wrong = []
    code, found = replay(path, "--verify")
    plain = {d["device"]: d for d in replay(path)[1]["devices"]}
    known = {d["device"]: d for d in analysis(sys.argv[2], path)["timeline"]["devices"]}
    if code != (0 if found["verdict"] == "PASS" else 1):
        wrong.append(f"exit {code} with the verdict {found['verdict']}")
    for d in found["devices"]:
        device = d["device"]
        seen = actions(snapshot["device_traces"][device])
        should = {"events": sum(seen.values()), "allocs": seen.get("alloc", 0),
                  "growths": seen.get("segment_alloc", 0) + seen.get("segment_map", 0),
                  "end_blocks": sum(len(s["blocks"]) for s in snapshot["segments"] if s["device"] == device),
                  "num_ooms": seen.get("oom", 0)}
        wrong += [f"device {device}: {k} is {d[k]}, should be {v}" for k, v in should.items() if d[k] != v]
        if "other_backends" in str(path) or is_torn(snapshot, device):
            totals["others"] += 1
            if d["first_mismatch"] is None or found["verdict"] != "FAIL":
                wrong.append(f"device {device}: it cannot agree, but it does")
            if "other_backends" in str(path) and d["other_allocator"] is None:
                wrong.append(f"device {device}: it does not say that another allocator made this trace")
            continue
        totals["traces"] += 1
        for part, whole in (("exact_addresses", "allocs"), ("growths_predicted", "growths"),
                            ("end_blocks_same", "end_blocks"), ("releases_allowed", "releases")):
            totals[whole] += d[whole]
            if d[part] != d[whole]:
                wrong.append(f"device {device}: {part} {d[part]} of {d[whole]}: {d['first_mismatch']}")
        wrong += [f"device {device}: {k} is {d[k]}, gmanalyze has {known[device][k]}"
                  for k in PEAKS if d[k] != known[device][k]]
        if d["num_ooms"] == 0:
            wrong += [f"device {device}: {k} is {plain[device][k]} in what-if, {d[k]} as recorded"
                      for k in PEAKS if plain[device][k] != d[k]]
    return wrong


def main():
    if len(sys.argv) < 3 or not all(os.access(path, os.X_OK) for path in sys.argv[1:3]):
        print("skipped: no gmreplay and gmanalyze to test")
        sys.exit(SKIPPED)
    totals = dict.fromkeys(("traces", "others", "allocs", "growths", "end_blocks", "releases"), 0)
    bad = 0
    for path, snapshot in snapshots():
        if not any(snapshot.get("device_traces", [])):
            continue
        for complaint in check(path, snapshot, totals):
            bad += 1
            print(f"{path.name}: {complaint}")
    print(", ".join(f"{v} {k}" for k, v in totals.items()) + f", {bad} complaints")
    sys.exit(1 if bad or not totals["traces"] else 0)


main()
