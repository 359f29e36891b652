# SPDX-License-Identifier: Apache-2.0
"""gmreplay as its users meet it: what it prints and writes, exit codes, refusals."""
import csv
import io
import json
import os
import pickle
import subprocess
import sys

from harness import MIB, Allocator, Case, Clock, frame, main, small_snapshot, write

BINARY = os.environ.get("GMREPLAY") or sys.exit("GMREPLAY names the binary to test")
DEVICE_KEYS = ["device", "events", "allocs", "exact_addresses", "exact_addresses_uninferred", "growths",
               "growths_predicted", "end_blocks", "end_blocks_same", "peak_allocated_bytes", "peak_reserved_bytes",
               "peak_active_bytes", "peak_requested_bytes", "num_alloc_retries", "num_ooms", "first_mismatch"]
TOP_KEYS = ["schema", "mode", "backend", "alloc_conf", "inferred", "devices", "events_per_second", "verdict"]


def steps_snapshot(steps=4):
    """Weights of 30 MiB, then steps: activations of 40 and 24 MiB come and go."""
    allocator = Allocator(0, 0x7F0000000000, Clock())
    allocator.recording = True
    annotations = []

    def mark(name, stage):
        annotations.append({"name": name, "stage": stage, "device": 0, "time_us": allocator.clock()})

    allocator.alloc(30 * MIB, [frame("__init__", "/app/model.py", 1)])
    for step in range(steps):
        mark(f"ProfilerStep#{step}", "START")
        first = allocator.alloc(40 * MIB, [frame("forward", "/app/model/attention.py", 5)])
        second = allocator.alloc(24 * MIB, [frame("forward", "/app/model/mlp.py", 6)])
        allocator.free(second)
        allocator.free(first)
        mark(f"ProfilerStep#{step}", "END")
    allocator.alloc(10 * MIB, [frame("save", "/app/train.py", 9)])
    return {"segments": allocator.snapshot_segments(), "device_traces": [allocator.trace],
            "external_annotations": annotations}


class Replay(Case):
    def replay(self, *arguments, code=0, **options):
        options.setdefault("stdout", subprocess.PIPE)
        done = subprocess.run([BINARY, *arguments], cwd=self.folder, timeout=120, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, **options)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr[:600]!r}")
        return done

    def numbers(self, *arguments, **options):
        return json.loads(self.replay("--json", "-", *arguments, **options).stdout)

    def refused(self, code, *arguments, words=()):
        done = self.replay(*arguments, code=code)
        text = done.stderr.decode()
        self.assertRegex(text, r"\Agmreplay: [^\n]+\n\Z")
        self.assertEqual(done.stdout, b"")
        for word in words:
            self.assertIn(word, text)


