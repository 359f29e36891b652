# SPDX-License-Identifier: Apache-2.0
"""gmfleet on all real snapshots as one job: totals and reserved peaks against a recomputation in Python, everything else
that both know against gmanalyze, call sites that sum to what is held; threads do not change a byte.
usage: check_real.py GMFLEET GMANALYZE"""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "state")]
from jobs import run  # noqa: E402
from snapshots import SKIPPED, analysis, shared_folder, snapshots  # noqa: E402

FLEET, ANALYZE = map(os.path.abspath, sys.argv[1:3])
PEAKS = ("peak_requested_bytes", "peak_allocated_bytes", "peak_active_bytes", "peak_reserved_bytes")
STEP = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}


def segments_of(found):
    return found.get("segments") or []


def totals_of(found):
    """(reserved, allocated, active, inactive) by the contract."""
    blocks = [b for s in segments_of(found) for b in s.get("blocks") or []]
    allocated = sum(b["size"] for b in blocks if b["state"] == "active_allocated")
    pending = sum(b["size"] for b in blocks if b["state"].startswith("active_pending") or b["state"] == "active_awaiting_free")
    return (sum(s["total_size"] for s in segments_of(found)), allocated, allocated + pending,
            sum(b["size"] for b in blocks if b["state"] == "inactive"))


def peak_reserved_of(found):
    """Each device's own peak, added up; None without a trace."""
    traces = found.get("device_traces") or []
    if not any(traces):
        return None
    at_end = {}
    for segment in segments_of(found):
        at_end[segment.get("device", 0)] = at_end.get(segment.get("device", 0), 0) + segment["total_size"]
    total = 0
    for device in set(at_end) | {d for d, t in enumerate(traces) if t}:
        level = peak = at_end.get(device, 0)
        for event in reversed(traces[device] if device < len(traces) else []):
            level -= STEP.get(event["action"], 0) * (event["size"] if event["action"] in STEP else 0)
            peak = max(peak, level)
        total += peak
    return total


def compare_with_gmanalyze(item, path):
    whole = analysis(ANALYZE, path)
    assert whole["totals"] == item["totals"], path
    devices = (whole.get("timeline") or {}).get("devices")
    if not devices:
        assert item["peaks"] is None, path
        return
    by_device = {d["device"]: d for d in devices}
    for key in PEAKS:
        values = [by_device[d["device"]][key] if d["device"] in by_device else d[key[len("peak_"):]]
                  for d in whole["devices"]]
        want = None if None in values else sum(values)
        assert item["peaks"][key] == want, (path, key, item["peaks"][key], want)


def main():
    folder = shared_folder() / "snapshots"
    if not folder.is_dir():
        print("skipped: no snapshots beside the checkout")
        return SKIPPED
    # plots without a snapshot and text files have no business here
    done = run(FLEET, "-n", "x", folder, code=None)
    assert done.code in (0, 3), done.err
    items = {s["path"]: s for s in done.fleet["snapshots"]}
    checked = 0
    for path, found in snapshots():
        item = items.get(str(path))
        assert item is not None, path
        if item["error"]:
            print(f"not read: {path.name}: {item['error']}")
            continue
        totals = item["totals"]
        got = tuple(totals[k] for k in ("reserved_bytes", "allocated_bytes", "active_bytes", "inactive_bytes"))
        assert got == totals_of(found), (path, got, totals_of(found))
        peak = peak_reserved_of(found)
        assert (item["peaks"] or {}).get("peak_reserved_bytes") == peak, (path, item["peaks"], peak)
        compare_with_gmanalyze(item, path)
        held = item["peaks"]["peak_requested_bytes"] if item["peaks"] else totals["allocated_bytes"]
        assert sum(s["bytes"] for s in item["call_sites"]) + item["other_call_sites_bytes"] == held, path
        assert sum(c["bytes"] for c in item["categories"]) == held, path
        checked += 1
    assert checked > 0
    with tempfile.TemporaryDirectory():
        again = run(FLEET, "-n", "x", "-j", "1", folder, code=None)
    assert again.bytes_without_time() == done.bytes_without_time()
    print(f"{checked} real snapshots as recomputed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
