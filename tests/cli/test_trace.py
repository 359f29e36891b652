#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""timeline.csv, exports and filters of gmanalyze, against an allocator that keeps its own books while it writes a trace."""
import csv
import json
import os
import pickle
import re
import resource
import signal
import struct
import subprocess
import sys
import time
import zlib

from harness import BINARY, EXPORTS, MIB, SOURCE, Allocator, Case, Clock, frame, main, small_snapshot, unpacked, write

import make_demo_snapshot

sys.path.insert(0, os.path.join(SOURCE, "tests", "export"))
import formats  # noqa: E402

KINDS = ("allocated", "active", "requested", "reserved")
HEADER = "device,event,time_us,allocated,active,requested,reserved"


class Bookkeeper(Allocator):
    """Sums up what it does, recorded or not; `levels` has the sums after each recorded event."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.now, self.levels, self.sizes = dict.fromkeys(KINDS, 0), [], {}

    def record(self, action, address, size, stream, frames):
        now = self.now
        if action == "segment_alloc":
            now["reserved"] += size
        elif action == "alloc":
            block = self.sizes[address] = self.size_at(address)
            now["allocated"] += block
            now["active"] += block
            now["requested"] += size
        elif action == "free_requested":
            now["allocated"] -= self.sizes[address]
        elif action == "free_completed":
            now["active"] -= self.sizes.pop(address)
            now["requested"] -= size
        super().record(action, address, size, stream, frames)
        if self.recording:
            self.levels.append(dict(now))

    def size_at(self, address):
        segment = max((s for s in self.segments if s.address <= address), key=lambda s: s.address)
        return next(block.size for block in segment.blocks() if block.address == address)


def demo():
    """(snapshot, books after each event) of the demo."""
    make_demo_snapshot.Allocator = Bookkeeper
    training = make_demo_snapshot.Training()
    training.run()
    return training.snapshot(), training.allocator.levels


def rows_of(text):
    """[(device, event or None, time or None, levels)] of a timeline.csv."""
    lines = text.split("\n")
    assert lines[0] == HEADER and lines.pop() == "", lines[0]
    cells = [[int(cell) if cell else None for cell in row] for row in csv.reader(lines[1:])]
    assert all(len(row) == 7 for row in cells)
    return [(row[0], row[1], row[2], dict(zip(KINDS, row[3:]))) for row in cells]


class Trace(Case):
    @classmethod
    def setUpClass(cls):
        cls.demo, cls.levels = demo()
        cls.trace = cls.demo["device_traces"][0]

    def setUp(self):
        super().setUp()
        write(self.at("demo.pickle"), self.demo)

    def in_run(self, name):
        with open(self.at("results", self.latest(), name), "rb") as file:
            return file.read()

    def rows(self, *arguments):
        self.run_it("-q", "--no-charts", *arguments)
        return rows_of(self.in_run("timeline.csv").decode("ascii"))

    def device(self, *arguments):
        """The only device's timeline in analysis.json."""
        (device,) = self.analysis(*arguments)["timeline"]["devices"]
        return device