class Verify(Replay):
    def test_agrees(self):
        """By hand: two segments of 30 and 40 MiB, one of 2; three allocations, one free (two events)."""
        found = self.numbers("--verify", self.snapshot)
        self.assertEqual([k for k in TOP_KEYS if k not in found], [])
        self.assertEqual((found["schema"], found["mode"], found["backend"], found["verdict"], found["inferred"]),
                         ("gmreplay.replay/1", "verify", "sim", "PASS", []))
        self.assertGreater(found["events_per_second"], 0)
        device = found["devices"][0]
        self.assertEqual([k for k in DEVICE_KEYS if k not in device], [])
        self.assertEqual({k: device[k] for k in DEVICE_KEYS}, {
            "device": 0, "events": 8, "allocs": 3, "exact_addresses": 3, "exact_addresses_uninferred": 3,
            "growths": 3, "growths_predicted": 3, "end_blocks": 4, "end_blocks_same": 4,
            "peak_allocated_bytes": 70 * MIB + 1024, "peak_reserved_bytes": 72 * MIB,
            "peak_active_bytes": 70 * MIB + 1024, "peak_requested_bytes": 70 * MIB + 1000,
            "num_alloc_retries": 0, "num_ooms": 0, "first_mismatch": None})
        text = self.replay("--verify", self.snapshot).stdout.decode()
        self.assertIn("3 of 3 exact", text)
        self.assertIn("verdict: PASS", text)

    def test_trace_out(self):
        """The .gmtrace replays like the snapshot it was made of, and is smaller."""
        write(self.at("steps.pickle"), steps_snapshot())
        found = self.numbers("--verify", "--trace-out", "steps.gmtrace", "steps.pickle")
        again = self.numbers("--verify", "steps.gmtrace")
        self.assertEqual(again["devices"], found["devices"])
        self.assertEqual(again["verdict"], "PASS")
        self.assertLess(os.path.getsize(self.at("steps.gmtrace")), os.path.getsize(self.at("steps.pickle")))
        self.refused(2, "--trace-out", "steps.pickle", "steps.pickle", words=["would overwrite"])
        done = self.replay("--trace-out", "nowhere/x.gmtrace", "steps.pickle", code=5)
        self.assertIn(b"nowhere/x.gmtrace", done.stderr)

    def test_devices(self):
        write(self.at("two.pickle"), small_snapshot(devices=3))
        found = self.numbers("--verify", "two.pickle")
        self.assertEqual([(d["device"], d["exact_addresses"]) for d in found["devices"]], [(0, 3), (1, 3), (2, 3)])

    def test_disagrees(self):
        snapshot = small_snapshot()
        last = snapshot["device_traces"][0][-3]
        self.assertEqual(last["action"], "alloc")
        snapshot["segments"][-1]["blocks"] = [
            {"address": last["addr"], "size": 1024, "requested_size": 0, "state": "inactive", "frames": []},
            {"address": last["addr"] + 1024, "size": 1024, "requested_size": 1000, "state": "active_allocated",
             "frames": []},
            {"address": last["addr"] + 2048, "size": 2 * MIB - 2048, "requested_size": 0, "state": "inactive",
             "frames": []}]
        last["addr"] += 1024
        write(self.at("odd.pickle"), snapshot)
        found = self.numbers("--verify", "odd.pickle", code=1)
        device = found["devices"][0]
        self.assertEqual((found["verdict"], device["exact_addresses"]), ("FAIL", 2))
        self.assertEqual(device["first_mismatch"]["event"], 5)
        self.assertEqual(device["first_mismatch"]["recorded"], last["addr"])
        self.assertEqual(device["first_mismatch"]["chosen"], last["addr"] - 1024)
        self.assertIn("the smallest that fits", device["first_mismatch"]["reason"])
        self.assertIn("first mismatch: event 5", self.replay("--verify", "odd.pickle", code=1).stdout.decode())

    def test_inputs(self):
        snapshot = small_snapshot()
        snapshot["device_traces"] = [[]]
        write(self.at("none.pickle"), snapshot)
        with open(self.at("junk"), "wb") as file:
            file.write(b"no snapshot")
        self.refused(3, "--verify", "none.pickle", words=["no trace"])
        self.refused(3, "none.pickle", words=["no trace"])
        self.refused(3, "--verify", "junk")
        self.refused(3, "--verify", "missing.pickle", words=["missing.pickle"])


