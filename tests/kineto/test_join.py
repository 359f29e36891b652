#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gmanalyze --kineto: pairs of a snapshot and a trace of one run (make_pairs.py), and pairs that are none.

    test_join.py GMANALYZE
"""
import collections
import csv
import glob
import gzip
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PAIRS = os.path.join(HERE, "pairs")
PROGRAM = ""
with open(os.path.join(HERE, "make_pairs.py"), encoding="utf-8") as program:
    LINES = program.read().split("\n")


def snapshot(name):
    return os.path.join(PAIRS, f"{name}.pickle.gz")


def trace(name):
    return os.path.join(PAIRS, f"{name}.pair.json.gz")


def loaded(name):
    with gzip.open(trace(name)) as file:
        return json.load(file)


def is_memory(event):
    return event.get("name") == "[memory]"


class Join(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def run_on(self, *arguments):
        return subprocess.run([PROGRAM, "-o", self.folder, "--no-page", "--no-charts", *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def analysis(self, pickled, traced, *arguments):
        out = self.run_on("--json", "-", "--kineto", traced, *arguments, pickled)
        self.assertEqual(out.returncode, 0, out.stderr)
        return json.loads(out.stdout)

    def with_trace(self, name, made, *arguments):
        path = os.path.join(self.folder, "made.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(made))
        return self.analysis(snapshot(name), path, *arguments)

    def refused(self, analysis):
        joined = analysis["kineto"]
        self.assertFalse(joined["joined"], joined)
        self.assertTrue(joined["not_joined_because"])
        self.assertNotIn("profile", analysis)
        self.assertTrue(all("kineto" not in d for d in analysis["timeline"]["devices"]))
        self.assertTrue(all("operator" not in b for b in analysis["top_blocks"]))
        with open(os.path.join(self.folder, "latest", "analysis_report.txt"), encoding="utf-8") as file:
            self.assertIn("is joined:", " ".join(file.read().split()))

    def test_pairs(self):
        for path in sorted(glob.glob(os.path.join(PAIRS, "*.pickle.gz"))):
            name = os.path.basename(path)[: -len(".pickle.gz")]
            with self.subTest(name):
                analysis = self.analysis(path, trace(name))
                joined = analysis["kineto"]
                self.assertTrue(joined["joined"], joined)
                self.assertEqual(joined["events_matched"], joined["events_compared"])
                told = [e for e in loaded(name)["traceEvents"] if is_memory(e) and e["args"]["Device Type"] == 1]
                self.assertEqual(joined["events_compared"], len(told))
                made = [e for e in told if e["args"]["Bytes"] > 0]
                sides = joined["trace"], joined["snapshot"]
                self.assertEqual(sides[0]["matched"],
                                 {"count": len(made), "bytes": sum(e["args"]["Bytes"] for e in made)})
                self.assertEqual(sides[1]["matched"]["count"], len(made))
                if not name.endswith("threads"):
                    self.assertEqual(sides[1]["unknown"]["count"], 0)
                for side in sides:
                    parts = [v for k, v in side.items() if k != "allocations"]
                    self.assertEqual(side["allocations"]["count"], sum(p["count"] for p in parts))
                self.assertLess(abs(joined["clock_offset_ns"]), 5000)
                self.assertIn("operators", analysis["profile"])
                for device in analysis["timeline"]["devices"]:
                    told = device["kineto"]
                    rows = sum(r["bytes_at_peak"] for r in told["operators"])
                    self.assertEqual(rows, told["matched"]["bytes"])
                    self.assertEqual(told["requested_bytes"], rows + told["made_before_trace"]["bytes"] +
                                     told["unknown"]["bytes"])
                    self.assertEqual(told["blocks_of_other_size"], 0)

    def test_operators(self):
        for version in ("2.4.1", "2.6.0", "2.10.0", "2.15.0"):
            with self.subTest(version):
                analysis = self.analysis(snapshot(version + "_lines"), trace(version + "_lines"), "--top", "1000")
                told = list(self.told(analysis))
                for operator, _, block in told:
                    self.assertEqual(block["operator"], operator)
                    self.assertGreaterEqual(block["formula"].count("x"), 1)
                self.assertEqual(len(told), 45)
                for site in analysis["timeline"]["devices"][0]["call_sites_at_peak"]["rows"]:
                    operator = LINES[int(site["label"].rpartition(":")[2]) - 1].partition("  # ")[2]
                    self.assertEqual(site["operator"], operator or None)

    def told(self, analysis):
        """Of each block that a line of make_pairs.py made: the operator and the formula that stand behind it, and ours."""
        for block in analysis["top_blocks"]:
            ours = [f["line"] for f in block["frames"] if f["filename"].endswith("make_pairs.py")]
            operator, _, formula = (LINES[ours[0] - 1] if ours else "").partition("  # ")[2].partition(": ")
            if block["operator"] is not None and operator.startswith("aten::"):
                yield operator, formula, block

    def test_numbers(self):
        """Sizes that are told by numbers ("Concrete Inputs"), not by the shapes of tensors."""
        for version in ("2.4.1", "2.6.0", "2.15.0"):
            with self.subTest(version):
                name = version + "_numbers"
                told = list(self.told(self.analysis(snapshot(name), trace(name), "--top", "1000")))
                self.assertEqual(len(told), 66)
                for operator, formula, block in told:
                    self.assertEqual(block["operator"], operator)
                    self.assertTrue(block["formula"].startswith(formula), (operator, formula, block["formula"]))
                self.assertEqual({b["formula"] for o, _, b in told if o == "aten::topk"},
                                 {"24 x 7 x fp32", "24 x 7 x int64"})

    def test_odd_numbers(self):
        """What stands there may be anything: no formula then but one that gives the bytes."""
        name = "2.15.0_numbers"
        odd = ["", "[", "]", "[]", "[[[[1]]]]", "-", "[-1, -1]", "[99999999999999999999, 2]", "281474976710656",
               "[281474976710656, 281474976710656]", "[1, 2, 3, 4, 5, 6, 7, 8, 9]", "True", "0", "[0]", "[0, 0]", "1e9",
               "[2147483647]", ",,,", "\u0000", 7, None, {"a": [1]}]
        rng = random.Random(17)
        made = loaded(name)
        for event in made["traceEvents"]:
            values = event.get("args", {}).get("Concrete Inputs")
            for i in range(len(values or [])):
                values[i] = rng.choice(odd)
            if values and rng.random() < 0.2:
                event["args"]["Concrete Inputs"] = rng.choice(odd)
        widths = {"fp32": 4, "bf16": 2, "fp16": 2, "int64": 8, "int32": 4, "bool": 1}
        for _, _, block in self.told(self.with_trace(name, made, "--top", "1000")):
            size = 1
            for side in (block["formula"] or "").split(" x "):
                size *= int(side) if side.isdigit() else widths.get(side, 0)
            self.assertIn(size, (0, block["requested_bytes"]), block)

    def exported(self, name, *arguments):
        done = self.run_on("--export", "joined", "--kineto", trace(name), *arguments, snapshot(name))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.folder, "latest", "joined.csv"), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_exported(self):
        """joined.csv has the snapshot's allocations, with the trace's blocks, and operators as the report."""
        for name in ("2.15.0_lines", "2.6.0_training", "2.10.0_devices", "2.4.1_inference", "2.15.0_numbers"):
            with self.subTest(name):
                rows = self.exported(name)
                with gzip.open(snapshot(name)) as file:
                    traces = pickle.load(file)["device_traces"]
                freed = "free_completed"
                for device, events in enumerate(traces):
                    ours = [r for r in rows if r["device"] == str(device)]
                    made = [(i, e) for i, e in enumerate(events) if e["action"] == "alloc"]
                    self.assertEqual([(int(r["event"]), int(r["address"]), int(r["requested_bytes"])) for r in ours],
                                     [(i, e["addr"], e["size"]) for i, e in made])
                    for r in ours:
                        after = next((i for i, e in enumerate(events) if i > int(r["event"]) and
                                      e["action"] == freed and e["addr"] == int(r["address"])), None)
                        self.assertEqual(r["freed_event"], "" if after is None else str(after))
                told = [e["args"] for e in loaded(name)["traceEvents"] if is_memory(e)]
                blocks = sorted((a["Device Id"], a["Addr"], a["Bytes"]) for a in told
                                if a["Device Type"] == 1 and a["Bytes"] > 0)
                self.assertEqual(sorted((int(r["device"]), int(r["address"]), int(r["block_bytes"]))
                                        for r in rows if r["block_bytes"]), blocks)
                sums = collections.Counter()
                for r in rows:
                    if r["block_bytes"]:
                        sums[r["device"], r["operator"], r["shapes"], r["types"]] += int(r["requested_bytes"])
                analysis = self.analysis(snapshot(name), trace(name), "--top", "1000")
                ours = {(str(d["device"]), r["name"] or "", r["shapes"] or "", r["types"] or ""): r["bytes"]
                        for d in analysis["timeline"]["devices"] for r in d["kineto"]["operators"]}
                self.assertEqual(dict(sums), ours)
        formulas = collections.Counter(r["formula"] for r in rows)
        self.assertEqual(formulas["33 x 9 x bf16"], 2)
        self.assertIn("[[33, 9], 15, , , False, ]", {r["values"] for r in rows})

    def test_exported_of_nothing(self):
        done = self.run_on("--export", "joined", snapshot("2.15.0_lines"))
        self.assertEqual((done.returncode, "--kineto" in done.stderr), (2, True))
        done = self.run_on("--export", "joined", "--kineto", trace("2.15.0_again"), snapshot("2.15.0_lines"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.folder, "latest", "joined.csv"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 1)

    def test_training(self):
        for version in ("2.6.0", "2.15.0"):
            analysis = self.analysis(snapshot(version + "_training"), trace(version + "_training"), "--top", "1000")
            device = analysis["timeline"]["devices"][0]["kineto"]
            formulas = {s["formula"] for s in device["sizes"] if s["name"] == "aten::linear"}
            self.assertIn("15 x 48 x fp32", formulas)  # of addmm inside
            modules = {(m["name"], m["is_backward"]) for m in device["modules"] if m["name"]}
            self.assertIn(("nn.Module: Linear_0", False), modules)
            self.assertIn(("nn.Module: Linear_0", True), modules)
            self.assertGreater(analysis["kineto"]["snapshot"]["not_recorded_by_other"]["count"], 0)

    def test_other_runs(self):
        self.refused(self.analysis(snapshot("2.15.0_lines"), trace("2.15.0_again")))
        self.refused(self.analysis(snapshot("2.15.0_again"), trace("2.15.0_lines")))
        self.refused(self.analysis(snapshot("2.15.0_training"), trace("2.15.0_lines")))
        self.refused(self.analysis(snapshot("2.6.0_training"), trace("2.15.0_training")))
        self.refused(self.analysis(snapshot("2.4.1_lines"), trace("2.10.0_lines")))

    def test_clocks(self):
        for name in ("2.15.0_training", "2.4.1_inference", "2.10.0_devices"):
            honest = self.analysis(snapshot(name), trace(name))["kineto"]
            made = loaded(name)
            made["baseTimeNanoseconds"] += 3_600_000_000_000
            later = self.with_trace(name, made)["kineto"]
            self.assertEqual(later["events_matched"], honest["events_matched"])
            self.assertAlmostEqual(later["clock_offset_ns"], honest["clock_offset_ns"] + 3_600_000_000_000, delta=2000)
            base = made.pop("baseTimeNanoseconds") - 3_600_000_000_000
            alone = self.with_trace(name, made)["kineto"]
            self.assertAlmostEqual(alone["clock_offset_ns"], honest["clock_offset_ns"] - base, delta=2000)
            made["baseTimeNanoseconds"] = base
            times = [e["ts"] for e in made["traceEvents"] if is_memory(e)]
            for e in made["traceEvents"]:
                e["ts"] = round(e["ts"] + (e["ts"] - min(times)) * 0.002, 3)
            drifting = self.with_trace(name, made)["kineto"]
            drift = (max(times) - min(times)) * 2
            self.assertGreaterEqual(drifting["events_matched"], honest["events_matched"] * 0.95)
            self.assertLess(abs(drifting["clock_drift_ns"] - drift), 2000 + drift / 5)

    def test_disorder(self):
        name = "2.15.0_training"
        made = loaded(name)
        random.Random(1).shuffle(made["traceEvents"])
        self.assertEqual(self.with_trace(name, made)["timeline"], self.analysis(snapshot(name), trace(name))["timeline"])
        memory = [e for e in made["traceEvents"] if is_memory(e)]
        times = [e["ts"] for e in memory]
        random.Random(2).shuffle(times)
        for e, t in zip(memory, times):
            e["ts"] = t
        self.refused(self.with_trace(name, made))
        made = loaded(name)
        for e in made["traceEvents"]:
            e["ts"] = -e["ts"]
        self.refused(self.with_trace(name, made))

    def test_parts(self):
        name = "2.15.0_training"
        made = loaded(name)
        memory = sorted((e for e in made["traceEvents"] if is_memory(e)), key=lambda e: e["ts"])
        for part in (memory[: len(memory) // 2], memory[len(memory) // 2:]):
            made["traceEvents"] = [e for e in loaded(name)["traceEvents"] if not is_memory(e)] + part
            joined = self.with_trace(name, made)["kineto"]
            self.assertTrue(joined["joined"])
            self.assertEqual(joined["events_matched"], sum(e["args"]["Device Type"] == 1 for e in part))
        made["traceEvents"] = memory[:10]
        self.refused(self.with_trace(name, made))
        made["traceEvents"] = [e for e in loaded(name)["traceEvents"] if not is_memory(e)]
        self.assertIn("nothing was allocated", self.with_trace(name, made)["kineto"]["not_joined_because"])
        for e in memory:
            e["args"]["Device Id"] = 5
        made["traceEvents"] = memory
        self.refused(self.with_trace(name, made))

    def job(self, *traces):
        """Snapshots of two ranks; and the traces' paths: of a name, what it is called and the rank that it states."""
        snapshots = []
        for rank, name in enumerate(("2.15.0_training", "2.15.0_lines")):
            snapshots.append(os.path.join(self.folder, f"rank{rank}_memory.pickle.gz"))
            shutil.copy(snapshot(name), snapshots[-1])
        out = []
        for name, called, rank in traces:
            made = loaded(name)
            if rank is not None:
                made["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
            out += ["--kineto", os.path.join(self.folder, called)]
            with open(out[-1], "w", encoding="utf-8") as file:
                file.write(json.dumps(made))
        return self.run_on("--json", "-", *out, *snapshots)

    def test_ranks(self):
        for first, second in ((("b.rank1.json", None), ("a.rank0.json", None)),
                              (("host_1.pt.trace.json", 1), ("host_2.pt.trace.json", 0)),
                              (("rank1.json", 1), ("host.json", 0))):
            done = self.job(("2.15.0_lines", *first), ("2.15.0_training", *second))
            self.assertEqual(done.returncode, 0, done.stderr)
            analyses = json.loads(done.stdout)
            self.assertEqual([os.path.basename(a["kineto"]["path"]) for a in analyses], [second[0], first[0]])
            self.assertTrue(all(a["kineto"]["joined"] for a in analyses))

    def test_ranks_that_fit_nobody(self):
        lines, training = "2.15.0_lines", "2.15.0_training"
        for code, words, *traces in (
                (2, "one for each snapshot", (lines, "rank1.json", None)),
                (3, "no --kineto trace is of rank 0", (lines, "x.json", 1), (training, "y.json", None)),
                (3, "2 traces have rank 1", (lines, "rank1.json", 1), (training, "rank01.json", 0)),
                (3, "it says rank 0 itself", (lines, "rank1.json", 0), (training, "rank0.json", 0))):
            done = self.job(*traces)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(words, done.stderr)
        done = self.job((lines, "rank0.json", None), (training, "rank1.json", None))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(any(a["kineto"]["joined"] for a in json.loads(done.stdout)))
        done = self.run_on("--kineto", trace(lines), "--kineto", trace(training), snapshot(lines), snapshot(training))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("its path has no rank", done.stderr)

    def test_options(self):
        out = self.run_on("--kineto", trace("2.15.0_lines"), snapshot("2.15.0_lines"), snapshot("2.15.0_again"))
        self.assertEqual(out.returncode, 2, out.stderr)
        out = self.run_on("--kineto", trace("2.15.0_lines"), trace("2.15.0_lines"))
        self.assertEqual(out.returncode, 2, out.stderr)
        for wrong in (snapshot("2.15.0_lines"), os.path.join(self.folder, "missing"), __file__):
            out = self.run_on("--kineto", wrong, snapshot("2.15.0_lines"))
            self.assertEqual(out.returncode, 3, out.stderr)
            self.assertIn(wrong, out.stderr)
        cut = os.path.join(self.folder, "cut.json")
        with gzip.open(trace("2.15.0_training")) as file, open(cut, "wb") as half:
            data = file.read()
            half.write(data[: len(data) - 3000])
        out = self.run_on("--kineto", cut, snapshot("2.15.0_training"))
        self.assertEqual(out.returncode, 3, out.stderr)
        self.assertIn(cut, out.stderr)
        self.assertTrue(self.analysis(snapshot("2.15.0_training"), cut, "--salvage")["kineto"]["joined"])
        windowed = self.analysis(snapshot("2.15.0_training"), trace("2.15.0_training"), "--min-size", "1KiB")
        self.assertTrue(windowed["kineto"]["joined"])

    def test_kernels(self):
        name = "2.15.0_training"
        made = loaded(name)
        operators = [e for e in made["traceEvents"] if e.get("cat") == "cpu_op" and e["name"] == "aten::linear"]
        added, busy = [], []
        for i, e in enumerate(operators):
            start = e["ts"] + e["dur"] / 2
            added.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": e["pid"],
                          "tid": e["tid"], "ts": start, "dur": 0.1, "args": {"correlation": i + 1}})
            for stream, length in ((7, 3.0 + i), (8, 2.0)):
                added.append({"ph": "X", "cat": "kernel", "name": f"gemm_{stream}", "pid": 0, "tid": stream,
                              "ts": start + 1, "dur": length, "args": {"correlation": i + 1}})
            busy.append((start + 1, start + 4 + i))
        made["traceEvents"] += added
        analysis = self.with_trace(name, made, "--top", "1000")
        device = analysis["timeline"]["devices"][0]["kineto"]
        rows = [r for r in device["operators"] if r["name"] == "aten::linear"]
        self.assertEqual(sum(r["kernels"] for r in rows), 2 * len(operators))
        self.assertEqual(sum(r["device_time_ns"] for r in rows), sum(5000 + 1000 * i for i in range(len(operators))))
        self.assertEqual({r["kernel"] for r in rows}, {"gemm_7"})
        self.assertTrue(device["phases"])
        covered, end = 0, 0
        for a, b in sorted(busy):
            covered += max(0, b - max(a, end))
            end = max(end, b)
        total = sum(p["busy_ns"] for p in device["phases"])
        self.assertLessEqual(total, covered * 1000 + 10)
        self.assertGreater(total, covered * 800)
        steps = [e for e in made["traceEvents"] if str(e.get("name")).startswith("ProfilerStep#") and "dur" in e]
        self.assertEqual({s["name"] for s in device["steps"]}, {e["name"] for e in steps})
        for e in steps:
            inside, end = 0, e["ts"]
            for a, b in sorted(busy):
                a, b = max(a, end), min(b, e["ts"] + e["dur"])
                inside, end = inside + max(0, b - a), max(end, b)
            told = [s for s in device["steps"] if s["name"] == e["name"]]
            self.assertAlmostEqual(told[0]["busy_ns"], inside * 1000, delta=100)
            self.assertAlmostEqual(told[0]["span_ns"], e["dur"] * 1000, delta=2)
        for p in device["phases"] + device["steps"]:
            self.assertEqual(p["span_ns"], p["busy_ns"] + p["idle_ns"])

    def test_hostile(self):
        events, memory = [], []
        for i in range(20000):  # one address again and again, at times that tell nothing
            events.append({"action": "alloc" if i % 2 == 0 else "free_requested", "addr": 4096, "size": 512,
                           "stream": 0, "time_us": 10 ** 15 + 5 * (i // 8)})
            memory.append({"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 10 ** 15 + 5 * (i // 8),
                           "args": {"Bytes": 512 if i % 2 == 0 else -512, "Addr": 4096, "Device Id": 0,
                                    "Device Type": 1}})
        for base in (0, 2 ** 63 - 1, -2 ** 63, 10 ** 18):
            for size in (1, -1, 2 ** 62, -2 ** 62):
                memory.append({"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 2 ** 50,
                               "args": {"Bytes": size, "Addr": 2 ** 64 - 1, "Device Id": 0, "Device Type": 1}})
            path = os.path.join(self.folder, "s.pickle")
            with open(path, "wb") as file:
                pickle.dump({"segments": [], "device_traces": [events]}, file)
            made = os.path.join(self.folder, "t.json")
            with open(made, "w", encoding="utf-8") as file:
                file.write(json.dumps({"baseTimeNanoseconds": base, "profile_memory": 1, "traceEvents": memory}))
            begin = time.monotonic()
            out = self.run_on("--kineto", made, path)
            self.assertEqual(out.returncode, 0, out.stderr)
            self.assertLess(time.monotonic() - begin, 60)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
