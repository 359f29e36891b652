#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gmanalyze on traces of torch.profiler: what its run directory holds, and what damaged and odd files get."""
import csv
import glob
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from with_copies import with_copies

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = ""


OLDER = ("1.8", "1.13", "2.0", "2.3")


def as_written_by(version, data):
    """A trace of today as that version wrote it: its categories, arguments and whole microseconds."""
    cats = {"cpu_op": "Operator", "user_annotation": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel",
            "gpu_memcpy": "Memcpy"} if version == "1.8" else {}
    events = []
    for event in data["traceEvents"]:
        args = dict(event.get("args", {}))
        if version == "1.8" and event.get("cat") == "python_function":
            continue
        for key in ("Addr", "Total Allocated", "Total Reserved") if version == "1.8" else ():
            args.pop(key, None)
        for key in ("Ev Idx", "Record function id", "Concrete Inputs", "Input Strides"):
            args.pop(key, None)
        event = dict(event, args=args)
        if "cat" in event:
            event["cat"] = cats.get(event["cat"], event["cat"])
        if version != "2.3":
            end = int(event["ts"] + event.get("dur", 0)) + 1
            event["ts"] = int(event["ts"])
            if "dur" in event:
                event["dur"] = end - event["ts"]
        events.append(event)
    top = {"schemaVersion": 1, "deviceProperties": data["deviceProperties"], "traceEvents": events}
    return dict(top, displayTimeUnit="ms") if version == "2.3" else top


def trace(name):
    return os.path.join(HERE, f"{name}.trace.json.gz")


