#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exports of the samples in samples.c, read by the rules of their consumers. Expected values are written by hand."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import formats  # noqa: E402

DUMP = sys.argv.pop(1) if len(sys.argv) > 1 else sys.exit("usage: test_formats.py EXPORT_DUMP")

MAIN, FORWARD = ("main", "/app/train.py", 10), ("forward", "/app/model.py", 20)
LINEAR, STEP = ("linear", "/torch/nn.py", 30), ("step", "/torch/optim.py", 40)
NO_STACK = ("(no stack recorded)", None, None)
ONE = {(MAIN, FORWARD): 100, (MAIN, FORWARD, LINEAR): 700, (MAIN, STEP): 200, (NO_STACK,): 24}
ONE_BLOCKS = {(MAIN, FORWARD): 1, (MAIN, FORWARD, LINEAR): 3, (MAIN, STEP): 2, (NO_STACK,): 1}
A = ("main", "a.py", 1)
ODD, ODD_FILE = 'a;b "c" \\d', "/x;y/é€.py"


def label(frame):
    name, file, line = frame
    return name + ("" if not file else f" ({file})" if line is None else f" ({file}:{line})")


def as_pprof(stacks):
    return {tuple((name, file or "", line) for name, file, line in stack): v for stack, v in stacks.items()}


