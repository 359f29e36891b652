# SPDX-License-Identifier: Apache-2.0
"""Peaks of requested bytes of every real snapshot against a recomputation from the contract's definition."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import analysis, program, requested_of, snapshots, timelines  # noqa: E402


def peak_requested(trace, segments):
    """(bytes, event, time): live from alloc to free_completed; what has no alloc in the trace counts from the start."""
    live, total, start, best, event = {}, 0, 0, 0, None
    for i, e in enumerate(trace):
        if e["action"] == "alloc":
            live[e["addr"]] = e["size"]
            total += e["size"]
        elif e["action"] == "free_completed":
            if e["addr"] not in live:
                start += e["size"]
            total -= live.pop(e["addr"], e["size"])
        if total > best:
            best, event = total, i
    for segment in segments:
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] != "inactive" and block.get("address", address) not in live:
                start += requested_of(block)
            address += block["size"]
    return start + best, event, None if event is None else trace[event].get("time_us")


def main():
    binary = program()
    traces = wrong = 0
    for path, snapshot in snapshots():
        found = timelines(analysis(binary, path))
        for device, trace in enumerate(snapshot.get("device_traces", [])):
            if not trace:
                continue
            traces += 1
            segments = [s for s in snapshot["segments"] if s["device"] == device]
            d = found[device]
            is_ = d["peak_requested_bytes"], d["peak_event"], d["peak_time_us"]
            should = peak_requested(trace, segments)
            shares = sum(c["bytes"] for c in d["categories_at_peak"])
            if is_ != should or shares != is_[0]:
                wrong += 1
                print(f"{path.name}, device {device}: {is_}, categories sum to {shares}; should be {should}")
    print(f"{traces} traces, {wrong} wrong")
    sys.exit(1 if wrong or not traces else 0)


main()
