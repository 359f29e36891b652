#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gmtrace merge: dumps of the tests' own allocator, whose ring forgets, become the trace that a large ring would have had; what is
missing is said; ranks become devices. Binaries: $GMTRACE, $GMREPLAY, $GMANALYZE."""
import copy
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
from caching_allocator import Allocator  # noqa: E402
from snapshots import load, snapshot_paths  # noqa: E402

GMTRACE = os.environ.get("GMTRACE") or sys.exit("GMTRACE names the binary to test")
GMREPLAY = os.environ.get("GMREPLAY") or sys.exit("GMREPLAY names the binary to test")
GMANALYZE = os.environ.get("GMANALYZE") or sys.exit("GMANALYZE names the binary to test")
MIB = 1 << 20
SETTINGS = {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": False, "roundup_power2_divisions": {"1": 0, "2": 0}}


class Clock:
    now = 1700000000000000

    def __call__(self):
        self.now += 11
        return self.now


class Process:
    """As PyTorch: a ring for each device, and a record of each snapshot in it, behind what that snapshot has."""

    def __init__(self, devices=1, ring=10**9, base=0x7F0000000000):
        self.clock, self.ring, self.dumps, self.annotations = Clock(), ring, [], []
        self.devices = [Allocator(d, base + (d << 36), self.clock) for d in range(devices)]
        for device in self.devices:
            device.recording = True

    def snapshot(self, ring=None, more=None):
        keep = self.ring if ring is None else ring
        return copy.deepcopy({"segments": [s for d in self.devices for s in d.snapshot_segments()],
                              "device_traces": [d.trace[-keep:] for d in self.devices], "allocator_settings": SETTINGS,
                              "external_annotations": self.annotations, **(more or {})})

    def dump(self):
        self.dumps.append(self.snapshot())
        for device in self.devices:
            device.record("snapshot", 0, sum(s["active_size"] for s in device.snapshot_segments()), 0, [])


def frames(i):
    return [{"name": f"f{i % 5}", "filename": "/app/model.py", "line": i % 50}]


def random_steps(process, seed, steps=6, events=60, after=lambda i: None):
    rng, live = random.Random(seed), []
    for step in range(steps):
        process.annotations.append({"device": 0, "name": f"ProfilerStep#{step}", "stage": "START", "time_us": process.clock.now})
        for i in range(events):
            d = rng.randrange(len(process.devices))
            mine = [b for b in live if b[0] == d]
            if mine and rng.random() < 0.47:
                live.remove(block := rng.choice(mine))
                process.devices[d].free(block[1])
            else:
                live.append((d, process.devices[d].alloc(rng.choice([600, 5000, 300000, 2 * MIB, 7 * MIB, 24 * MIB]), frames(i))))
        process.annotations.append({"device": 0, "name": f"ProfilerStep#{step}", "stage": "END", "time_us": process.clock.now})
        after(step)


def same_steps(process, steps, after):
    """Each step does the same at the same addresses: 8 events, after 4 of a beginning."""
    a = process.devices[0]
    a.alloc(3 * MIB, frames(1))
    a.alloc(300, frames(2))
    for i in range(steps):
        blocks = [a.alloc(2 * MIB, frames(3)), a.alloc(4 * MIB, frames(4))]
        a.free(blocks[0])
        a.free(blocks[1])
        process.clock.now += 5000
        after(i)


class Merge(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)

    def write(self, snapshots, name="dump{}.pickle"):
        paths = [self.folder / name.format(i) for i in range(len(snapshots))]
        for path, snapshot in zip(paths, snapshots):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(pickle.dumps(snapshot))
        return paths

    def gmtrace(self, *args, code=0):
        done = subprocess.run([GMTRACE, "merge", *map(str, args)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, (args, done.stdout, done.stderr))
        return done

    def merge(self, snapshots, *options, shuffle=None):
        paths = self.write(snapshots)
        if shuffle:
            shuffle.shuffle(paths)
        self.gmtrace(*options, "-q", "-o", self.folder / "out.pickle", *paths)
        return load(self.folder / "out.pickle")

    def refuses(self, paths, *words, options=(), code=3):
        done = self.gmtrace(*options, "-o", self.folder / "no.pickle", *paths, code=code)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(str(word), done.stderr)
        self.assertFalse((self.folder / "no.pickle").exists())

    def verify(self, path):
        done = subprocess.run([GMREPLAY, "--verify", "--json", "-", path], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(json.loads(done.stdout)["verdict"], "PASS")

    def test_dumps_become_what_a_large_ring_has(self):
        for seed in range(6):
            process = Process(devices=1 + seed % 3, ring=250 - 40 * (seed % 3))
            random_steps(process, seed, after=lambda i: process.dump())
            whole = process.snapshot(10**9)
            for device in process.devices:  # the last dump does not have the record of itself
                assert device.trace.pop()["action"] == "snapshot"
            whole = process.snapshot(10**9)
            self.assertGreater(sum(map(len, whole["device_traces"])), sum(map(len, process.dumps[-1]["device_traces"])))
            self.assertEqual(self.merge(process.dumps, shuffle=random.Random(seed)), whole)
            self.verify(self.folder / "out.pickle")

    def test_gmtrace_files_and_what_it_says(self):
        process = Process(ring=100)
        random_steps(process, 1, events=40, after=lambda i: process.dump())
        done = self.gmtrace("-o", self.folder / "out.gmtrace", *self.write(process.dumps))
        count = sum(len(d.trace) for d in process.devices) - 1
        self.assertRegex(done.stdout, rf"\Adevice 0: {count} events of 6 snapshots, with \d+ to \d+ in common with the one before\n\Z")
        self.verify(self.folder / "out.gmtrace")

    def test_a_program_that_repeats_itself(self):
        """Several lengths fit, and times tell which is meant; without times, where the snapshot was taken, if that does."""
        process = Process(ring=20)
        same_steps(process, 6, lambda i: process.dump())
        process.devices[0].trace.pop()
        whole = process.snapshot(10**9)
        self.assertEqual(self.merge(process.dumps), whole)
        for snapshot in (whole, *process.dumps):
            for event in snapshot["device_traces"][0]:
                del event["time_us"]
        self.refuses(self.write(process.dumps), "repeats itself", "dump1.pickle")
        process = Process(ring=30)
        same_steps(process, 6, lambda i: i % 3 == 2 and process.dump())
        process.devices[0].trace.pop()
        whole = process.snapshot(10**9)
        for snapshot in (whole, *process.dumps):
            for event in snapshot["device_traces"][0]:
                del event["time_us"]
        self.assertEqual(self.merge(process.dumps), whole)

    def test_clocks_that_differ_a_little(self):
        process = Process(ring=20)
        same_steps(process, 6, lambda i: process.dump())
        for i, snapshot in enumerate(process.dumps):
            for event in snapshot["device_traces"][0]:
                event["time_us"] += i % 3
        process.devices[0].trace.pop()
        self.assertEqual([e["addr"] for e in self.merge(process.dumps)["device_traces"][0]],
                         [e["addr"] for e in process.devices[0].trace])

    def test_clocks_that_do_not_tell(self):
        """All events at one time; and overlaps of which one is hardly better than another."""
        for time_of in (lambda i: 7, lambda i: 1700000000000000 + i // 8 + (3 if i > 20 else 0)):
            process = Process(ring=20)
            same_steps(process, 6, lambda i: process.dump())
            for k, snapshot in enumerate(process.dumps):
                for i, event in enumerate(snapshot["device_traces"][0]):
                    event["time_us"] = time_of(i + 7 * k)
            self.refuses(self.write(process.dumps), "repeats itself")

    def test_steps_that_look_alike_do_not_hide_a_gap(self):
        process = Process(ring=9)
        same_steps(process, 6, lambda i: i % 3 == 2 and process.dump())
        self.refuses(self.write(process.dumps), "dump0.pickle", "dump1.pickle", "device 0", "are missing")

    def test_no_event_in_common_but_none_missing(self):
        """The ring has just what came after the snapshot, and the record of it; with one less that is gone, too."""
        process = Process(ring=13)
        same_steps(process, 1, lambda i: process.dump())
        before = len(process.devices[0].trace)
        random_steps(process, 3, steps=1, events=20)
        after = len(process.devices[0].trace) - before
        process.ring = after + 1
        process.dumps.append(process.snapshot())
        self.assertEqual(self.merge(process.dumps), process.snapshot(10**9))
        self.refuses(self.write([process.dumps[0], process.snapshot(after)]), "are missing")

    def test_a_gap_is_said_or_left_behind(self):
        process = Process(devices=2, ring=100)
        random_steps(process, 5, events=40, after=lambda i: i != 2 and process.dump())
        begin = process.dumps[2]["device_traces"][1][-12]["time_us"]  # in step 3: so device 1 has nothing of step 2
        for dump in process.dumps[2:]:
            dump["device_traces"][1] = [e for e in dump["device_traces"][1] if e["time_us"] >= begin]
        paths = self.write(process.dumps)
        self.refuses(paths, "dump1.pickle", "dump2.pickle", "device 1", "--after-gap")
        done = self.gmtrace("--after-gap", "-o", self.folder / "out.pickle", *paths)
        self.assertIn(f"left out, for events are missing after them: 2 snapshots before {paths[2]}\n", done.stdout)
        out = load(self.folder / "out.pickle")
        for d in range(2):
            process.devices[d].trace.pop()
            trace = out["device_traces"][d]
            self.assertEqual(trace, process.devices[d].trace[-len(trace):])
            self.assertEqual(trace[0], process.dumps[2]["device_traces"][d][0])
        self.verify(self.folder / "out.pickle")

    def test_states_that_contradict_each_other(self):
        process = Process(ring=100)
        random_steps(process, 2, steps=3, events=40, after=lambda i: process.dump())
        block = next(b for s in process.dumps[1]["segments"] for b in s["blocks"] if b["state"] == "active_allocated")
        block["state"] = "inactive"
        self.refuses(self.write(process.dumps), "dump1.pickle", "contradict each other")

    def test_other_processes_are_no_dumps(self):
        snapshots = []
        for seed in range(2):
            process = Process(base=0x7F0000000000 + (seed << 40))
            random_steps(process, seed)
            snapshots.append(process.snapshot())
        self.refuses(self.write(snapshots), "--ranks")

    def test_a_dump_twice_and_dumps_before_anything_happened(self):
        process = Process()
        process.dumps.append(process.snapshot())
        random_steps(process, 4, steps=2)
        process.dumps += [process.snapshot()] * 2
        self.assertEqual(self.merge(process.dumps), process.snapshot())

    def test_what_no_column_has(self):
        process = Process(ring=60)
        random_steps(process, 4, steps=2, events=20, after=lambda i: process.dump())
        whole = process.snapshot(10**9, {"a": {"b": [1, ("c", 2.5), None]}})
        for snapshot in (*process.dumps, whole):
            snapshot["a"] = {"b": [1, (7, 8), None]}
            snapshot["segments"][0]["odd"] = "segment"
            snapshot["segments"][0]["blocks"][0]["odd"] = [3]
            for event in snapshot["device_traces"][0]:
                if event["addr"] % 3 == 0:
                    event["odd"] = {"x": event["addr"]}
                for frame in event.get("frames", []):
                    if frame["line"] % 2:
                        frame["fx"] = f"{frame['name']}!"
        whole["device_traces"][0].pop()
        self.assertEqual(self.merge(process.dumps), whole)

    def test_ranks(self):
        processes, paths = [], []
        for rank in (0, 2, 10):  # a shell has rank10 before rank2
            process = Process(devices=2 if rank == 2 else 1)
            random_steps(process, rank)
            if rank == 10:
                process.devices.insert(0, Allocator(0, 1 << 40, process.clock))  # nothing on device 0
                process.devices[1].device = 1
            processes.append(process.snapshot())
            paths.append(self.folder / f"rank{rank}_memory_snapshot.pickle")
            paths[-1].write_bytes(pickle.dumps(processes[-1]))
        done = self.gmtrace("--ranks", "-o", self.folder / "job.pickle", paths[2], paths[0], paths[1])
        self.assertEqual([line.split(",")[0] for line in done.stdout.splitlines()],
                         [f"device {new}: device {own} of {paths[part]}" for new, (part, own) in enumerate(
                             ((0, 0), (1, 0), (1, 1), (2, 1)))])
        job = load(self.folder / "job.pickle")
        self.assertEqual(job["device_traces"], [processes[0]["device_traces"][0], *processes[1]["device_traces"],
                                                processes[2]["device_traces"][1]])
        numbers = {(0, 0): 0, (1, 0): 1, (1, 1): 2, (2, 1): 3}
        self.assertEqual(job["segments"], [{**s, "device": numbers[p, s["device"]]}
                                           for p, snapshot in enumerate(processes) for s in snapshot["segments"]])
        self.assertEqual([a["time_us"] for a in job["external_annotations"]],
                         sorted(a["time_us"] for s in processes for a in s["external_annotations"]))
        self.verify(self.folder / "job.pickle")
        totals = [json.loads(subprocess.run([GMANALYZE, "-q", "--no-charts", "--no-page", "-o", self.folder / "r", "--json", "-", path],
                                            capture_output=True, text=True, check=True).stdout)["totals"]
                  for path in (self.folder / "job.pickle", *paths)]
        for key in ("reserved_bytes", "allocated_bytes", "requested_bytes"):
            self.assertEqual(totals[0][key], sum(t[key] for t in totals[1:]))
        processes[1]["allocator_settings"] = {**SETTINGS, "expandable_segments": True}
        paths[1].write_bytes(pickle.dumps(processes[1]))
        self.refuses(paths, paths[0], paths[1], "expandable_segments", options=["--ranks"])

    def test_cuts_of_real_recordings_become_whole_again(self):
        try:
            paths = [p for p in snapshot_paths(".pickle", ".pkl") if p.stat().st_size < MIB]
        except SystemExit:
            self.skipTest("no real snapshots")
        merged = 0
        for path in paths:
            whole = load(path)
            counts = [len(t) for t in whole.get("device_traces", []) if t]
            if len(counts) != 1 or counts[0] < 100:
                continue
            pieces = [self.folder / f"{name}.pickle" for name in "ab"]
            cut = [subprocess.run([GMTRACE, "cut", "-q", *place, "-o", piece, path], capture_output=True, check=False).returncode
                   for place, piece in zip((["--to", str(counts[0] * 6 // 10)], ["--from", str(counts[0] * 4 // 10)]), pieces)]
            if cut != [0, 0]:
                continue  # it has no state in the middle
            with self.subTest(path=str(path)):
                self.gmtrace("-q", "-o", self.folder / "out.pickle", *pieces)
                out = load(self.folder / "out.pickle")
                self.assertEqual(out["device_traces"], whole["device_traces"])
                self.assertEqual(out["segments"], load(pieces[1])["segments"])
                merged += 1
        print(f"{merged} real recordings are whole again", file=sys.stderr)

    def test_usage(self):
        paths = self.write([Process().snapshot()] * 2)
        out = self.folder / "no.pickle"
        for args in (["-o", out, paths[0]], ["-o", out], paths, ["-o", paths[1], *paths], ["--from", "1", "-o", out, *paths],
                     ["--ranks", "--after-gap", "-o", out, *paths], ["--kept", "k", "-o", out, *paths]):
            done = self.gmtrace(*args, code=2)
            self.assertEqual(len(done.stderr.splitlines()), 1)
        self.refuses(paths, "none has events")
        (self.folder / "bad.pickle").write_bytes(paths[0].read_bytes()[:-9])
        self.refuses([paths[0], self.folder / "bad.pickle"], "bad.pickle")


if __name__ == "__main__":
    unittest.main()