def pixels(png):
    """Its rows, as they were before they were compressed."""
    at, packed = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        packed += png[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    return zlib.decompress(packed)


class Csv(Trace):
    def test_every_event(self):
        """The allocator's own sums after each event; memory is as it was before recording began in the first."""
        rows = self.rows("--csv-full", "demo.pickle")
        self.assertEqual(len(rows), len(self.trace))
        for i, (row, event, levels) in enumerate(zip(rows, self.trace, self.levels)):
            self.assertEqual(row, (0, i, event["time_us"], levels))

    def test_extremes(self):
        """Some of these rows: the last, and the highest of each kind."""
        rows = self.rows("demo.pickle")
        events = [row[1] for row in rows]
        self.assertEqual(events, sorted(set(events)))
        self.assertLess(len(rows), len(self.trace))
        for _, event, time_us, levels in rows:
            self.assertEqual((time_us, levels), (self.trace[event]["time_us"], self.levels[event]))
        self.assertEqual(events[-1], len(self.trace) - 1)
        for kind in KINDS:
            self.assertEqual(max(row[3][kind] for row in rows), max(now[kind] for now in self.levels), kind)
        peak = max(now["requested"] for now in self.levels)
        first = next(i for i, now in enumerate(self.levels) if now["requested"] == peak)
        self.assertIn(first, events)
        self.assertEqual(self.device("demo.pickle")["peak_event"], first)

    def test_no_trace(self):
        write(self.at("bare.pickle"), self.demo["segments"])
        for arguments in ([], ["--csv-full"]):
            self.run_it("-q", "--no-charts", *arguments, "bare.pickle")
            self.assertNotIn("timeline.csv", os.listdir(self.at("results", self.latest())))

    def test_several_devices(self):
        write(self.at("three.pickle"), small_snapshot(devices=3))
        full = self.rows("--csv-full", "three.pickle")
        self.assertEqual([row[0] for row in full], sorted(row[0] for row in full))
        self.assertEqual({row[0] for row in full}, {0, 1, 2})
        for device in range(3):
            mine = [row[1:] for row in full if row[0] == device]
            self.assertEqual([row[0] for row in mine], list(range(len(mine))))
            self.assertEqual(max(row[2]["reserved"] for row in mine), 72 * MIB)
            self.assertEqual(mine[-1][2], {"allocated": 30 * MIB + 1024, "active": 30 * MIB + 1024,
                                           "requested": 30 * MIB + 1000, "reserved": 72 * MIB})
            self.assertEqual([row[1:] for row in self.rows("--csv-full", "--device", str(device), "three.pickle")], mine)

    def before_recording(self, device):
        """Two blocks from before the trace, one of which is freed in it: all peaks are before event 0."""
        allocator = Bookkeeper(device, 0x7F0000000000 + device * (1 << 40), Clock())
        gone = allocator.alloc(40 * MIB, [])
        allocator.alloc(1000, [])
        allocator.recording = True
        allocator.free(gone)
        return allocator

    def test_a_peak_before_event_0(self):
        """Its row has neither event nor time."""
        allocators = [self.before_recording(device) for device in range(2)]
        write(self.at("late.pickle"), {"segments": sum((a.snapshot_segments() for a in allocators), []),
                                       "device_traces": [a.trace for a in allocators]})
        before = {"allocated": 40 * MIB + 1024, "active": 40 * MIB + 1024, "requested": 40 * MIB + 1000,
                  "reserved": 42 * MIB}
        expected = []
        for device, allocator in enumerate(allocators):
            expected.append((device, None, None, before))
            expected += [(device, i, event["time_us"], allocator.levels[i]) for i, event in enumerate(allocator.trace)]
        self.assertEqual(self.rows("--csv-full", "late.pickle"), expected)
        self.assertEqual(self.rows("late.pickle"), expected)

    def test_times_may_be_missing(self):
        snapshot = small_snapshot()
        for event in snapshot["device_traces"][0]:
            del event["time_us"]
        write(self.at("timeless.pickle"), snapshot)
        self.assertEqual({row[2] for row in self.rows("--csv-full", "timeless.pickle")}, {None})
        self.assertEqual({row[2] for row in self.rows("timeless.pickle")}, {None})

    def test_full_disk(self):
        """Files may grow to 3000 bytes."""
        def fill():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

        done = self.run_it("--csv-full", "demo.pickle", code=5, preexec_fn=fill)
        self.assert_one_error(done, "timeline.csv", "File too large")
        self.assertEqual(os.listdir(self.at("results")), [])

    def test_results_that_cannot_be(self):
        with open(self.at("file"), "w", encoding="ascii"):
            pass
        self.assert_one_error(self.run_it("--csv-full", "-o", "file", "demo.pickle", code=5), "file")

    def test_nothing_else_changes(self):
        """--csv-full is the same run but for that file."""
        stamp = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d{8}_\d{6}_n(_2)?")
        contents = []
        for arguments in ([], ["--csv-full"]):
            done = self.run_it(*arguments, "demo.pickle", "n")
            files = {name: stamp.sub(b"", unpacked(self.in_run(name))) for name in os.listdir(self.at("results", self.latest()))}
            contents.append((stamp.sub(b"", done.stdout), files))
            self.assertNotEqual(files.pop("timeline.csv"), b"")
        self.assertEqual(contents[0][0], contents[1][0])
        self.assertEqual(contents[0][1].keys(), contents[1][1].keys())
        differ = {name: (data, contents[1][1][name]) for name, data in contents[0][1].items() if data != contents[1][1][name]}
        self.assertEqual({name: [f"{len(data)} bytes, pixels {zlib.crc32(pixels(data)):08x}" if name.endswith(".png") else data
                                 for data in both] for name, both in differ.items()}, {})

    def test_interrupt_while_it_is_written(self):
        """A trace of 300,000 events; the interrupt comes when the hidden file is there."""
        trace = small_snapshot()["device_traces"][0]
        alloc = {"action": "alloc", "addr": 1 << 40, "size": 512, "stream": 0, "time_us": 1700000000000000}
        events = [dict(alloc, action=action) for _ in range(150000) for action in ("alloc", "free_completed")]
        write(self.at("long.pickle"), {"segments": [], "device_traces": [trace[:1] + events]})
        seen = 0
        for _ in range(5):
            run = subprocess.Popen([BINARY, "-q", "--csv-full", "--no-charts", "long.pickle"], cwd=self.folder)
            until = time.monotonic() + 60
            while run.poll() is None and time.monotonic() < until:
                if os.path.isdir(self.at("results")) and any(n[0] == "." for n in os.listdir(self.at("results"))):
                    run.send_signal(signal.SIGINT)
                    break
            seen += run.wait(timeout=120) == -signal.SIGINT
            self.assertEqual([name for name in os.listdir(self.at("results")) if name[0] == "."], [])
            for directory in self.runs():
                self.assert_complete(directory, charts=False)
        self.assertGreater(seen, 0)


class Exports(Trace):
    def test_sums(self):
        """Every format has the same stacks, and their bytes sum to the peak."""
        self.run_it("-q", "--no-charts", "--export", "folded,speedscope", "--export=pprof,perfetto", "demo.pickle")
        peak = max(now["requested"] for now in self.levels)
        folded = formats.folded(self.in_run("peak.folded"))
        ((_, speedscope),) = formats.speedscope(self.in_run("peak.speedscope.json")).items()
        space, objects, _ = formats.pprof(self.in_run("peak.pb.gz"))
        self.assertEqual([sum(s.values()) for s in (folded, speedscope, space)], [peak] * 3)
        self.assertEqual({tuple((n, f or "", l) for n, f, l in s): v for s, v in speedscope.items()}, space)
        self.assertEqual(sorted(folded.values()), sorted(space.values()))
        self.assertEqual(sum(objects.values()), self.live_at_peak())
        self.assertTrue(any(frame.startswith("forward (") for frames in folded for frame in frames))

    def test_modules(self):
        """A row for each node; what their own code made is the peak, and what it is for is the row."""
        self.run_it("-q", "--no-charts", "--export", "modules", "demo.pickle")
        rows = list(csv.DictReader(self.in_run("modules.csv").decode().splitlines()))
        peak = max(now["requested"] for now in self.levels)
        self.assertEqual((int(rows[0]["bytes"]), sum(int(row["own_bytes"]) for row in rows)), (peak, peak))
        roles = ("weights", "gradients", "optimizer_state", "activations", "temporaries", "other")
        for row in rows:
            self.assertEqual(sum(int(row[role]) for role in roles), int(row["bytes"]), row)
            self.assertLessEqual(int(row["parent"]), int(row["node"]))

    def test_source(self):
        """The lines of a checkout stand below sites in the text, and in a column of README.md; without it there is none."""
        report = self.analysis("demo.pickle")
        site = next(row for row in report["call_sites"] if ".py:" in row["site"])
        name = site["site"].split("  ")[1].rpartition(":")[0]
        path = self.at("checkout", name)
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"    made = at({n})\n" for n in range(1, 3000))
        line = f"made = at({site['site'].rpartition(':')[2]})"
        for options, times in ((("--source", self.at("checkout")), 1), ((), 0)):
            self.run_it("-q", "--no-charts", *options, "demo.pickle")
            for file_name, mark in (("analysis_report.txt", f" {line}\n"), ("README.md", f" `{line}` |")):
                self.assertEqual(min(self.in_run(file_name).decode().count(mark), 1), times, (file_name, line))

    def live_at_peak(self):
        """How many blocks are live at the peak, those from before the trace included."""
        live, most, at_most = {}, 0, 0
        for event, now in zip(self.trace, self.levels):
            if event["action"] == "alloc":
                live[event["addr"]] = True
            elif event["action"] == "free_completed":
                del live[event["addr"]]
            if now["requested"] > most:
                most, at_most = now["requested"], len(live)
        born_before = sum(b["state"] != "inactive" and b["address"] not in live for s in self.demo["segments"]
                          for b in s["blocks"])
        return at_most + born_before

    def test_timeline(self):
        self.run_it("-q", "--no-charts", "--export", "perfetto", "demo.pickle")
        processes, counters, _, instants = formats.perfetto(self.in_run("timeline.perfetto.json"))
        self.assertEqual(processes, {1: "device 0"})
        start = self.trace[0]["time_us"]
        by_time = {event["time_us"] - start: now for event, now in zip(self.trace, self.levels)}
        for kind in KINDS:
            self.assertEqual(max(v for _, v in counters[1, kind]), max(now[kind] for now in self.levels))
            for ts, value in counters[1, kind]:
                self.assertEqual(value, by_time[ts][kind])
        self.assertEqual({name for _, name, _ in instants[1]},
                         {"peak requested", "peak allocated", "peak active", "peak reserved"})

    def test_only_what_was_asked_for(self):
        for names in (["pprof"], ["folded", "perfetto"], ["modules"]):
            self.run_it("-q", "--no-charts", "--export", ",".join(names), "snapshot.pickle")
            there = set(os.listdir(self.at("results", self.latest()))) & set(EXPORTS.values())
            self.assertEqual(there, {EXPORTS[name] for name in names})

    def test_no_trace(self):
        write(self.at("bare.pickle"), self.demo["segments"])
        done = self.run_it("--no-charts", "--export", "folded,pprof,speedscope,perfetto", "bare.pickle")
        self.assert_one_error(done, "warning", "no trace")
        self.assertEqual(set(os.listdir(self.at("results", self.latest()))) & set(EXPORTS.values()), set())

    def test_several_devices(self):
        write(self.at("two.pickle"), small_snapshot(devices=2))
        self.run_it("-q", "--no-charts", "--export", "folded,speedscope,pprof", "two.pickle")
        peak = 70 * MIB + 1000  # by hand: all three blocks of the fixture
        folded = formats.folded(self.in_run("peak.folded"))
        space, _, _ = formats.pprof(self.in_run("peak.pb.gz"))
        for device in range(2):
            self.assertEqual(sum(v for s, v in folded.items() if s[0] == f"device {device}"), peak)
            self.assertEqual(sum(v for s, v in space.items() if s[0][0] == f"device {device}"), peak)
        speedscope = formats.speedscope(self.in_run("peak.speedscope.json"))
        self.assertEqual([sum(p.values()) for p in speedscope.values()], [peak, peak])


