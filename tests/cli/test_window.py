#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peaks in a part of the trace, and traces that contradict the snapshot: what is told must agree everywhere."""
import csv
import io
import json
import os
import re

from harness import MIB, Case, Recorded, frame, main, write


def run_of(device=0, rounds=6):
    """An allocator that takes 10, 20 ... MiB and gives each back, and a segment with it; a small block stays."""
    allocator = Recorded(device)
    allocator.alloc(1000, [frame("init", "/app/main.py", 1)])
    for i in range(1, rounds + 1):
        block = allocator.alloc(10 * i * MIB, [frame("forward", "/app/model.py", i)])
        allocator.free(block)
    return allocator


def reserved_after(trace):
    now, out = 0, []
    for event in trace:
        now += {"segment_alloc": 1, "segment_free": -1}.get(event["action"], 0) * event["size"]
        out.append(now)
    return out


class Run(Case):
    def setUp(self):
        super().setUp()
        allocator = run_of()
        self.trace = allocator.trace
        self.whole = {"segments": allocator.snapshot_segments(), "device_traces": [self.trace]}
        write(self.at("run.pickle"), self.whole)

    def run_file(self, name):
        with open(self.at("results", self.latest(), name), encoding="utf-8") as file:
            return file.read()


class Window(Run):
    def test_reserved_bytes_are_those_of_the_window(self):
        """In JSON, in text and in Markdown; a budget is for the whole trace."""
        reserved = reserved_after(self.trace)
        last = len(self.trace) // 2
        self.assertLess(reserved[last], max(reserved))
        summary = self.run_it("--no-charts", "--json", "out.json", "--to", str(last), "run.pickle").stdout.decode()
        with open(self.at("out.json"), encoding="utf-8") as file:
            (device,) = json.load(file)["timeline"]["devices"]
        expected = max(reserved[:last + 1])
        self.assertEqual(device["peak_reserved_bytes"], expected)
        self.assertEqual(device["peaks"]["reserved"]["reserved_bytes"], expected)
        told = f"{expected / MIB:.2f}"[:5] + " MiB reserved"
        for text in (summary, self.run_file("analysis_report.txt"), self.run_file("README.md")):
            self.assertIn(told, text)
        self.assertIn("FILTERED", summary.split("\n", maxsplit=1)[0])
        self.run_it("-q", "--no-charts", "--to", str(last), "--fail-above", str(max(reserved)), "run.pickle")
        self.run_it("-q", "--no-charts", "--to", str(last), "--fail-above", str(max(reserved) - 1), "run.pickle", code=1)

    def test_each_device_has_its_own_window(self):
        """The same step or time is another event on each device; what is the same is told once."""
        other = run_of(1)
        for event in other.trace:
            event["time_us"] += 5 * (event["time_us"] - other.trace[0]["time_us"])
        write(self.at("two.pickle"), {"segments": self.whole["segments"] + other.snapshot_segments(),
                                      "device_traces": [self.trace, other.trace]})
        self.run_it("-q", "--no-charts", "--from", "70us", "two.pickle")
        marks = re.findall(r"^FILTERED +(.*)$", self.run_file("analysis_report.txt"), re.M)
        self.assertEqual([mark[:9] for mark in marks], ["Device 0:", "Device 1:"])
        self.assertEqual(self.run_file("README.md").count("**FILTERED:** Device "), 2)
        self.run_it("-q", "--no-charts", "--from", "10", "two.pickle")
        self.assertEqual(re.findall(r"^FILTERED +(.*)$", self.run_file("analysis_report.txt"), re.M),
                         ["Peaks are looked for from event 10 on."])

    def test_segments_that_the_file_does_not_list(self):
        """A snapshot of one memory pool: the sum of reserved bytes may be below zero, and goes on."""
        trace = []
        for i, (action, size) in enumerate([("segment_free", 110), ("segment_alloc", 100), ("segment_alloc", 30)]):
            trace.append({"action": action, "addr": (1 << 40) + (1 << 32) * i, "size": size * MIB, "stream": 0,
                          "time_us": 1700000000000000 + i})
        block = {"address": trace[2]["addr"], "size": 30 * MIB, "requested_size": 0, "state": "inactive", "frames": []}
        segment = {"device": 0, "address": trace[2]["addr"], "total_size": 30 * MIB, "allocated_size": 0,
                   "active_size": 0, "requested_size": 0, "stream": 0, "segment_type": "large",
                   "segment_pool_id": (0, 1), "is_expandable": False, "frames": [], "blocks": [block]}
        write(self.at("pool.pickle"), {"segments": [segment], "device_traces": [trace]})
        (device,) = self.analysis("pool.pickle")["timeline"]["devices"]
        rows = list(csv.DictReader(io.StringIO(self.run_file("timeline.csv"))))
        self.assertEqual(device["peak_reserved_bytes"], 30 * MIB)
        self.assertEqual(max(int(row["reserved"]) for row in rows), 30 * MIB)


class Doubtful(Run):
    def tell(self, *left_out):
        snapshot = dict(self.whole)
        snapshot["device_traces"] = [[e for e in self.trace if e["action"] not in left_out]]
        write(self.at("part.pickle"), snapshot)
        summary = self.run_it("--no-charts", "part.pickle").stdout.decode()
        report, markdown = self.run_file("analysis_report.txt"), self.run_file("README.md")
        is_doubtful = report.startswith("DOUBTFUL")
        self.assertEqual("DOUBTFUL" in summary.split("\n", maxsplit=1)[0], is_doubtful)
        self.assertEqual("contradicts" in markdown.split("\n- **")[0], is_doubtful)
        return " ".join(report.split("\n\n")[0].split()) if is_doubtful else None

    def test_a_sound_trace_is_not(self):
        self.assertIsNone(self.tell())

    def test_kinds_that_were_left_out(self):
        """The recorder can leave kinds of events out; the sums then are not what was."""
        self.assertIn("no allocations, only frees", self.tell("alloc"))
        self.assertIn("no completed frees", self.tell("free_requested", "free_completed"))

    def test_what_hardly_matters_is_for_the_books(self):
        """One small block that is not in the snapshot, of a peak of 60 MiB."""
        self.whole["device_traces"] = [self.trace + [dict(self.trace[1], addr=self.trace[1]["addr"] + 4096)]]
        self.trace = self.whole["device_traces"][0]
        self.assertIsNone(self.tell())
        self.assertIn("are not in the snapshot", " ".join(self.run_file("analysis_report.txt").split()))


if __name__ == "__main__":
    main()