class Formats(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="gmanalyze-test-")
        subprocess.run([DUMP, cls.scratch.name], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def read(self, sample, name):
        with open(os.path.join(self.scratch.name, sample, name), "rb") as file:
            return file.read()

    # ---- folded

    def test_folded(self):
        self.assertEqual(formats.folded(self.read("one", "peak.folded")),
                         {tuple(map(label, stack)): v for stack, v in ONE.items()})
        self.assertEqual(formats.folded(self.read("two", "peak.folded")),
                         {("device 0", "main (a.py:1)"): 512, ("device 7", "main (a.py:1)"): 1000,
                          ("device 7", "main (a.py:1)", "main (a.py:1)"): 24})
        self.assertEqual(formats.folded(self.read("hostile", "peak.folded")),
                         {("all",): 5, ('a:b "c" \\d (/x:y/é€.py:7)',): 1 << 62,
                          ('a:b "c" \\d (/x:y/é€.py:7)', "(no name)"): 1})

    # ---- speedscope

    def test_speedscope(self):
        self.assertEqual(formats.speedscope(self.read("one", "peak.speedscope.json")),
                         {"device 0: live at the peak": ONE})
        self.assertEqual(formats.speedscope(self.read("two", "peak.speedscope.json")),
                         {"device 0: live at the peak": {(A,): 512},
                          "device 7: live at the peak": {(A,): 1000, (A, A): 24}})
        odd = (ODD, ODD_FILE, 7)
        self.assertEqual(formats.speedscope(self.read("hostile", "peak.speedscope.json")),
                         {"device 0: live at the peak": {(("all", None, None),): 5, (odd,): 1 << 62,
                                                         (odd, ("", None, None)): 1}})

    def test_speedscope_is_in_the_order_of_the_tree(self):
        """So that the time-ordered view is the icicle."""
        file = formats.strict_json(self.read("one", "peak.speedscope.json"))
        self.assertEqual(file["profiles"][0]["weights"], [100, 700, 200, 24])
        self.assertEqual(file["name"], 'a "run"')

    # ---- pprof

    def test_pprof(self):
        space, objects, rest = formats.pprof(self.read("one", "peak.pb.gz"))
        self.assertEqual(space, as_pprof(ONE))
        self.assertEqual(objects, as_pprof(ONE_BLOCKS))
        self.assertEqual(rest["time_nanos"], 1000090000)
        self.assertEqual(rest["devices"], {0: 1024})
        self.assertEqual(rest["file"], "snapshot.pickle")

    def test_pprof_of_two_devices(self):
        space, objects, rest = formats.pprof(self.read("two", "peak.pb.gz"))
        first, second = ("device 0", "", None), ("device 7", "", None)
        self.assertEqual(space, {(first, A): 512, (second, A): 1000, (second, A, A): 24})
        self.assertEqual(objects, {(first, A): 1, (second, A): 2, (second, A, A): 1})
        self.assertEqual(rest["devices"], {0: 512, 7: 1024})
        self.assertIsNone(rest["time_nanos"])

    def test_pprof_hostile(self):
        space, objects, _ = formats.pprof(self.read("hostile", "peak.pb.gz"))
        odd = (ODD, ODD_FILE, 7)
        self.assertEqual(space[odd,], 1 << 62)
        self.assertEqual(objects[odd, ("</script>{}[],", "", None)], 3)
        self.assertEqual(space[odd, ("", "", None)], 1)
        self.assertEqual(len(space), 4)

    # ---- perfetto

    def test_perfetto(self):
        """Processes are devices + 1. Time 0 is 1000005 us. Of event 6 only the peak knows; the third sample is the end of the curve."""
        processes, counters, slices, instants = formats.perfetto(self.read("one", "timeline.perfetto.json"))
        self.assertEqual(processes, {1: "device 0"})
        self.assertEqual(counters, {(1, "requested"): [(0, 400), (85, 1024), (295, 24)],
                                    (1, "allocated"): [(0, 512), (85, 1536), (295, 512)],
                                    (1, "active"): [(0, 512), (85, 1536), (295, 512)],
                                    (1, "reserved"): [(0, 2048), (295, 2048)]})
        self.assertEqual({track: [s[:3] for s in slices[1, track]] for _, track in slices},
                         {"steps": [(5, 90, "ProfilerStep#1"), (95, 200, "ProfilerStep#2")],
                          "annotations, depth 0": [(15, 75, "backward"), (90, 15, "overlaps")],
                          "annotations, depth 1": [(25, 1, "inner")]})
        self.assertEqual(slices[1, "steps"][0][3]["growth bytes"], -12)
        self.assertEqual([(ts, name) for ts, name, _ in instants[1]],
                         [(85, "peak requested"), (85, "peak allocated"), (85, "peak active"),
                          (115, "out of memory: 3.00 MiB asked for"), (125, "peak reserved")])
        self.assertEqual(instants[1][3][2], {"event": 5, "asked": 3 << 20, "site": 'grow "it"  /app/model.py:3'})
        self.assertEqual(instants[1][4][2], {"event": 6, "requested": 900, "allocated": 1024,
                                             "active": 1024, "reserved": 4096})

    def test_perfetto_without_times(self):
        processes, counters, slices, instants = formats.perfetto(self.read("two", "timeline.perfetto.json"))
        self.assertEqual(processes, {1: "device 0 (1 us = 1 event)", 8: "device 7 (1 us = 1 event)"})
        self.assertEqual(counters[8, "active"], [(0, 1024), (1, 0)])
        self.assertEqual(counters[1, "active"], [(0, 512)])
        self.assertEqual(slices, {})
        self.assertEqual({ts for ts, _, _ in instants[8]}, {0})
        self.assertEqual(instants[8][0][2]["event"], "before the first")

    def test_perfetto_hostile(self):
        """Time runs backwards in it; it stands still here."""
        _, counters, slices, _ = formats.perfetto(self.read("hostile", "timeline.perfetto.json"))
        self.assertEqual(counters[1, "active"], [(5, 1), (5, 2), (15, (1 << 64) - 2)])
        self.assertEqual(counters[1, "reserved"], [(5, 1), (15, 1)])
        ((track, (only,)),) = slices.items()
        self.assertEqual(only[:3], (14, 0, 'backwards "\\'))
        self.assertEqual(track[1], "annotations, depth 61")

    # ---- all

    def test_deep_stacks(self):
        """Frames 3999, 7999 ... 19999 of 19,999 hold as many bytes as their number."""
        bytes_ = {i: i for i in range(3999, 20000, 4000)}
        lengths = {len(stack): v for stack, v in formats.folded(self.read("deep", "peak.folded")).items()}
        self.assertEqual(lengths, bytes_)
        (stacks,) = formats.speedscope(self.read("deep", "peak.speedscope.json")).values()
        self.assertEqual({len(stack): v for stack, v in stacks.items()}, bytes_)
        space, _, _ = formats.pprof(self.read("deep", "peak.pb.gz"))
        self.assertEqual({len(stack): v for stack, v in space.items()}, bytes_)

    def test_no_trace(self):
        self.assertEqual(os.listdir(os.path.join(self.scratch.name, "no_trace")), ["timeline.csv"])


if __name__ == "__main__":
    unittest.main()