class Filters(Trace):
    def test_window(self):
        """Peaks of requested bytes between two events, which both count."""
        last = len(self.trace) - 1
        for first, end in ((0, last), (last // 3, last // 2), (100, 100), (last, last)):
            window = [now["requested"] for now in self.levels[first:end + 1]]
            device = self.device("--from", str(first), "--to", f"event:{end}", "demo.pickle")
            self.assertEqual(device["peak_requested_bytes"], max(window))
            self.assertEqual(device["peak_event"], first + window.index(max(window)))
            self.assertEqual(sum(c["bytes"] for c in device["categories_at_peak"]), max(window))

    def test_window_by_time(self):
        start, middle = self.trace[0]["time_us"], self.trace[len(self.trace) // 2]["time_us"]
        after = [i for i, event in enumerate(self.trace) if event["time_us"] >= middle]
        device = self.device("--from", f"{middle - start}us", "demo.pickle")
        self.assertEqual(device["peak_requested_bytes"], max(self.levels[i]["requested"] for i in after))
        before = [i for i, event in enumerate(self.trace) if event["time_us"] <= middle]
        device = self.device("--to", f"{middle - start}us", "demo.pickle")
        self.assertEqual(device["peak_requested_bytes"], max(self.levels[i]["requested"] for i in before))

    def test_filters_are_told(self):
        for arguments, words in ((["--min-size", "1m", "--stream", "0"], b"Only allocations of stream 0 of at least 1.00 MiB."),
                                 (["--from", "7"], b"Peaks are looked for from event 7 on."),
                                 (["--from", "7", "--to", "9"], b"Peaks are looked for from event 7 on up to event 9.")):
            self.run_it("-q", "--no-charts", *arguments, "demo.pickle")
            self.assertIn(words, b" ".join(self.in_run("analysis_report.txt").split()))

    def test_nowhere(self):
        self.assert_one_error(self.run_it("--stream", "5", "demo.pickle", code=2), "demo.pickle", "--stream", "5")
        for place in (str(len(self.trace)), "step:123456", "3600s"):
            for more in ([], ["--csv-full"]):
                self.assert_one_error(self.run_it("--from", place, *more, "demo.pickle", code=2), "demo.pickle", "--from")
        self.assertFalse(os.path.exists(self.at("results")) and os.listdir(self.at("results")))

    def test_a_place_that_one_device_lacks(self):
        """Only an error if no device has it."""
        both = small_snapshot(devices=2)
        del both["device_traces"][1][-2:]
        write(self.at("both.pickle"), both)
        last = len(both["device_traces"][0]) - 1
        self.run_it("-q", "--no-charts", "--from", str(last), "both.pickle")
        self.run_it("-q", "--no-charts", "--from", str(last + 1), "both.pickle", code=2)

    def test_stream(self):
        streams = {event["stream"] for event in self.trace if event["action"] == "alloc"}
        self.assertGreater(len(streams), 1)
        for stream in streams:
            device = self.device("--stream", str(stream), "demo.pickle")
            self.assertEqual(device["peak_requested_bytes"], self.peak(lambda event: event["stream"] == stream))
            self.assertEqual(device, self.device("--stream", hex(stream), "demo.pickle"))

    def test_min_size(self):
        for text, bytes_ in (("1MiB", MIB), ("100M", 100 * MIB)):
            device = self.device("--min-size", text, "demo.pickle")
            self.assertEqual(device["peak_requested_bytes"], self.peak(lambda event: event["size"] >= bytes_))

    def peak(self, counts):
        """The peak of requested bytes of the allocations that count: the contract's rule, over a part of the events."""
        live, total, start, best = set(), 0, 0, 0
        for event in filter(counts, self.trace):
            if event["action"] == "alloc":
                live.add(event["addr"])
                total += event["size"]
            elif event["action"] == "free_completed":
                start += 0 if event["addr"] in live else event["size"]
                live.discard(event["addr"])
                total -= event["size"]
            best = max(best, total)
        for segment in self.demo["segments"]:
            for block in segment["blocks"]:
                event = {"stream": segment["stream"], "size": block["requested_size"]}
                if block["state"] != "inactive" and block["address"] not in live and counts(event):
                    start += block["requested_size"]
        return start + best

    def test_group_and_depth(self):
        for group in ("stack", "function", "file", "category", "role"):
            self.run_it("-q", "--no-charts", "--group", group, "--depth", "2", "demo.pickle")
        self.run_it("-q", "--no-charts", "--export", "folded", "--depth", "1", "demo.pickle")
        self.assertEqual({len(s) for s in formats.folded(self.in_run("peak.folded")) if s[0] != "(no stack recorded)"}, {1})
        self.run_it("-q", "--no-charts", "--export", "folded", "demo.pickle")
        self.assertGreater(max(len(stack) for stack in formats.folded(self.in_run("peak.folded"))), 5)

    def test_explain(self):
        plain = self.run_it("--no-charts", "demo.pickle").stdout.decode()
        done = self.run_it("--no-charts", "--explain", "demo.pickle").stdout.decode()
        self.assertEqual(done.splitlines()[:5], plain.splitlines()[:5])
        explained = done.splitlines()[6:]
        self.assertGreater(len(explained), 3)
        self.assertLessEqual(max(map(len, explained)), 80)
        quiet = self.run_it("-q", "--no-charts", "--explain", "demo.pickle").stdout.decode()
        self.assertEqual(quiet.splitlines(), explained)


if __name__ == "__main__":
    main()
