# SPDX-License-Identifier: Apache-2.0
"""gmreplay -o in what-if, on every real snapshot under several rules. What was written is a snapshot that agrees with
itself (checked here, by following it backwards), holds the recorded requests in their order, and, read again, is what
--verify follows exactly and what has the peaks that the what-if gave; with nothing changed it is the recording.
usage: check_whatif.py GMREPLAY GMANALYZE"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import SKIPPED, analysis, load, snapshots  # noqa: E402

ACTIONS = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap")
PEAKS = ("peak_allocated_bytes", "peak_reserved_bytes", "peak_active_bytes", "peak_requested_bytes")


def replay(*arguments):
    done = subprocess.run([sys.argv[1], "--json", "-", *map(str, arguments)], capture_output=True, check=False)
    if done.returncode > 1:
        raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)


def cases(reserved, active):
    yield ()
    yield "--alloc-conf", "expandable_segments:True"
    yield "--alloc-conf", "roundup_power2_divisions:4"
    yield "--memory", reserved * 60 // 100
    yield "--memory", active + (24 << 20), "--alloc-conf", "expandable_segments:True"
    yield ("--memory", reserved * 95 // 100, "--alloc-conf",
           "garbage_collection_threshold:0.5,per_process_memory_fraction:0.98,max_split_size_mb:128")


def state_is_sound(snapshot):
    """Complaints about the segments and blocks by themselves."""
    end = {}
    for s in snapshot["segments"]:
        blocks, at = s["blocks"], s["address"]
        if s["address"] < end.get(s["device"], 0):
            yield f"segment {s['address']:#x} overlaps or is not in order"
        for b, after in zip(blocks, blocks[1:] + [None]):
            if b.get("address", at) != at:
                yield f"block {b['address']:#x} should be at {at:#x}"
            if after and b["state"] == after["state"] == "inactive":
                yield f"inactive neighbours at {at:#x}"
            if b["state"] != "inactive" and b["size"] < b.get("requested_size", 0):
                yield f"block {at:#x} is smaller than its request"
            at += b["size"]
        sizes = {"total_size": at - s["address"],
                 "allocated_size": sum(b["size"] for b in blocks if b["state"] == "active_allocated"),
                 "active_size": sum(b["size"] for b in blocks if b["state"] != "inactive"),
                 "requested_size": sum(b.get("requested_size", 0) for b in blocks if b["state"] != "inactive")}
        for key, value in sizes.items():
            if key in s and s[key] != value:
                yield f"segment {s['address']:#x}: {key} is {s[key]}, its blocks say {value}"
        end[s["device"]] = at


def backwards(snapshot, device):
    """Complaints about the trace: undone event by event from the end, it must always find what it undoes."""
    live, held, pages = {}, {}, set()
    for s in snapshot["segments"]:
        if s["device"] != device:
            continue
        if s.get("is_expandable"):
            pages.update(range(s["address"] >> 21, (s["address"] + s["total_size"]) >> 21))
        else:
            held[s["address"]] = s["total_size"]
        at = s["address"]
        for b in s["blocks"]:
            if b["state"] != "inactive":
                live[at] = b["state"] == "active_pending_free"
            at += b["size"]
    for i, e in reversed(list(enumerate(snapshot["device_traces"][device]))):
        action, addr, size = e["action"], e.get("addr"), e["size"]
        covered = range((addr or 0) >> 21, ((addr or 0) + size) >> 21)
        if action == "alloc" and live.pop(addr, True):
            yield f"event {i}: alloc of what is not live"
        elif action == "free_completed":
            if addr in live:
                yield f"event {i}: free_completed of what lives on"
            live[addr] = True
        elif action == "free_requested":
            if live.get(addr) is not True:
                yield f"event {i}: free_requested of what is not freed later"
            live[addr] = False
        elif action == "segment_alloc" and held.pop(addr, None) != size:
            yield f"event {i}: segment_alloc of what is not there"
        elif action == "segment_free":
            if addr in held:
                yield f"event {i}: segment_free of what stays"
            held[addr] = size
        elif action == "segment_map":
            if not pages.issuperset(covered):
                yield f"event {i}: segment_map of what is not mapped"
            pages.difference_update(covered)
        elif action == "segment_unmap":
            if not pages.isdisjoint(covered):
                yield f"event {i}: segment_unmap of what is mapped"
            pages.update(covered)


def requests(trace):
    return [(e["size"], e.get("stream"), e.get("time_us"), e.get("frames")) for e in trace if e["action"] == "alloc"]


def check(path, recorded, options, out):
    """Complaints about one what-if."""
    found = replay(*options, "-o", out, path)
    made = load(out)
    wrong = list(state_is_sound(made))
    again = replay("--verify", out) if any(made["device_traces"]) else None
    for d in found["devices"]:
        device, trace = d["device"], made["device_traces"][d["device"]]
        wrong += backwards(made, device)
        asked = requests(recorded["device_traces"][device])
        if requests(trace) != (asked if d["oom"] is None else asked[:sum(e["action"] == "alloc" for e in trace)]):
            wrong.append(f"device {device}: other requests than recorded")
        if not options and not found["notes"] and not d["recorded_ooms"]:
            own = [[(e["action"], e.get("addr"), e["size"]) for e in t if e["action"] in ACTIONS]
                   for t in (trace, recorded["device_traces"][device])]
            if own[0] != own[1]:
                wrong.append(f"device {device}: nothing was changed, and it went elsewhere")
        if d["oom"] is not None and (trace[-1]["action"], trace[-1].get("device_free")) != (
                "oom", d["oom"]["device_free_bytes"]):
            wrong.append(f"device {device}: it ends with {trace[-1]}")
        if d["oom"] is not None and d["oom"]["event"] is None:
            continue  # at the start: its peaks lie before the trace
        known = {k["device"]: k for k in analysis(sys.argv[2], out)["timeline"]["devices"]}
        verified = next(v for v in again["devices"] if v["device"] == device)
        wrong += [f"device {device}: {k} is {d[k]}, of the regenerated file {verified[k]}, {known[device][k]}"
                  for k in PEAKS if not d[k] == verified[k] == known[device][k]]
    if again is not None and again["verdict"] != "PASS":
        wrong.append(f"--verify: {[v['first_mismatch'] for v in again['devices']]}")
    return wrong


def main():
    if len(sys.argv) < 3 or not all(os.access(path, os.X_OK) for path in sys.argv[1:3]):
        print("skipped: no gmreplay and gmanalyze to test")
        sys.exit(SKIPPED)
    runs = bad = ooms = 0
    with tempfile.TemporaryDirectory() as name:
        out = pathlib.Path(name) / "regenerated.pickle"
        for path, recorded in snapshots():
            if not any(recorded.get("device_traces") or []) or (first := replay("--verify", path))["verdict"] != "PASS":
                continue
            reserved, active = (max(d[k] for d in first["devices"]) for k in PEAKS[1:3])
            for options in cases(reserved, active):
                wrong = check(path, recorded, options, out)
                runs += 1
                bad += bool(wrong)
                ooms += load(out)["device_traces"] != [] and any(
                    t and t[-1]["action"] == "oom" for t in load(out)["device_traces"])
                for complaint in wrong[:3]:
                    print(f"{path.name} {' '.join(map(str, options))}: {complaint}")
    print(f"{runs} what-ifs written and read again, {ooms} of them out of memory, {bad} with complaints")
    sys.exit(1 if bad or not runs else 0)


main()