class WhatIf(Replay):
    def test_nothing_changed(self):
        found = self.numbers(self.snapshot)
        device = found["devices"][0]
        self.assertEqual((found["mode"], found["verdict"], found["alloc_conf"]), ("what-if", None, ""))
        self.assertEqual([k for k in DEVICE_KEYS if k not in device], [])
        self.assertIsNone(device["exact_addresses"])
        self.assertEqual((device["peak_reserved_bytes"], device["peak_allocated_bytes"]), (72 * MIB, 70 * MIB + 1024))
        self.assertEqual(device["memory_stats"]["reserved_bytes.all.peak"], 72 * MIB)
        self.assertIsNone(device["oom"])

    def test_other_settings(self):
        """30 and 40 MiB in pages of 20 MiB: 80; 1000 bytes in one of 2."""
        found = self.numbers("--alloc-conf", "expandable_segments:True", self.snapshot)
        device = found["devices"][0]
        self.assertEqual(found["alloc_conf"], "expandable_segments:True")
        self.assertEqual(device["peak_reserved_bytes"], 82 * MIB)
        self.assertEqual(device["start"]["from"], "requests")

    def test_out_of_memory(self):
        """Of 65 MiB 30 are used, 35 free; 40 are asked for."""
        found = self.numbers("--memory", "65MiB", self.snapshot, code=1)
        device = found["devices"][0]
        self.assertEqual((found["verdict"], found["memory_bytes"]), ("OOM", 65 * MIB))
        self.assertEqual(device["num_ooms"], 1)
        self.assertEqual({k: device["oom"][k] for k in ("event", "requested_bytes", "device_free_bytes",
                                                        "reserved_bytes", "active_bytes")},
                         {"event": 3, "requested_bytes": 40 * MIB, "device_free_bytes": 35 * MIB,
                          "reserved_bytes": 30 * MIB, "active_bytes": 30 * MIB})
        self.assertEqual(device["oom"]["frames"][0]["name"], "forward")
        self.assertIn("mlp.py:20", device["oom"]["site"])
        text = self.replay("--memory", "65MiB", self.snapshot, code=1).stdout.decode()
        self.assertIn("OUT OF MEMORY", text)
        self.assertIn("verdict: OOM", text)
        self.assertIsNone(self.numbers("--memory", "72MiB", self.snapshot)["verdict"])
        self.assertEqual(self.numbers("--gpu", "RTX 4090", self.snapshot)["gpu"], "rtx-4090")

    def test_limit(self):
        found = self.numbers("--limit", "72MiB", self.snapshot)
        self.assertEqual((found["verdict"], found["limit"]["margin_bytes"]), ("PASS", 0))
        found = self.numbers("--limit", "71MiB", self.snapshot, code=1)
        self.assertEqual((found["verdict"], found["limit"]["margin_bytes"]), ("FAIL", -MIB))
        self.assertIn("TEST PASSED: peak reserved 72.00 MiB, limit 144.0 MiB, safety margin 72.00 MiB (50.0% of the "
                      "limit)", self.replay("--limit", "144MiB", self.snapshot).stdout.decode())
        self.assertIn("TEST FAILED", self.replay("--limit", "50MiB", self.snapshot, code=1).stdout.decode())

    def test_classes(self):
        """The block of mlp.py has 40 of the 70 MiB."""
        found = self.numbers("--drop", "category:MLP", self.snapshot)
        device = found["devices"][0]
        self.assertEqual(found["changes"][0], {"class": "category:MLP", "is_dropped": True, "allocations": 1,
                                               "bytes_before": 40 * MIB, "bytes_after": 0})
        self.assertEqual((device["dropped"], device["peak_reserved_bytes"]), (1, 32 * MIB))
        found = self.numbers("--scale", "mlp=0.5", self.snapshot)
        self.assertEqual(found["devices"][0]["peak_reserved_bytes"], 52 * MIB)
        self.assertEqual(found["changes"][0]["bytes_after"], 20 * MIB)
        role = self.numbers("--scale", "role:activation=1", "--scale", "Optimizer State=2", self.snapshot)
        self.assertEqual([c["class"] for c in role["changes"]], ["role:Activation", "role:Optimizer state"])

    def test_csv(self):
        """Before the steps 30 MiB; in each 30 + 40 + 24; after the last, the 10 MiB take what is cached."""
        write(self.at("steps.pickle"), steps_snapshot())
        self.replay("-q", "--csv", "steps.csv", "--summary", "summary.txt", "steps.pickle")
        with open(self.at("steps.csv"), encoding="ascii") as file:
            text = file.read()
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(text.splitlines()[0], "timestamp,member,step,allocated_GB,reserved_GB,current_GB")
        self.assertEqual([r["step"] for r in rows], ["init", "0", "1", "2", "3", "final"])
        self.assertEqual({r["member"] for r in rows}, {"0"})
        self.assertEqual([(r["allocated_GB"], r["reserved_GB"], r["current_GB"]) for r in rows[:2]],
                         [("0.029", "0.029", "0.029"), ("0.092", "0.092", "0.029")])
        self.assertEqual((rows[-1]["allocated_GB"], rows[-1]["current_GB"]), ("0.039", "0.039"))
        self.assertEqual(sorted(r["timestamp"] for r in rows), [r["timestamp"] for r in rows])
        self.assertTrue(rows[0]["timestamp"].startswith("2023-11-14T22:13:20."), rows[0])
        with open(self.at("summary.txt"), encoding="utf-8") as file:
            summary = file.read()
        self.assertIn("peaks add up to", summary)
        self.assertIn("rtx-4090", summary)

    def test_null_and_cuda(self):
        self.assertEqual(self.numbers("--backend", "null", self.snapshot)["backend"], "null")
        self.refused(4, "--backend", "cuda", self.snapshot, words=["built without CUDA"])
        self.refused(4, "--backend=cuda-async", self.snapshot, words=["built without CUDA"])
        self.refused(4, "--alloc-conf", "backend:cudaMallocAsync", self.snapshot, words=["cudaMallocAsync"])


