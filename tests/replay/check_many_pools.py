# SPDX-License-Identifier: Apache-2.0
"""A recording with more private pools than a byte can number: each has a small and a large segment of its own, and what
is freed in one pool is used again by that pool only. All numbers are by hand.
usage: check_many_pools.py GMREPLAY GMANALYZE"""
import json
import os
import pickle
import subprocess
import sys
import tempfile

MIB = 1 << 20
POOLS = 700
SMALL, LARGE = 1000, 3 * MIB  # requests: blocks of 1024 bytes and of 3 MiB, in segments of 2 and 20 MiB
BASE = 0x7F0000000000


def frames(pool):
    return [{"name": f"capture_{pool}", "filename": "graphs.py", "line": pool}]


def recording():
    """Twice through all pools, then frees; the first block of each kind is freed and its place taken again."""
    trace, live = [], {}

    def event(action, pool, address, size):
        trace.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": 1000 + len(trace),
                      "pool_id": (0, pool + 1),
                      "frames": frames(pool)})

    def place(pool, is_large):
        return BASE + pool * 64 * MIB + (32 * MIB if is_large else 0)

    def allocate(pool, is_large, number):
        size, block = (LARGE, LARGE) if is_large else (SMALL, 1024)
        address = place(pool, is_large) + number * block
        event("alloc", pool, address, size)
        live[address] = (pool, is_large, block, size)

    def free(pool, is_large, number):
        address = place(pool, is_large) + number * (LARGE if is_large else 1024)
        event("free_requested", pool, address, live[address][2])
        event("free_completed", pool, address, live[address][2])
        del live[address]

    for pool in range(POOLS):
        for is_large in (False, True):
            event("segment_alloc", pool, place(pool, is_large), 20 * MIB if is_large else 2 * MIB)
            allocate(pool, is_large, 0)
    for pool in range(POOLS):
        for is_large in (False, True):
            allocate(pool, is_large, 1)
            free(pool, is_large, 0)
    for pool in reversed(range(0, POOLS, 2)):
        for is_large in (False, True):
            allocate(pool, is_large, 0)
    segments = []
    for pool in range(POOLS):
        for is_large in (False, True):
            base, total = place(pool, is_large), 20 * MIB if is_large else 2 * MIB
            size = LARGE if is_large else 1024
            blocks, at = [], base
            for number in range(2):
                held = live.get(base + number * size)
                blocks.append({"address": at, "size": size, "requested_size": held[3] if held else 0, "frames": frames(pool),
                               "state": "active_allocated" if held else "inactive"})
                at += size
            blocks.append({"address": at, "size": base + total - at, "requested_size": 0, "frames": [], "state": "inactive"})
            used = sum(b["size"] for b in blocks if b["state"] != "inactive")
            segments.append({"device": 0, "address": base, "total_size": total, "stream": 0,
                             "segment_type": "large" if is_large else "small", "allocated_size": used, "active_size": used,
                             "requested_size": sum(b["requested_size"] for b in blocks), "segment_pool_id": (0, pool + 1),
                             "is_expandable": False, "frames": frames(pool), "blocks": blocks})
    return {"segments": segments, "device_traces": [trace], "external_annotations": [],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "expandable_segments": False}}


def run(*command):
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, (command, done.returncode, done.stderr[:500], done.stdout[-800:])
    return done.stdout


def check_replay(gmreplay, path, *more):
    device, = json.loads(run(gmreplay, "--json", "-", *more, path))["devices"]
    allocs = 4 * POOLS + POOLS // 2 * 2
    live_bytes = POOLS * (1024 + LARGE) + POOLS // 2 * (1024 + LARGE)
    assert device["allocs"] == allocs, device
    assert device["peak_reserved_bytes"] == POOLS * 22 * MIB, device
    assert device["peak_allocated_bytes"] == live_bytes, (device, live_bytes)
    if "--verify" in more:
        assert device["exact_addresses_uninferred"] == allocs and device["first_mismatch"] is None, device
        assert device["growths"] == device["growths_predicted"] == 2 * POOLS, device
        assert device["end_blocks"] == device["end_blocks_same"], device


def check_report(gmanalyze, path, folder):
    report = json.loads(run(gmanalyze, "--no-charts", "-o", os.path.join(folder, "results"), "--json", "-", path))
    pools = report["devices"][0]["pools"]
    reserved = sorted(pool["reserved_bytes"] for pool in pools)
    assert reserved == [2 * MIB] * POOLS + [20 * MIB] * POOLS, (len(reserved), reserved[:3], reserved[-3:])
    timeline, = report["timeline"]["devices"]
    assert timeline["peak_reserved_bytes"] == POOLS * 22 * MIB
    assert report["totals"]["allocated_bytes"] == POOLS * (1024 + LARGE) + POOLS // 2 * (1024 + LARGE)
    return timeline


def main():
    gmreplay, gmanalyze = map(os.path.abspath, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        path, trace, again = (os.path.join(folder, name) for name in ("s.pickle", "s.gmtrace", "again.pickle"))
        with open(path, "wb") as file:
            pickle.dump(recording(), file, protocol=4)
        check_replay(gmreplay, path, "--verify", "--trace-out", trace)
        check_replay(gmreplay, path, "-o", again)
        check_replay(gmreplay, trace, "--verify")
        check_replay(gmreplay, trace)
        check_replay(gmreplay, again, "--verify")
        with open(again, "rb") as file:
            made = pickle.load(file)
        assert len({tuple(s["segment_pool_id"]) for s in made["segments"]}) == POOLS
        want = {(s["address"], tuple(s["segment_pool_id"]), s["total_size"]) for s in recording()["segments"]}
        assert {(s["address"], tuple(s["segment_pool_id"]), s["total_size"]) for s in made["segments"]} == want
        first = check_report(gmanalyze, path, folder)
        assert check_report(gmanalyze, trace, folder) == first
        run(gmreplay, "--alloc-conf", "expandable_segments:True", path)
    print(f"{POOLS} private pools: kept apart")
    return 0


if __name__ == "__main__":
    sys.exit(main())
