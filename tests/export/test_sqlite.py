#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""snapshot.sqlite, read by Python's sqlite3: every event, stack, segment and block is pickle's, the books sum to analysis.json,
and the queries of docs/exports.md answer what was counted by hand. Binary: $GMANALYZE."""
import json
import os
import pathlib
import pickle
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "data"), str(TESTS / "state")]
from caching_allocator import Allocator  # noqa: E402
from snapshots import load, snapshot_paths  # noqa: E402

GMANALYZE = os.environ.get("GMANALYZE") or sys.exit("GMANALYZE names the binary to test")
IS_BUILT_WITH = sys.argv.pop() == "yes"
MIB = 1 << 20
HALF = MIB // 2
QUERIES = re.findall(r"```sql\n(.*?)```", (TESTS.parent / "docs" / "exports.md").read_text(), re.S)


def run(*args):
    return subprocess.run([GMANALYZE, "-q", "--no-charts", "--no-page", "--export", "sqlite", *map(str, args)],
                          capture_output=True, text=True, check=False)


def analyse(path):
    """(connection, analysis.json) of a run."""
    with tempfile.TemporaryDirectory() as folder:
        done = run("-o", folder, path)
        assert done.returncode == 0, done.stderr
        latest = pathlib.Path(folder) / "latest"
        assert not list(latest.glob("*-journal")) and not list(latest.glob("*-wal"))
        file, db = sqlite3.connect(latest / "snapshot.sqlite"), sqlite3.connect(":memory:")
        file.backup(db)
        file.close()
        return db, json.loads((latest / "analysis.json").read_text())


def number(value):
    """As SQLite has it: with a sign, and without what the program takes for absent."""
    if value is None or value == 2**64 - 1:
        return None
    return value - 2**64 if value >= 2**63 else value


def plain(text):
    """A string as the file has it: text, or bytes where it has a NUL or is no UTF-8."""
    raw = text.encode("utf-8", "surrogatepass")
    try:
        raw.decode()
    except UnicodeDecodeError:
        return raw
    return raw if b"\0" in raw else text


def frames_of(row):
    return [(plain(f["name"]), plain(f["filename"]), number(f["line"])) for f in row.get("frames") or []]


class Clock:
    now = 1700000000000000

    def __call__(self):
        self.now += 10
        return self.now


def at(name, path, line):
    return [{"name": "linear", "filename": "/v/site-packages/torch/nn/functional.py", "line": 5},
            {"name": name, "filename": path, "line": line}, {"name": "<module>", "filename": "/app/run.py", "line": 1}]


INIT, FORWARD, LOSS = at("init", "/app/model.py", 10), at("forward", "/app/train.py", 20), at("loss", "/app/train.py", 21)
IN_INIT, IN_FORWARD, IN_LOSS = "init  app/model.py:10", "forward  app/train.py:20", "loss  app/train.py:21"


def by_hand(folder):
    """Three steps in one segment of 20 MiB. Events: 0 segment, 1 weights; 2..7, 8..11, 12..19 the steps."""
    clock, ranges = Clock(), []
    allocator = Allocator(0, 0x7F0000000000, clock)
    allocator.recording = True

    def step(number, stage):
        ranges.append({"device": 0, "name": f"ProfilerStep#{number}", "stage": stage, "time_us": clock.now + 5})

    allocator.alloc(5 * MIB, INIT)  # 0, 1
    step(0, "START")
    a, b = allocator.alloc(2 * MIB, FORWARD), allocator.alloc(2 * MIB, LOSS)  # 2, 3
    allocator.free(a)  # 4, 5
    allocator.free(b)  # 6, 7
    step(0, "END")
    step(1, "START")
    a, _ = allocator.alloc(3 * MIB, FORWARD), allocator.alloc(2 * MIB, LOSS)  # 8, 9: the second one stays
    allocator.free(a)  # 10, 11
    step(1, "END")
    step(2, "START")
    a, b = allocator.alloc(9 * HALF, FORWARD), allocator.alloc(2 * MIB, LOSS)  # 12, 13: into a hole of 3 MiB
    allocator.used_by_other_stream(b, clock.now + 1)
    allocator.free(b)  # 14, and 17
    allocator.free(a)  # 15, 16
    allocator.alloc(3 * HALF, LOSS)  # 18
    allocator.trace.append({"action": "oom", "device_free": MIB, "size": 7 * MIB, "stream": 0, "time_us": clock(),
                            "frames": FORWARD})
    step(2, "END")
    path = pathlib.Path(folder) / "run.pickle"
    path.write_bytes(pickle.dumps({
        "segments": allocator.snapshot_segments(), "device_traces": [allocator.trace], "external_annotations": ranges,
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": False}}))
    return path


def profiled(folder):
    def event(name, category, ts, dur=None, **args):
        row = {"ph": "X" if dur else "i", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "args": args}
        return {**row, "dur": dur} if dur else {**row, "s": "t"}

    def memory(ts, size, total):
        return event("[memory]", "cpu_instant_event", ts,
                     **{"Total Reserved": 4096, "Total Allocated": total, "Bytes": size, "Addr": 1 << 40 | ts,
                        "Device Id": 0, "Device Type": 1})

    path = pathlib.Path(folder) / "run.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
        event("aten::empty", "cpu_op", 10, 20, **{"External id": 1}), memory(12, 512, 512), memory(14, 1024, 1536),
        event("aten::mm", "cpu_op", 40, 20, **{"External id": 2}), memory(42, 2048, 3584), memory(44, -512, 3072)]}))
    return path


@unittest.skipUnless(IS_BUILT_WITH, "built without SQLite")
class Sqlite(unittest.TestCase):
    def same(self, rows, wanted):
        for row, expected in zip(rows, wanted, strict=True):
            self.assertEqual(row, expected)

    def check_events(self, db, snapshot, stacks):
        rows = db.execute("SELECT device, event, action, address, bytes, stream, time_us, pool_first, stack_id FROM events"
                          " ORDER BY device, event")
        events = ((d, i, e) for d, trace in enumerate(snapshot.get("device_traces", [])) for i, e in enumerate(trace))
        self.same(((*r[:8], stacks.get(r[8], [])) for r in rows),
                  ((d, i, e["action"], number(e["device_free"] if e["action"] == "oom" else e.get("addr")), number(e["size"]),
                    e.get("stream"), e.get("time_us"), e.get("segment_pool_id", (None,))[0], frames_of(e))
                   for d, i, e in events))

    def check_state(self, db, snapshot, stacks):
        states = {"active_awaiting_free": "active_pending_free"}
        rows = db.execute("SELECT device, address, total_bytes, stream, type, is_expandable FROM segments ORDER BY segment_id")
        self.same(rows, ((s.get("device", 0), number(s["address"]), s["total_size"], s.get("stream"), s.get("segment_type"),
                          s.get("is_expandable")) for s in snapshot["segments"]))
        rows = db.execute("SELECT s.address, b.bytes, b.state, b.requested_bytes, b.stack_id FROM blocks b"
                          " JOIN segments s USING(segment_id) ORDER BY block_id").fetchall()
        blocks = [(s, b) for s in snapshot["segments"] for b in s["blocks"]]
        self.same((r[:3] for r in rows),
                  ((number(s["address"]), b["size"], states.get(b["state"], b["state"])) for s, b in blocks))
        for row, (_, block) in zip(rows, blocks, strict=True):
            if "requested_size" in block:
                self.assertEqual(row[3], number(block["requested_size"]))
            if "frames" in block:
                self.assertEqual(stacks.get(row[4], []), frames_of(block))

    def check_peaks(self, db, analysis):
        for device in analysis.get("timeline", {"devices": []})["devices"]:
            peaks = dict(db.execute("SELECT kind, CASE kind WHEN 'requested' THEN requested_bytes WHEN 'allocated' THEN"
                                    " allocated_bytes WHEN 'active' THEN active_bytes ELSE reserved_bytes END"
                                    " FROM peaks WHERE device = ?", (device["device"],)))
            self.assertEqual(peaks, {k: device[f"peak_{k}_bytes"] for k in peaks})
            for column, key in (("role", "roles_at_peak"), ("category", "categories_at_peak")):
                live = dict(db.execute(f"SELECT {column}, sum(requested_bytes) FROM live_at_peak WHERE device = ?"
                                       " GROUP BY 1 HAVING sum(requested_bytes) > 0", (device["device"],)))
                self.assertEqual(live, {r["name"]: r["bytes"] for r in device[key] if r["bytes"] > 0})

    def check_allocations(self, db):
        """An allocation's events are its events' allocation, and its block has its address."""
        wrong = db.execute("SELECT count(*) FROM allocations a JOIN events e ON e.device = a.device AND e.event = a.born_event"
                           " WHERE e.action != 'alloc' OR e.allocation != a.allocation OR e.address != a.address"
                           " OR e.bytes != a.requested_bytes").fetchone()
        self.assertEqual(wrong, (0,))
        wrong = db.execute("SELECT count(*) FROM allocations a JOIN blocks b USING(block_id) WHERE a.address != b.address"
                           " OR b.state = 'inactive' OR a.freed_event IS NOT NULL").fetchone()
        self.assertEqual(wrong, (0,))

    def check(self, path):
        db, analysis = analyse(path)
        snapshot = load(path)  # refuses to run what a file says
        self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        self.assertEqual(db.execute("PRAGMA foreign_key_check").fetchall(), [])
        frames, stacks = {i: tuple(rest) for i, *rest in db.execute("SELECT * FROM frames")}, {}
        for stack, frame in db.execute("SELECT stack_id, frame_id FROM stacks ORDER BY stack_id, depth"):
            stacks.setdefault(stack, []).append(frames[frame])
        self.check_events(db, snapshot, stacks)
        self.check_state(db, snapshot, stacks)
        self.check_peaks(db, analysis)
        self.check_allocations(db)
        self.assertEqual(db.execute("SELECT id, severity, bytes FROM findings").fetchall(),
                         [(f["id"], f["severity"], f["bytes"]) for f in analysis["findings"]])
        return db, analysis

    def test_hostile_strings(self):
        names = ("a\0b", "lone \ud800", "'); DROP TABLE events; --", "")
        with tempfile.TemporaryDirectory() as folder:
            allocator = Allocator(0, 0xFFFF800000000000, Clock())
            allocator.recording = True
            for i, name in enumerate(names):
                allocator.alloc(MIB, [{"name": name, "filename": "f", "line": 2**64 - 1 - i}])
            path = pathlib.Path(folder) / "run.pickle"
            path.write_bytes(pickle.dumps({"segments": allocator.snapshot_segments(), "device_traces": [allocator.trace]}))
            db, _ = self.check(path)
            kinds = dict(db.execute("SELECT typeof(name), count(DISTINCT name) FROM frames GROUP BY 1"))
            self.assertEqual(kinds, {"blob": 2, "text": 2})
            self.assertEqual(db.execute("SELECT printf('%x', address) FROM segments").fetchone(), ("ffff800000000000",))

    def test_the_same_file_gives_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = by_hand(folder)
            for name in "ab":
                self.assertEqual(run("-o", f"{folder}/{name}", path).returncode, 0)
            self.assertEqual(*(pathlib.Path(folder, name, "latest", "snapshot.sqlite").read_bytes() for name in "ab"))

    def test_real(self):
        try:
            paths = [p for p in snapshot_paths(".pickle", ".pkl") if p.stat().st_size < 3 * MIB]
        except SystemExit:
            self.skipTest("no real snapshots")
        for path in paths:
            with self.subTest(path=str(path)):
                self.check(path)

    def test_queries(self):
        with tempfile.TemporaryDirectory() as folder:
            db, analysis = self.check(by_hand(folder))
            (peak, roles, lines, moment, stack, left, often, curve, waits, free, oom), operators = (
                [db.execute(q).fetchall() for q in QUERIES[:11]], QUERIES[11])
            self.assertEqual(len(QUERIES), 12)
            self.assertEqual(peak, [(0, 27 * HALF)])
            self.assertEqual(sum(b for *_, b in roles), 27 * HALF)
            self.assertEqual({r: b for _, r, b in roles},
                             {r["name"]: r["bytes"] for r in analysis["timeline"]["devices"][0]["roles_at_peak"]})
            self.assertEqual(lines, [(IN_INIT, 5 * MIB, 1), (IN_FORWARD, 9 * HALF, 1), (IN_LOSS, 4 * MIB, 2)])
            self.assertEqual(moment, [(IN_INIT, 5 * MIB), (IN_FORWARD, 3 * MIB), (IN_LOSS, 2 * MIB)])
            self.assertEqual(stack, frames_of({"frames": INIT}))
            self.assertEqual(left, [(1, IN_LOSS, 1, 2 * MIB)])
            self.assertEqual(often, [(IN_LOSS, 4, 15 * HALF, 40.0), (IN_FORWARD, 3, 19 * HALF, 100 / 3), (IN_INIT, 1, 5 * MIB, None)])
            self.assertEqual(curve, [(e, half * HALF) for e, half in (
                (1, 10), (2, 14), (3, 18), (5, 14), (7, 10), (8, 16), (9, 20), (11, 14), (12, 23), (13, 27), (16, 18), (17, 14),
                (18, 17))])
            self.assertEqual(waits, [(IN_LOSS, 1, 3 * MIB, 3)])
            self.assertEqual(free, [(0, "7f0000000000", 20 * MIB, 23 * HALF, 2, 10 * MIB)])
            self.assertEqual(oom, [(0, 19, 7 * MIB, MIB, 17 * HALF, IN_FORWARD)])
            self.assertEqual(db.execute("SELECT step, first_event, last_event FROM steps").fetchall(),
                             [(0, 2, 7), (1, 8, 11), (2, 12, 19)])
            db, _ = analyse(profiled(folder))
            self.assertEqual(db.execute(operators).fetchall(), [("aten::mm", 1, 2048), ("aten::empty", 2, 1536)])
            self.assertEqual(db.execute("SELECT name, start_ns, duration_ns, external_id FROM profile_spans").fetchall(),
                             [("aten::empty", 10000, 20000, 1), ("aten::mm", 40000, 20000, 2)])

    def test_the_whole_trace_or_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = by_hand(folder)
            for option in (["--from", "3"], ["--min-size", "2MiB"], ["--stream", "0"]):
                done = run("-o", f"{folder}/results", *option, path)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
            self.assertFalse(os.path.exists(f"{folder}/results"))

    def test_a_full_disk_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = by_hand(folder)
            done = subprocess.run(["sh", "-c", 'ulimit -f 40; trap "" XFSZ; exec "$0" "$@"', GMANALYZE, "-q", "--no-charts",
                                   "--no-page", "--export", "sqlite", "-o", f"{folder}/results", path],
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (5, 1), done.stderr)
            self.assertIn("snapshot.sqlite", done.stderr)
            self.assertEqual([p for p in os.listdir(f"{folder}/results")], [])


@unittest.skipIf(IS_BUILT_WITH, "built with SQLite")
class Without(unittest.TestCase):
    def test_it_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("-o", f"{folder}/results", by_hand(folder))
            self.assertEqual(done.returncode, 4)
            self.assertRegex(done.stderr, r"\Agmanalyze: --export sqlite: built without SQLite .*\n\Z")
            self.assertFalse(os.path.exists(f"{folder}/results"))


if __name__ == "__main__":
    unittest.main()
