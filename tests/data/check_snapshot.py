#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a snapshot is one that PyTorch's allocator (default settings) could have written.

usage: check_snapshot.py SNAPSHOT.pickle     exit code 0 and a line of counts, or 1 and what is wrong
"""
import pickle
import sys

MIB = 1 << 20


class Restricted(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"refused {module}.{name}")


def check(condition, *what):
    if not condition:
        sys.exit("wrong: " + " ".join(map(str, what)))


def check_segment(segment):
    address, blocks = segment["address"], segment["blocks"]
    where = f"segment {address:#x}"
    sums = {"active_allocated": 0, "active_pending_free": 0, "inactive": 0}
    requested, before = 0, None
    for block in blocks:
        check(block["address"] == address, where, "has a gap at", hex(address))
        check(block["size"] > 0 and block["size"] % 512 == 0, where, "has a block of", block["size"])
        check(not (before == block["state"] == "inactive"), where, "has unmerged free neighbours")
        if segment["segment_type"] == "large":
            check(block["size"] > MIB, where, "is large and has a block of", block["size"])
        sums[block["state"]] += block["size"]
        if block["state"] != "inactive":
            check(0 < block["requested_size"] <= block["size"], where, "has an overfull block")
            requested += block["requested_size"]
        else:
            check(block["frames"] == [], where, "has a free block with a stack")
        before = block["state"]
        address += block["size"]
    active = sums["active_allocated"] + sums["active_pending_free"]
    check(address == segment["address"] + segment["total_size"], where, "is not covered by its blocks")
    check(segment["allocated_size"] == sums["active_allocated"], where, "states a wrong allocated_size")
    check(segment["active_size"] == active, where, "states a wrong active_size")
    check(segment["requested_size"] == requested, where, "states a wrong requested_size")
    check(segment["total_size"] % (2 * MIB) == 0, where, "has an odd size")
    if segment["segment_type"] == "small":
        check(segment["total_size"] == 2 * MIB, where, "is small and has", segment["total_size"])


def check_blocks_against_trace(segments, trace):
    """Check 8: a block that the trace saw allocated is the one that the segments show."""
    blocks = {b["address"]: b for s in segments for b in s["blocks"] if b["state"] != "inactive"}
    live = {}
    for event in trace:
        if event["action"] == "alloc":
            live[event["addr"]] = event
        elif event["action"] == "free_completed":
            live.pop(event["addr"], None)
    for address, event in live.items():
        check(address in blocks, "no block at", hex(address), "which the trace left allocated")
        rounded = max(512, (event["size"] + 511) // 512 * 512)
        check(blocks[address]["requested_size"] == event["size"], "another requested_size at", hex(address))
        check(blocks[address]["size"] >= rounded, "a block that is too small at", hex(address))
        check(blocks[address]["frames"] == event["frames"], "another stack at", hex(address))


def replay_backwards(segments, trace):
    """Check 6 and 7: undoing the events, last to first, never misses what it undoes. Returns reserved at the start."""
    blocks = {b["address"]: b["state"] for s in segments for b in s["blocks"] if b["state"] != "inactive"}
    spaces = {s["address"]: s["total_size"] for s in segments}
    for number, event in reversed(list(enumerate(trace))):
        action, address = event["action"], event.get("addr")
        where = f"event {number} ({action} {address:#x})"
        if action == "alloc":
            check(blocks.pop(address, None) == "active_allocated", where, "made no allocated block")
        elif action == "free_completed":
            check(address not in blocks, where, "freed a block that is still there")
            blocks[address] = "active_pending_free"
        elif action == "free_requested":
            check(blocks.get(address) == "active_pending_free", where, "is not followed by free_completed")
            blocks[address] = "active_allocated"
        elif action == "segment_alloc":
            check(spaces.pop(address, None) == event["size"], where, "made no such segment")
        elif action == "segment_free":
            check(address not in spaces, where, "freed a segment that is still there")
            spaces[address] = event["size"]
        if action == "alloc" and number > 0 and trace[number - 1]["action"] == "segment_alloc":
            check(trace[number - 1]["addr"] == address, where, "is not in the segment made for it")
    return sum(spaces.values())


def check_no_overlap(trace):
    spans = {}
    for event in trace:
        if event["action"] == "alloc":
            spans[event["addr"]] = event["size"]
        elif event["action"] == "free_completed":
            spans.pop(event["addr"], None)
        if len(spans) % 64 == 1:  # often enough, and not quadratic
            row = sorted(spans.items())
            for (address, size), (following, _) in zip(row, row[1:]):
                check(address + size <= following, "live blocks overlap at", hex(following))


def main():
    with open(sys.argv[1], "rb") as file:
        snapshot = Restricted(file).load()
    events = 0
    for segment in snapshot["segments"]:
        check_segment(segment)
    for device, trace in enumerate(snapshot["device_traces"]):
        segments = [s for s in snapshot["segments"] if s["device"] == device]
        addresses = [s["address"] for s in segments]
        check(addresses == sorted(addresses), "segments are not in address order")
        times = [event["time_us"] for event in trace]
        check(times == sorted(times), "time runs backwards")
        check_blocks_against_trace(segments, trace)
        check_no_overlap(trace)
        replay_backwards(segments, trace)
        events += len(trace)
    print(len(snapshot["segments"]), "segments,", events, "events: consistent")


main()
