#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gmtrace shrink, judged by the tests' own allocator, which is not the project's: what is left runs out of memory there
at the same request, with the same addresses, and without any single one of its allocations it does not; its script
asks for the same. Binaries: $GMTRACE, $GMREPLAY."""
import json
import os
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "data"), str(TESTS / "state")]
from caching_allocator import Allocator, round_size, segment_size  # noqa: E402
from snapshots import random_runs, snapshot_paths  # noqa: E402
from test_handover import GMREPLAY, MIB, Clock, gmtrace, load, state_at  # noqa: E402


class OutOfMemory(Exception):
    pass


class Limited(Allocator):
    """The tests' allocator on a device that can be full: then what is cached goes back first. Segments lie as low as
    they can, or (goes_up) above all earlier ones."""

    def __init__(self, capacity, goes_up=False):
        super().__init__(0, 0x7F0000000000, Clock())
        self.goes_up = goes_up
        self.capacity, self.recording, self.made, self.peak = capacity, True, [], 0

    def reserved(self):
        return sum(s.size for s in self.segments)

    def empty_cache(self, frames):
        for segment in list(self.segments):
            if segment.first.state == "inactive" and segment.first.after is None:
                self.remove(segment.first)
                self.segments.remove(segment)
                self.record("segment_free", segment.address, segment.size, segment.stream, frames)

    def grow(self, kind, stream, rounded, frames):
        if self.reserved() + segment_size(rounded) > self.capacity:
            self.empty_cache(frames)
        if self.reserved() + segment_size(rounded) > self.capacity:
            self.trace.append({"action": "oom", "device_free": self.capacity - self.reserved(), "size": rounded,
                               "stream": stream, "time_us": self.clock(), "frames": frames})
            raise OutOfMemory
        if not self.goes_up:
            self.next_address = 0x7F0000000000
            for segment in sorted(self.segments, key=lambda s: s.address):
                if self.next_address + segment_size(rounded) <= segment.address:
                    break
                self.next_address = segment.address + segment.size
        first = super().grow(kind, stream, rounded, frames)
        self.made.append(first.segment)
        self.peak = max(self.peak, self.reserved())
        return first

    def snapshot(self):
        return {"segments": self.snapshot_segments(), "device_traces": [self.trace],
                "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": False}}

    def place(self, block):
        return self.made.index(block.segment), block.address - block.segment.address


def frames_of(i, name="work"):
    return [{"name": name, "filename": "/home/me/model.py", "line": 10 + i % 23}]


def fragmented(seed, capacity=600 * MIB, streams=(0,), goes_up=False):
    """Random requests, and frees that leave holes, until nothing of some size fits though it is there."""
    rng, allocator, live = random.Random(seed), Limited(capacity, goes_up), []
    sizes = [700, 90000, 2 * MIB, 3 * MIB + 5, 6 * MIB, 9 * MIB, 14 * MIB, 31 * MIB]
    try:
        for i in range(100000):
            if live and rng.random() < (0.35 if allocator.reserved() < capacity // 2 else 0.5):
                allocator.free(live.pop(rng.randrange(len(live))))
            elif i % 997 == 996:
                allocator.empty_cache([{"name": "empty_cache", "filename": "/x/torch/cuda/memory.py", "line": 1}])
            else:
                live.append(allocator.alloc(rng.choice(sizes[:4] if i < 60 else sizes), frames_of(i), rng.choice(streams)))
    except OutOfMemory:
        pass
    return allocator


def played(trace, capacity, without=None):
    """What the tests' allocator does with the requests of a trace: where each block lies, and whether it ran out of
    memory at the last request. `without`: the number of an allocation that is left out, with its free."""
    allocator, at, places, n = Limited(capacity), {}, [], 0
    wanted = [e for e in trace if e["action"] in ("alloc", "free_requested", "oom") or (
        e["action"] == "segment_free" and e["frames"][0]["name"] == "empty_cache")]
    for i, event in enumerate(wanted):
        if event["action"] == "segment_free":
            allocator.empty_cache([])
        elif event["action"] == "free_requested":
            block = at.pop(event["addr"])
            if block is not None:
                allocator.free(block)
        elif n == without and event["action"] == "alloc":
            at[event["addr"]] = None
            n += 1
        else:
            n += 1
            try:
                block = allocator.alloc(event["size"], event.get("frames", []), event["stream"])
            except OutOfMemory:
                return places, i == len(wanted) - 1, allocator
            at[event.get("addr")] = block
            places.append(allocator.place(block))
    return places, False, allocator


def placed(trace):
    """Where the blocks of a trace lie: the number of their segment, and the offset there."""
    segments, places = [], []
    for event in trace:
        if event["action"] == "segment_alloc":
            segments.append((event["addr"], event["size"]))
        elif event["action"] == "alloc":
            at = event["addr"]
            places.append(next((i, at - start) for i, (start, size) in reversed(list(enumerate(segments)))
                               if start <= at < start + size))
    return places


class Shrink(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.source, self.out = self.path / "whole.pickle", self.path / "small.pickle"

    def shrink(self, snapshot, *args, code=0):
        self.source.write_bytes(pickle.dumps(snapshot))
        self.told = gmtrace("shrink", "-o", self.out, *args, self.source, code=code).stdout
        made = load(self.out)
        reserved, active = state_at(made, 0, 0)
        self.assertEqual((reserved, active), (0, {}), "it begins with an empty allocator")
        for segment in made["segments"]:
            self.assertEqual(sum(b["size"] for b in segment["blocks"]), segment["total_size"])
        return made["device_traces"][0]

    def check_oom(self, snapshot, trace, capacity):
        whole = snapshot["device_traces"][0]
        self.assertEqual([trace[-1][k] for k in ("action", "size", "stream", "frames")],
                         [whole[-1][k] for k in ("action", "size", "stream", "frames")])
        places, is_out, allocator = played(trace, capacity)
        self.assertTrue(is_out)
        self.assertEqual(places, placed(trace))
        active = sum(b.size for s in allocator.segments for b in s.blocks() if b.state != "inactive")
        self.assertLessEqual(active + trace[-1]["size"], capacity, "it is there, but in pieces")
        return len(places)

    def test_fragmentation(self):
        for seed in random_runs(6):
            allocator = fragmented(seed)
            snapshot = allocator.snapshot()
            self.assertEqual(snapshot["device_traces"][0][-1]["action"], "oom")
            before = sum(e["action"] == "alloc" for e in snapshot["device_traces"][0])
            trace = self.shrink(snapshot, "--join", "none")
            count = self.check_oom(snapshot, trace, allocator.capacity)
            self.assertLess(count, before / 3)
            self.assertIn("none of them can be left out", self.told)
            sizes = {(e["size"], e["stream"]) for e in snapshot["device_traces"][0] if e["action"] == "alloc"}
            self.assertLessEqual({(e["size"], e["stream"]) for e in trace if e["action"] == "alloc"}, sizes)
            is_robust = "the same wherever" in self.told  # then one may be needed for another placement
            for i in range(0 if is_robust else count):
                self.assertFalse(played(trace, allocator.capacity, without=i)[1], (seed, i))

    def test_joined(self):
        allocator = fragmented(3)
        snapshot = allocator.snapshot()
        counts = [self.check_oom(snapshot, self.shrink(snapshot, "--join", join), allocator.capacity)
                  for join in ("none", "site", "all")]
        self.assertLess(counts[1], counts[0])
        self.assertLess(counts[2], counts[1])

    def test_streams(self):
        allocator = fragmented(5, streams=(0, 0, 0x55550000))
        snapshot = allocator.snapshot()
        self.check_oom(snapshot, self.shrink(snapshot), allocator.capacity)

    def test_begun_late(self):
        """What was live when the recording began is asked for first; the layout is made if nothing less does it."""
        same = 0
        for seed in (1, 2, 4, 6):
            allocator = fragmented(seed)
            snapshot = allocator.snapshot()
            trace = snapshot["device_traces"][0]
            snapshot["device_traces"][0] = trace[len(trace) - 150:]
            self.write(snapshot)
            done = subprocess.run([os.environ["GMTRACE"], "shrink", "-o", self.out, self.source], capture_output=True,
                                  text=True, check=False)
            if done.returncode == 3:  # holes between segments decide it, and nobody knows them
                self.assertIn("does not run out of memory in the model", done.stderr)
                continue
            made = self.shrink(snapshot)
            self.assertTrue(played(made, allocator.capacity)[1])
            self.assertEqual(made[-1]["frames"] != trace[-1]["frames"], "not the recorded request" in self.told)
            same += made[-1]["frames"] == trace[-1]["frames"]
        self.assertGreater(same, 0)

    def test_plain(self):
        """More than there is: the request that was refused, and who had the rest."""
        allocator = Limited(300 * MIB)
        try:
            for i in range(1000):
                allocator.alloc(10 * MIB, frames_of(i % 2))
                allocator.free(allocator.alloc(10 * MIB, frames_of(2)))
        except OutOfMemory:
            pass
        trace = self.shrink(allocator.snapshot())
        asked = [e for e in trace if e["action"] in ("alloc", "oom")]
        self.assertLessEqual(len(asked), 6)
        self.assertTrue(played(trace, allocator.capacity)[1])
        self.assertIn("more than is left by", self.told)

    def test_peak(self):
        allocator = fragmented(8)
        snapshot = allocator.snapshot()
        for args, share in (([], 0.01), (["--tolerance", "5"], 0.05), (["--goal", "fragmentation"], 0.01)):
            trace = self.shrink(snapshot, "--goal", "reserved", *args)
            replayed = subprocess.run([GMREPLAY, "--json", "-", self.out], capture_output=True, check=True)
            peak = json.loads(replayed.stdout)["devices"][0]["peak_reserved_bytes"]
            self.assertLessEqual(abs(peak - allocator.peak), share * allocator.peak)
            if "that hangs on where" not in self.told:
                self.assertEqual(played(trace, 1 << 60)[2].peak, peak)
        self.assertIn("peak of reserved memory", self.told)

    def test_memory(self):
        """Of a recording that ended well, under a limit."""
        allocator = fragmented(9)
        snapshot = allocator.snapshot()
        snapshot["device_traces"][0].pop()
        gmtrace("shrink", "--goal", "oom", "-o", self.out, self.write(snapshot), code=3)
        trace = self.shrink(snapshot, "--memory", "400MiB")
        self.assertTrue(played(trace, 400 * MIB)[1])
        verdict = subprocess.run([GMREPLAY, "--memory", "400MiB", self.out], capture_output=True, text=True, check=False)
        self.assertEqual(verdict.returncode, 1)
        self.assertIn("OOM", verdict.stdout)
        gmtrace("shrink", "--memory", "400GiB", "--goal", "oom", "-o", self.out, self.source, code=3)

    def test_demo(self):
        """What docs/handover.md shows."""
        told = gmtrace("shrink", "--memory", "10GiB", "--join", "all", "-o", self.out, TESTS / "data" / "demo.gmtrace").stdout
        page = (TESTS.parent / "docs" / "handover.md").read_text()
        for line in told.splitlines()[:-1]:
            self.assertIn(f"    {line}\n", page)
        trace = load(self.out)["device_traces"][0]
        self.assertLessEqual(len(trace), 40)
        places, is_out, _ = played(trace, 10 << 30)
        self.assertTrue(is_out)
        self.assertEqual(places, placed(trace))

    def write(self, snapshot):
        self.source.write_bytes(pickle.dumps(snapshot))
        return self.source

    def test_bounded(self):
        told = gmtrace("shrink", "--replays", 3, "-o", self.out, self.write(fragmented(2).snapshot())).stdout
        self.assertIn("--replays was reached", told)
        self.assertTrue(played(load(self.out)["device_traces"][0], 600 * MIB)[1])

    def test_json(self):
        """And what is left is the same each time."""
        allocator = fragmented(2)
        told = json.loads(gmtrace("shrink", "--json", "-", "-o", self.out, self.write(allocator.snapshot())).stdout)
        trace = load(self.out)["device_traces"][0]
        asked = [e for e in trace if e["action"] in ("alloc", "oom")]
        self.assertEqual((told["events"], told["events_left"]), (len(allocator.trace), len(trace)))
        self.assertEqual((told["goal"], told["allocations_left"], told["made_up"]), ("oom", len(asked), 0))
        self.assertEqual((told["memory_bytes"], told["refused_bytes"]), (allocator.capacity, trace[-1]["size"]))
        self.assertEqual(told["peak_reserved_bytes"], played(trace, allocator.capacity)[2].peak)
        self.assertIsNone(told["ended_by"])
        first = self.out.read_bytes()
        gmtrace("shrink", "-o", self.out, self.source)
        self.assertEqual(first, self.out.read_bytes())

    def test_script(self):
        """Run with a torch that is the tests' allocator."""
        snapshot = fragmented(3, streams=(0, 7)).snapshot()
        for event in snapshot["device_traces"][0]:
            if event["action"] != "segment_free":
                event["frames"] = [{"name": 'x"\n"""; raise SystemExit(9) #\\',
                                    "filename": "/a/é\u2028\r\n.py", "line": 3}]
        script = self.path / "small.py"
        trace = self.shrink(snapshot, "--script", script)
        (self.path / "torch.py").write_text(FAKE_TORCH)
        done = subprocess.run([sys.executable, "-B", script, "calls.json"], cwd=self.path, capture_output=True, text=True,
                              check=False, env={**os.environ, "PYTHONPATH": f"{TESTS / 'data'}:{TESTS / 'handover'}"})
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1:]), (0, ["reproduced"]), done.stderr)
        self.assertEqual([tuple(p) for p in json.loads((self.path / "calls.json").read_text())], placed(trace))

    def test_wrong_usage(self):
        source = self.write(fragmented(2).snapshot())
        for args in (["shrink", source], ["shrink", "-o", source, source], ["shrink", "--goal", "peak", "-o", self.out, source],
                     ["shrink", "--memory", "1GiB", "--gpu", "h100-80", "-o", self.out, source],
                     ["shrink", "--gpu", "h1000", "-o", self.out, source], ["shrink", "--replays", 0, "-o", self.out, source],
                     ["shrink", "--from", 3, "-o", self.out, source], ["cut", "--to", 9, "--goal", "oom", "-o", self.out, source],
                     ["info", "--script", "x", source], ["shrink", "--device", 4, "-o", self.out, source],
                     ["shrink", "--script", self.out, "-o", self.out, source],
                     ["shrink", "--script", source, "-o", self.out, source],
                     ["shrink", "--json", "-", "-o", "-", source], ["shrink", "--json", source, "-o", self.out, source],
                     ["shrink", "--json", "-", "--script", "-", "-o", self.out, source]):
            self.assertTrue(gmtrace(*args, code=2).stderr.startswith("gmtrace: "), args)
        gmtrace("shrink", "-o", self.path / "no" / "x.pickle", source, code=5)
        gmtrace("shrink", "-o", self.out, self.write({"segments": [], "device_traces": [[]]}), code=3)
        gmtrace("shrink", "-o", self.out, self.path / "none.pickle", code=3)

    def test_odd(self):
        """Nothing but a refused request; and frees of what was never there."""
        oom = {"action": "oom", "device_free": 5 * MIB, "size": 9 * MIB, "stream": 0, "frames": []}
        free = {"action": "free_completed", "addr": 0x1000, "size": 512, "stream": 0, "frames": []}
        for trace in ([oom], [free, oom], [free, free], [{"action": "snapshot", "addr": 0, "size": 0, "stream": 0}]):
            self.write({"segments": [], "device_traces": [trace]})
            done = subprocess.run([os.environ["GMTRACE"], "shrink", "-o", self.out, self.source], capture_output=True,
                                  text=True, check=False)
            self.assertIn(done.returncode, (0, 3), (trace, done))

    def test_real(self):
        try:
            paths = [p for p in snapshot_paths(".pickle", ".pkl") if p.stat().st_size < 2 * MIB]
        except SystemExit:
            self.skipTest("no real snapshots beside the checkout")
        shrunk = 0
        for path in paths:
            done = subprocess.run([os.environ["GMTRACE"], "shrink", "--replays", "300", "-o", self.out, path],
                                  capture_output=True, text=True, check=False)
            self.assertIn(done.returncode, (0, 3), (path, done.stderr))
            shrunk += done.returncode == 0
        print(f"{shrunk} of {len(paths)} real snapshots shrunk")