class Outputs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def run_on(self, *arguments):
        return self.run_as_is("--no-charts", *arguments)

    def run_as_is(self, *arguments):
        return subprocess.run([PROGRAM, "-o", self.folder, "--no-page", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)

    def in_run(self, name):
        with open(os.path.join(self.folder, "latest", name), encoding="utf-8") as file:
            return file.read()

    def analysis(self, *arguments):
        out = self.run_on("--json", "-", *arguments)
        self.assertEqual(out.returncode, 0, out.stderr)
        return json.loads(out.stdout)

    def path(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def test_files(self):
        self.analysis(trace("cuda_2.15.0_blocks"))
        there = set(os.listdir(os.path.join(self.folder, "latest")))
        self.assertTrue({"analysis.json", "analysis_report.txt", "README.md", "operators.csv", "timeline.csv"} <= there)
        with open(os.path.join(self.folder, "latest", "operators.csv"), newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        with gzip.open(trace("cuda_2.15.0_blocks").replace(".trace.", ".averages.")) as file:
            want = json.load(file)["shapes"]
        self.assertEqual(sum(int(r["calls"]) for r in rows), sum(r["count"] for r in want))
        report = self.in_run("analysis_report.txt")
        self.assertIn("By operator, as key_averages() counts", report)
        self.assertIn("nn.Module: Block_0", report)
        self.assertLessEqual(max(len(line) for line in report.splitlines()), 80)

    def test_what_it_says(self):
        a = self.analysis(trace("cuda_2.15.0_blocks"))
        self.assertEqual(a["snapshot"]["format"], "kineto")
        profile = a["profile"]
        device = next(row for row in profile["stated"] if row["device"] == 0)
        host = next(row for row in profile["stated"] if row["device"] is None)
        self.assertGreater(device["capacity_bytes"], 80 << 30 >> 1)
        self.assertEqual(device["allocs"], device["frees"])
        self.assertGreaterEqual(device["peak_reserved_bytes"], device["peak_allocated_bytes"])
        self.assertGreater(host["allocs"], 0)
        self.assertIn("aten::", device["peak_site"])
        self.assertEqual({m["name"].split(":")[0] for m in profile["modules"]}, {"nn.Module"})
        self.assertTrue(any("make_traces.py" in row["stack"] for row in profile["by_stack"]))
        timeline = a["timeline"]["devices"][0]
        self.assertEqual(timeline["allocs"], device["allocs"])
        self.assertGreater(timeline["peak_requested_bytes"], 0)
        self.assertEqual(timeline["peak_reserved_bytes"], device["peak_reserved_bytes"])

    def test_the_end_is_not_known(self):
        """A trace lists neither segments nor blocks: that is said once, nothing is drawn of it, nothing is 0 B."""
        for name in ("cuda_2.15.0_mlp", "cpu_2.15.0_mlp", "cpu_2.15.0_plain"):
            self.assertEqual(self.run_as_is(trace(name)).returncode, 0)
            charts = {file for file in os.listdir(os.path.join(self.folder, "latest")) if file.endswith(".png")}
            self.assertEqual(charts, set() if name == "cpu_2.15.0_plain" else
                             {"memory_timeline.png", "peak_breakdown.png", "flamegraph.png"}, name)
            for text in (self.in_run("README.md"), self.in_run("analysis_report.txt")):
                for untrue in ("Ledger", "LEDGER", "The snapshot itself", "no block is allocated", "No block", "Summary",
                               "SUMMARY", "The driver was asked", "0 segments", "The snapshot is empty", "None."):
                    self.assertNotIn(untrue, text, name)
                if name != "cpu_2.15.0_plain":
                    self.assertEqual(" ".join(text.split()).count("lists neither segments nor blocks"), 1, name)
            a = json.loads(self.in_run("analysis.json"))
            for key in ("totals", "categories", "roles", "top_blocks", "fragmentation", "call_sites", "ledger",
                        "memory_summary", "histogram"):
                self.assertIsNone(a[key], key)
            for device in a["devices"]:
                self.assertEqual(set(device), {"device"})
            for device in a.get("timeline", {"devices": []})["devices"]:
                self.assertIsNone(device["segment_allocs"])

    def test_what_has_no_event(self):
        """What lived before the trace is in no event, but in the peak that is stated: that one comes first."""
        out = self.run_on(trace("cuda_2.15.0_mlp"))
        peaks = json.loads(self.in_run("analysis.json"))
        stated = peaks["profile"]["stated"][0]
        seen = peaks["timeline"]["devices"][0]["peak_requested_bytes"]
        self.assertEqual(stated["peak_allocated_bytes"] - seen, 10752)
        needs = next(line for line in out.stdout.splitlines() if line.startswith("Needs"))
        self.assertIn("34.00 MiB reserved, 32.02 MiB allocated (10.50 KiB without an event), at event 35", needs)
        self.assertIn("requested", next(line for line in self.run_on("--min-size", "1", trace("cuda_2.15.0_mlp"))
                                        .stdout.splitlines() if line.startswith("Needs")))

    def test_what_is_not_stated(self):
        """Nobody stated what is reserved: n/a and null, never 0."""
        a = self.analysis(trace("cpu_2.15.0_mlp"))
        device = a["timeline"]["devices"][0]
        self.assertIsNone(device["peak_reserved_bytes"])
        self.assertIsNone(device["peaks"]["requested"]["reserved_bytes"])
        self.assertIsNone(device["peaks"]["reserved"])
        row = next(line for line in self.in_run("analysis_report.txt").splitlines() if line.startswith("  requested "))
        self.assertEqual(row.split()[-3:], ["n/a"] * 3)
        rows = list(csv.DictReader(self.in_run("timeline.csv").splitlines()))
        self.assertEqual({row["reserved"] for row in rows}, {""})
        known = self.analysis(trace("cuda_2.15.0_mlp"))["timeline"]["devices"][0]
        self.assertEqual(known["peaks"]["reserved"]["reserved_bytes"], known["peak_reserved_bytes"])

    def test_copies(self):
        """What offloading saves is a number: what the device had allocated before and after each burst of copies."""
        with gzip.open(trace("cuda_2.15.0_offload")) as file:
            data = json.dumps(with_copies(json.load(file))).encode()
        profile = self.analysis(self.path("copies.json", data))["profile"]
        size = 1 << 16
        self.assertEqual([(c["direction"], c["stream"], c["copies"], c["bytes"]) for c in profile["copies"]],
                         [("to the host", "7", 6, 6 * size), ("to the device", "20", 6, 6 * size)])
        bursts = [(b["direction"], b["step"], b["copies"], b["allocated_before_bytes"], b["allocated_after_bytes"],
                   b["host_change_bytes"]) for b in profile["copy_bursts"]]
        self.assertEqual(bursts, [row for n in (1, 2) for row in (
            ("to the host", f"ProfilerStep#{n}", 3, 3 * size, 0, 3 * size),
            ("to the device", f"ProfilerStep#{n}", 3, 0, 3 * size, -3 * size))])
        self.assertIn("what the device had\n      allocated fell by at most 192.0 KiB in one",
                      self.in_run("analysis_report.txt"))

    def test_devices(self):
        """Two devices in one trace, whose reserved bytes grow: nothing contradicts what a trace does not list."""
        a = self.analysis(trace("cuda_2.15.0_devices"))
        stated = [row for row in a["profile"]["stated"] if row["device"] is not None]
        self.assertEqual([row["device"] for row in stated], [0, 1])
        for row, device in zip(stated, a["timeline"]["devices"], strict=True):
            self.assertEqual(device["peak_reserved_bytes"], row["peak_reserved_bytes"])
            self.assertGreater(row["peak_reserved_bytes"], row["first_reserved_bytes"])
            self.assertIsNone(device["peaks"]["requested"]["allocated_bytes"])
            self.assertFalse([d for d in device["books"]["disagreements"] if not d["expected"]])
        report = self.in_run("analysis_report.txt")
        for untrue in ("DOUBTFUL", "contradict", "blocks: same address", "cached, in nobody's use"):
            self.assertNotIn(untrue, report)
        self.assertIn("PEAK, DEVICE 1", report)

    def test_older(self):
        """The forms of PyTorch 1.8 to 2.3: whole microseconds, no addresses, other categories, no base time."""
        name = "cuda_2.4.1_mlp"
        want = self.analysis(trace(name))
        with gzip.open(trace(name)) as file:
            text = file.read()
        for version in OLDER:
            data = json.dumps(as_written_by(version, json.loads(text))).encode()
            a = self.analysis(self.path(f"{version}.json", data))
            ours, theirs = a["profile"], want["profile"]
            for key in ("allocs", "frees", "net_bytes", "most_net_bytes"):
                self.assertEqual([row[key] for row in ours["stated"]], [row[key] for row in theirs["stated"]], version)
            device, wanted = a["timeline"]["devices"][0], want["timeline"]["devices"][0]
            self.assertEqual(device["allocs"], wanted["allocs"], version)
            self.assertEqual(device["peak_requested_bytes"], wanted["peak_requested_bytes"], version)
            self.assertEqual(device["peak_reserved_bytes"],
                             None if version == "1.8" else wanted["peak_reserved_bytes"], version)
            calls = {row["name"]: row["calls"] for row in ours["operators"] if not row["on_device"]}
            for row in theirs["operators"]:
                if row["name"].startswith("aten::") and row["self_device_bytes"]:
                    self.assertEqual(calls.get(row["name"]), row["calls"], (version, row["name"]))

    def test_other_devices(self):
        """HIP and XPU: what their runtimes, kernels and copies are called, and where their memory is."""
        with gzip.open(trace("cuda_2.15.0_offload")) as file:
            text = file.read()
        for kind, runtime, names in ((1, "hip_runtime", ("CopyDeviceToHost", "CopyHostToDevice")),
                                     (12, "xpu_runtime", ("Memcpy D2M", "Memcpy M2D")),
                                     (20, "privateuse1_runtime", ("D2H", "H2D"))):
            data = with_copies(json.loads(text))
            for event in data["traceEvents"]:
                event["cat"] = runtime if event.get("cat") == "cuda_runtime" else event.get("cat")
                if event.get("cat") == "gpu_memcpy":
                    event["name"] = names["HtoD" in event["name"]]
                if event.get("name") == "[memory]" and event["args"]["Device Type"] == 1:
                    event["args"]["Device Type"] = kind
            profile = self.analysis(self.path(f"{runtime}.json", json.dumps(data).encode()))["profile"]
            self.assertEqual([c["direction"] for c in profile["copies"]], ["to the host", "to the device"], runtime)
            self.assertEqual({b["allocated_change_bytes"] for b in profile["copy_bursts"]}, {-196608, 196608}, runtime)
            self.assertEqual([row["device"] for row in profile["stated"]], [0, None], runtime)

    def test_card(self):
        sold = {"h100-80": 80, "rtx-4090": 24}
        for card, gigabytes in sold.items():
            stated = self.analysis("--gpu", card, trace("cuda_2.15.0_blocks"))["profile"]["stated"][0]
            self.assertEqual(stated["pressure"], "below")
            self.assertEqual([stated[k] for k in ("warning_bytes", "high_bytes", "critical_bytes")],
                             [gigabytes * 2**30 // 80 * n for n in (70, 75, 78)])
        text = " ".join(self.in_run("analysis_report.txt").split())
        self.assertRegex(text, "NVIDIA H100 80 GB, held against the card of --gpu with 2[0-9.]+ GiB: 21.00 GiB is a warning")
        self.analysis(trace("cuda_2.15.0_blocks"))
        text = " ".join(self.in_run("analysis_report.txt").split())
        self.assertRegex(text, "NVIDIA H100 80 GB has 79[0-9.]+ GiB: 70.00 GiB is")
        out = self.run_on("--fail-above", "33MiB", trace("cuda_2.15.0_blocks"))
        self.assertEqual(out.returncode, 1)

    def ranks(self, of):
        """A folder of traces that torch.profiler named, which state their ranks."""
        folder = os.path.join(self.folder, "job")
        os.mkdir(folder)
        for i, (rank, name) in enumerate(of):
            with gzip.open(trace(name), "rt", encoding="utf-8") as file:
                data = json.load(file)
            data["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": len(of)}
            with gzip.open(os.path.join(folder, f"host_{i}.178{i}.pt.trace.json.gz"), "wt", encoding="utf-8") as file:
                file.write(json.dumps(data))
        return folder

    def beside(self, program, *arguments, code=0):
        out = subprocess.run([os.path.join(os.path.dirname(PROGRAM), program), "-o", self.folder, "--no-charts",
                              *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(out.returncode, code, out.stderr)
        return out.stderr

    def test_fleet(self):
        job = self.ranks([(1, "cuda_2.15.0_mlp"), (0, "cuda_2.15.0_blocks"), (3, "cuda_2.6.0_blocks")])
        self.beside("gmfleet", "--no-page", job)
        fleet = json.loads(self.in_run("fleet.json"))
        self.assertEqual({os.path.basename(s["path"])[5]: s["rank"] for s in fleet["snapshots"]},
                         {"0": 1, "1": 0, "2": 3})
        for snapshot in fleet["snapshots"]:
            self.assertIsNone(snapshot["totals"])
            self.assertIn(snapshot["peaks"]["peak_reserved_bytes"], (34 << 20, 66 << 20))  # as the traces state it
        self.assertNotIn("Peak allocated", self.in_run("fleet_report.txt"))
        self.assertIsNone(fleet["iterations"][0]["allocated"])
        self.beside("gmfleet", "--no-page", "--pattern", "host_{rank}.*", job)
        fleet = json.loads(self.in_run("fleet.json"))
        self.assertEqual(sorted(s["rank"] for s in fleet["snapshots"]), [0, 1, 2])

    def test_fleet_of_hosts(self):
        """Nobody states what is reserved, and all ranks are alike: no 0 B, no section without rows, no rank by name."""
        job = self.ranks([(rank, "cpu_2.15.0_mlp") for rank in range(3)])
        self.beside("gmfleet", "--no-page", job)
        report = self.in_run("fleet_report.txt")
        self.assertRegex(report, r"Peak requested 6\.\d\d KiB on rank 0\.")
        for untrue in (" 0 B", "IMBALANCE", "rank 0, which holds"):
            self.assertNotIn(untrue, report)
        self.assertIn("n/a", report)
        with gzip.open(os.path.join(job, "host_2.1782.pt.trace.json.gz"), "rt") as file:
            data = json.load(file)
        for event in data["traceEvents"]:
            if event.get("name") == "[memory]":
                event["args"]["Bytes"] *= 1000
        data["distributedInfo"]["rank"] = 3
        with open(os.path.join(job, "host_3.1783.pt.trace.json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(data))
        self.beside("gmfleet", "--no-page", job)
        report = self.in_run("fleet_report.txt")
        self.assertIn("Held by call sites 6.66 MiB (+6.66 MiB against rank 0)", " ".join(report.split()))
        self.assertNotIn(" 0 B", report)

    def test_diff(self):
        self.beside("gmdiff", trace("cuda_2.15.0_mlp"), trace("cuda_2.15.0_blocks"))
        diff = json.loads(self.in_run("diff.json"))
        self.assertIsNone(diff["totals_delta"])
        for run in diff["runs"]:
            self.assertIsNone(run["totals"])
            self.assertIsNone(run["devices"][0]["totals"])
        self.assertEqual(diff["peaks_delta"]["peak_reserved_bytes"], 0)
        self.assertRegex(self.in_run("diff_report.txt"), r"Reserved at the end +n/a +n/a +n/a")

    def test_growth(self):
        """Allocated bytes are in no trace: requested ones count."""
        less, more = trace("cpu_2.15.0_mlp"), trace("cpu_2.15.0_blocks")
        self.assertIn("peak requested on device 0 grew by ",
                      self.beside("gmdiff", "--fail-growth", "1%", less, more, code=1))
        self.beside("gmdiff", "--fail-growth", "1%", less, less)

    def test_host_only(self):
        out = self.run_on(trace("cpu_2.15.0_mlp"))
        self.assertEqual(out.returncode, 0)
        self.assertIn("device 0 is of the host", out.stderr)

    def test_patterns(self):
        """Live memory that grows by 1 MiB a step, and one step that needs 64 MiB more."""
        for pattern, keeps, extra in (("gradual growth", 1, -1), ("sudden spike", 0, 9), ("stable", 0, -1)):
            events, address, live = [], 1 << 30, 0
            for step in range(16):
                start = 1000 * step
                events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                               "ts": start, "dur": 990})
                sizes = [(8 << 20, False)] + [(64 << 20, False)] * (step == extra) + [(1 << 20, True)] * keeps
                made = []
                for at, (size, _) in enumerate(sizes):
                    made.append((start + 10 + at, size, address))
                    address += size
                freed = [(start + 500 + i, -made[i][1], made[i][2]) for i, (_, kept) in enumerate(sizes) if not kept]
                for ts, size, where in made + freed:
                    live += size
                    events.append({"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "args": {
                        "Bytes": size, "Addr": where, "Device Type": 1, "Device Id": 0, "Total Allocated": live}})
            self.analysis(self.path("pattern.json", json.dumps({"traceEvents": events}).encode()))
            self.assertIn(f"Pattern: {pattern}", " ".join(self.in_run("analysis_report.txt").split()))

    def test_no_memory(self):
        out = self.run_on(trace("cpu_2.15.0_plain"))
        self.assertEqual(out.returncode, 0)
        self.assertIn("profile_memory=True", out.stderr)
        self.assertIn("Do this profile_memory=True", out.stdout)

    def test_no_memory_though_asked(self):
        with gzip.open(trace("cpu_2.15.0_plain")) as file:
            data = json.load(file)
        data["profile_memory"] = 1
        out = self.run_on(self.path("asked.json", json.dumps(dict(sorted(data.items()))).encode()))
        self.assertEqual(out.returncode, 0)
        self.assertIn("no [memory] events, though profile_memory=True was asked for", out.stderr)
        self.assertIn("Do this have the profiler record the first steps, too", out.stdout)
        for said in (out.stdout, out.stderr, self.in_run("README.md"), self.in_run("analysis_report.txt")):
            self.assertNotIn("it with profile_memory=True", said)
            self.assertNotIn(": profile_memory=True", said)

    def test_compressed(self):
        with gzip.open(trace("cpu_2.15.0_lists")) as file:
            plain = self.path("odd.name", file.read())
        want = self.analysis(trace("cpu_2.15.0_lists"))["profile"]
        self.assertEqual(self.analysis(plain)["profile"], want)
        if shutil.which("zstd"):
            subprocess.run(["zstd", "-q", plain], check=True)
            self.assertEqual(self.analysis(plain + ".zst")["profile"], want)

    def test_damaged(self):
        with gzip.open(trace("cuda_2.15.0_mlp")) as file:
            whole = file.read()
        cut = self.path("cut.json", whole[:len(whole) // 2])
        out = self.run_on(cut)
        self.assertEqual(out.returncode, 3)
        self.assertEqual(len(out.stderr.splitlines()), 1, out.stderr)
        self.assertIn("at byte", out.stderr)
        a = self.analysis("--salvage", cut)
        self.assertGreater(a["profile"]["spans"], 0)
        self.assertIsNotNone(a["snapshot"]["salvaged"])

    def test_hostile(self):
        rows = {
            b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 1e400, "dur": 1}]}': 0,
            b'{"traceEvents": [{"ph": "X", "name": "a", "ts": -9e99, "dur": 1}, 7, null, [[]]]}': 0,
            b'{"traceEvents": [{"ph": "i", "name": "[memory]", "ts": 1, "args": {"Bytes": -9223372036854775807, '
            b'"Addr": 18446744073709551615, "Device Type": 1, "Device Id": 0, "Total Allocated": 18446744073709551615}}]}': 0,
            b'{"traceEvents": []}': 0,
            b'{"traceEvents": {}}': 3,
            b'{"traceEvents": [' + b"[" * 100000: 3,
            b'{"traceEvents": [{"name": "\\ud800"}], "x": 0': 3,
        }
        for i, (data, code) in enumerate(rows.items()):
            out = self.run_on(self.path(f"{i}.json", data))
            self.assertEqual(out.returncode, code, (data[:80], out.stderr))
            self.assertEqual(code == 3, len(out.stderr.splitlines()) == 1 and out.returncode == 3, out.stderr)

    def test_many_in_each_other(self):
        events = [{"ph": "X", "name": f"f{i % 7}", "ts": i, "dur": 400000 - 2 * i} for i in range(200000)]
        events += [{"ph": "i", "name": "[memory]", "ts": 399999 - i, "args": {"Bytes": 512, "Device Type": 1,
                                                                           "Device Id": 0, "Addr": i * 512}}
                   for i in range(2000)]
        out = self.run_on("-q", self.path("deep.json", json.dumps({"traceEvents": events}).encode()))
        self.assertEqual(out.returncode, 0, out.stderr)

    def peak_of(self, *arguments):
        """Bytes that gmanalyze had at most."""
        with subprocess.Popen([PROGRAM, "-o", self.folder, "--no-page", "--no-charts", "-q", *arguments],
                              stderr=subprocess.PIPE, text=True) as process:
            said = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, said)
        return usage.ru_maxrss << 10

    def test_a_stack_for_each_event(self):
        """Each event lies in one span more than that before it: the stacks together would be the square of the file."""
        n = 20000
        events = [{"ph": "X", "name": f"f{i}", "ts": i, "dur": 2 * n - 2 * i} for i in range(n)]
        events += [{"ph": "i", "name": "[memory]", "ts": i + 0.5, "args": {"Bytes": 512, "Device Type": 1, "Device Id": 0,
                                                                         "Addr": i * 512}} for i in range(n)]
        path = self.path("deep.json", json.dumps({"traceEvents": events}).encode())
        self.assertLess(self.peak_of(path), 700 << 20)
        report = " ".join(self.in_run("analysis_report.txt").split())
        self.assertIn("times operators and functions nest too deep: of these stacks the innermost 128 frames and the "
                      "outermost 384 are kept", report)

    def test_stacks_of_512(self):
        """What real traces have is kept whole, and nothing is said."""
        for depth, is_whole in ((512, True), (513, False)):
            events = [{"ph": "X", "name": f"f{i}", "ts": i, "dur": 2000 - 2 * i} for i in range(depth)]
            events += [{"ph": "i", "name": "[memory]", "ts": 1000, "args": {"Bytes": 512, "Device Type": 1, "Device Id": 0,
                                                                         "Addr": 512}}]
            path = self.path("deep.json", json.dumps({"traceEvents": events}).encode())
            out = self.run_on("--export", "folded", path)
            self.assertEqual(out.returncode, 0, out.stderr)
            self.assertEqual("nest too deep" in self.in_run("analysis_report.txt"), not is_whole)
            folded = next(f for f in os.listdir(os.path.join(self.folder, "latest")) if "folded" in f)
            names = [frame.split(" ")[0] for frame in self.in_run(folded).splitlines()[-1].split(";")][-512:]
            kept = list(range(depth)) if is_whole else [*range(384), *range(depth - 128, depth)]
            self.assertEqual(names, [f"f{i}" for i in kept])


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    assert glob.glob(os.path.join(HERE, "*.trace.json.gz"))
    unittest.main()