class Usage(Replay):
    def test_wrong_usage(self):
        for arguments, word in (((), "no trace given"), ((self.snapshot, self.snapshot), "more than one"),
                                (("--memory", "1GiB", "--gpu", "t4", self.snapshot), "--gpu"),
                                (("--gpu", "voodoo2", self.snapshot), "rtx-4090"),
                                (("--verify", "--memory", "1GiB", self.snapshot), "--memory"),
                                (("--verify", "--drop", "Activation", self.snapshot), "--drop"),
                                (("--alloc-conf", "no_such:1", self.snapshot), "no_such"),
                                (("--alloc-conf", "max_split_size_mb:1", self.snapshot), "max_split_size_mb"),
                                (("--drop", "role:MLP", self.snapshot), "role:MLP"),
                                (("--scale", "Activation", self.snapshot), "CLASS=FACTOR"),
                                (("--scale", "Activation=-1", self.snapshot), "CLASS=FACTOR"),
                                (("--backend", "metal", self.snapshot), "sim, null, cuda or cuda-async"),
                                (("--backend", "null", "--memory", "1G", self.snapshot), "null"),
                                (("--json", "-", "--csv", "-", self.snapshot), "standard output"),
                                (("--json", self.snapshot, self.snapshot), "overwrite"),
                                (("--limit", "much", self.snapshot), "--limit")):
            self.refused(2, *arguments, words=[word])
        with open(self.snapshot, "rb") as file:
            pickle.load(file)  # our own, still whole

    def test_pages(self):
        text = self.replay("--help").stdout.decode()
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertRegex(self.replay("--version").stdout.decode(), r"\Agmreplay \d+\.\d+\.\d+\n\Z")

    def test_outputs_that_fail(self):
        self.refused(5, "--json", "/dev/full", "-q", self.snapshot)
        self.refused(5, "--csv", self.at("no", "such", "folder.csv"), "-q", self.snapshot)
        with open("/dev/full", "wb") as full:
            self.replay(self.snapshot, code=5, stdout=full)

    def test_same_input_same_bytes(self):
        write(self.at("steps.pickle"), steps_snapshot())
        options = ["--memory", "90MiB", "--alloc-conf", "max_split_size_mb:32", "--csv", "-", "steps.pickle"]
        self.assertEqual(self.replay(*options, code=1).stdout, self.replay(*options, code=1).stdout)
        self.assertEqual(self.replay("steps.pickle").stdout, self.replay("steps.pickle").stdout)

    def test_quiet_and_verbose(self):
        self.assertEqual(self.replay("-q", self.snapshot).stdout, b"")
        done = self.replay("-v", self.snapshot)
        self.assertIn(b"million events/s", done.stderr)


main()