FAKE_TORCH = """
import contextlib, json, sys, types
from test_shrink import Limited, OutOfMemory
uint8 = "uint8"
places = []
class Tensor:
    def __init__(self, block):
        self.block = block
    def __del__(self):
        device.free(self.block)
device, now = None, [0]
def empty(size, dtype, device):
    assert (dtype, device) == ("uint8", "cuda")
    block = globals()["device"].alloc(size, [], now[-1])
    places.append(globals()["device"].place(block))
    return Tensor(block)
class Stream:
    count = 0
    def __init__(self):
        Stream.count += 1
        self.handle = Stream.count
@contextlib.contextmanager
def stream(s):
    now.append(s.handle)
    yield
    now.pop()
def mem_get_info():
    return (1 << 40, 1 << 40)
class Library:
    def cuMemAlloc_v2(self, address, size):
        global device
        device = Limited((1 << 40) - size.value)
        return 0
import ctypes
ctypes.CDLL = lambda name: Library()
def dump(path):
    json.dump(places, open(path, "w"))
cuda = types.SimpleNamespace(
    init=lambda: None, mem_get_info=mem_get_info, Stream=Stream, stream=stream, OutOfMemoryError=OutOfMemory,
    memory_reserved=lambda: device.reserved(), max_memory_reserved=lambda: device.peak,
    empty_cache=lambda: device.empty_cache([]),
    memory=types.SimpleNamespace(_record_memory_history=lambda max_entries: None, _dump_snapshot=dump))
"""

if __name__ == "__main__":
    unittest.main()
