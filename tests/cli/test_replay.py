# SPDX-License-Identifier: Apache-2.0
"""gmreplay as its users meet it: what it prints and writes, exit codes, refusals."""
import csv
import io
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time

from harness import MIB, SOURCE, Allocator, Case, Clock, Recorded, frame, main, small_snapshot, write

BINARY = os.environ.get("GMREPLAY") or sys.exit("GMREPLAY names the binary to test")
DEVICE_KEYS = ["device", "events", "allocs", "exact_addresses", "exact_addresses_uninferred", "growths",
               "growths_predicted", "end_blocks", "end_blocks_same", "peak_allocated_bytes", "peak_reserved_bytes",
               "peak_active_bytes", "peak_requested_bytes", "num_alloc_retries", "num_ooms", "first_mismatch"]
CATEGORIES = "tier own\ncategory Mine #102030\nfile mlp.py\n"
TOP_KEYS = ["schema", "mode", "backend", "alloc_conf", "inferred", "devices", "events_per_second", "verdict"]


def steps_snapshot(steps=4):
    """Weights of 30 MiB, then steps: activations of 40 and 24 MiB come and go."""
    allocator = Recorded()
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

    def told(self, *arguments, **options):
        """The text, however its lines are broken."""
        return " ".join(self.replay(*arguments, **options).stdout.decode().split())

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
        text = self.told("--verify", self.snapshot)
        self.assertIn("addresses of allocations 3 3", text)
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
        self.refused(2, "--plan", "rtx-4090", "--chart", "steps.pickle", "steps.pickle", words=["would overwrite"])
        self.refused(2, "--json", "both", "--csv", "both", "steps.pickle", words=["--json and --csv both name both"])
        self.refused(2, "--json", "both", "--csv", "./both", "steps.pickle", words=["--json and --csv both name ./both"])
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
        self.assertIn("First mismatch: event 5", self.told("--verify", "odd.pickle", code=1))

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
        text = self.told("--memory", "65MiB", self.snapshot, code=1)
        self.assertIn("OUT OF MEMORY", text)
        self.assertIn("verdict: OOM", text)
        self.assertIn("--fit tells how much memory is enough", text)
        self.assertEqual(self.numbers("--memory", "72MiB", self.snapshot)["verdict"], "PASS")
        self.assertIsNone(self.numbers("--backend", "null", self.snapshot)["verdict"])
        self.assertIn("Fits in 144.0 MiB: 72.00 MiB (50.0 %) are left at the peak",
                      self.told("--memory", "144MiB", self.snapshot))
        self.assertEqual(self.numbers("--gpu", "RTX 4090", self.snapshot)["gpu"], "rtx-4090")

    def test_other_allocator(self):
        """A what-if of a trace whose addresses PyTorch's CUDA allocator cannot have chosen says so."""
        self.assertIsNone(self.numbers(self.snapshot)["devices"][0]["other_allocator"])
        trace = [{"action": "alloc", "addr": (1 << 45) + 13, "size": MIB, "stream": 0, "frames": []}]
        path = write(self.at("odd.pickle"), {"segments": [], "device_traces": [trace]})
        words = "1 of 1 addresses are no multiple of 512"
        self.assertEqual(self.numbers(path)["devices"][0]["other_allocator"], words)
        self.assertIn(f"Other allocator {words}", self.told(path))

    def test_device_without_events(self):
        """What a device has reserved that has segments and no events counts for --limit and --memory."""
        blocks = [{"address": 1 << 45, "size": 20 * MIB, "requested_size": 20 * MIB, "state": "active_allocated",
                   "frames": []}]
        other = {"device": 1, "address": 1 << 45, "total_size": 20 * MIB, "stream": 0, "segment_type": "large",
                 "frames": [], "blocks": blocks}
        trace = [{"action": action, "addr": 1 << 46, "size": 10 * MIB, "stream": 0, "frames": []}
                 for action in ("segment_alloc", "alloc", "free_requested", "free_completed", "segment_free")]
        path = write(self.at("two.pickle"), {"segments": [other], "device_traces": [trace, []]})
        for options, code, verdict in (((), 0, None), (("--limit", "20MiB"), 0, "PASS"), (("--limit", "19MiB"), 1, "FAIL"),
                                       (("--memory", "20MiB"), 0, "PASS"), (("--memory", "19MiB"), 1, "FAIL")):
            found = self.numbers(*options, path, code=code)
            self.assertEqual(found["verdict"], verdict)
            self.assertEqual(found["untraced_devices"], [{"device": 1, "reserved_bytes": 20 * MIB}])
            self.assertEqual([d["device"] for d in found["devices"]], [0])
        text = self.told("--limit", "19MiB", path, code=1)
        self.assertIn("Device without events Reserved, and stays so 1 20.00 MiB", text)
        self.assertIn("TEST FAILED: peak reserved 20.00 MiB, limit 19.00 MiB, over by 1.00 MiB", text)
        self.assertIn("The device with most has no events", text)
        self.assertIn("1 20.00 MiB That is more than there is.",
                      self.told("--memory", "19MiB", path, code=1))

    def test_notes(self):
        """What does nothing, and what of the recording is decided anew, is told."""
        def notes(*options, code=0):
            found = self.numbers(*options, code=code)["notes"]
            text = " ".join(self.replay(*options, code=code).stdout.decode().split())
            for note in found:
                self.assertIn("note: " + note, text)
            self.assertEqual(text.count("note: "), len(found))
            return found

        fraction, gc = "per_process_memory_fraction:0.5", "garbage_collection_threshold:0.8"
        self.assertEqual(notes(self.snapshot), [])
        self.assertRegex(notes("--alloc-conf", fraction, self.snapshot)[0], "limits nothing here: memory is unlimited")
        self.assertRegex(notes("--alloc-conf", f"{fraction},{gc}", self.snapshot)[0], "does nothing: memory is unlimited")
        self.assertEqual(notes("--alloc-conf", f"{fraction},{gc}", "--memory", "1GiB", self.snapshot), [])
        self.assertRegex(notes("--alloc-conf", gc, "--memory", "1GiB", self.snapshot)[0], "it takes a memory fraction")

        def event(action, address, size, name):
            return {"action": action, "addr": address, "size": size, "stream": 0,
                    "frames": [{"filename": "m.py", "line": 1, "name": name}]}

        def snapshot(trace, address, size, expandable, **more):
            block = {"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": []}
            return write(self.at("pressed.pickle"), {
                "segments": [{"device": 0, "address": address, "total_size": size, "stream": 0, "segment_type": "large",
                              "is_expandable": expandable, "frames": [], "blocks": [block]}],
                "device_traces": [trace], **more})

        first, second = 1 << 45, 1 << 46
        one = [event(a, first, 30 * MIB, "f") for a in ("segment_alloc", "alloc", "free_requested", "free_completed",
                                                        "segment_free")]
        path = snapshot(one + [event(a, second, 40 * MIB, "f") for a in ("segment_alloc", "alloc")], second, 40 * MIB,
                        False)
        self.assertEqual(notes(path), ["on device 0 recorded requests made the allocator give memory back, 1 time; with "
                                       "unlimited memory none does. Recorded peak: 40.00 MiB reserved"])
        device = self.numbers(path)["devices"][0]
        self.assertEqual((device["recorded_releases_for_requests"], device["peak_reserved_bytes"]), (1, 70 * MIB))
        self.assertEqual(notes("--memory", "60MiB", path), [])
        path = snapshot(one[:4] + [event(a, second, 40 * MIB, "f") for a in ("segment_map", "alloc")], second, 40 * MIB,
                        True, allocator_settings={"expandable_segments": True})
        self.assertEqual(notes(path), ["on device 0 expandable_segments was not always on in the recording, as it is here"])
        self.assertEqual(notes("--alloc-conf", "expandable_segments:False", path), [])

    def test_recording_that_ended_out_of_memory(self):
        """50 MiB are in use when 30 are refused, and that is the end. With less than 80 the request is refused again. With
        as much nobody knows what the program would have asked for next: no verdict, and exit code 1 where one was asked
        for."""
        def event(action, address, size, **more):
            return {"action": action, "addr": address, "size": size * MIB, "stream": 0, "frames": [], **more}

        def ended(name, trace, *more, **extra):
            return write(self.at(name), {"segments": [segment], "device_traces": [trace, *more], **extra})

        def open_ended(*options):
            found = self.numbers(*options, code=1)
            self.assertIsNone(found["verdict"], options)
            text = self.told(*options, code=1)
            self.assertTrue(text.endswith("verdict: not known, because the recording itself ended out of memory"), text)
            return found, text

        at, other = 1 << 45, 1 << 46
        oom = {"action": "oom", "device_free": 20 * MIB, "size": 30 * MIB, "stream": 0, "frames": [
            {"name": "grow", "filename": "grow.py", "line": 7}]}
        trace = [event("segment_alloc", at, 50), event("alloc", at, 50), oom]
        segment = {"device": 0, "address": at, "total_size": 50 * MIB, "stream": 0, "segment_type": "large", "frames": [],
                   "blocks": [{"address": at, "size": 50 * MIB, "requested_size": 50 * MIB, "state": "active_allocated",
                               "frames": []}]}
        path = ended("ended.pickle", trace)
        found = self.numbers(path)  # nothing was asked: no check can fail
        self.assertEqual((found["verdict"], found["devices"][0]["recorded_end"]), (
            None, {"event": 2, "refused_bytes": 30 * MIB, "in_use_bytes": 50 * MIB, "needed_bytes": 80 * MIB}))
        self.assertIn("the program needs at least 80.00 MiB", found["notes"][0])
        self.assertEqual(found["devices"][0]["peak_reserved_bytes"], 50 * MIB)

        # Memory: 80 MiB are the least that is not refused again.
        found, text = open_ended("--memory", "80MiB", path)
        self.assertEqual((found["devices"][0]["peak_reserved_bytes"], found["devices"][0]["oom"]), (50 * MIB, None))
        self.assertIn("Fits so far, in 80.00 MiB: 30.00 MiB (37.5 %) are left at the peak", text)
        self.assertNotIn("Fits in", text)
        open_ended("--gpu", "h200", path)
        found = self.numbers("--memory", "79MiB", path, code=1)
        failed = found["devices"][0]["oom"]
        self.assertEqual((found["verdict"], failed["event"], failed["requested_bytes"], failed["device_free_bytes"],
                          failed["site"]), ("OOM", 2, 30 * MIB, 29 * MIB, "grow  grow.py:7"))
        text = self.told("--memory", "79MiB", path, code=1)
        self.assertIn("OUT OF MEMORY: tried to allocate 30.00 MiB, where the recording ended out of memory, too", text)
        self.assertNotIn("Fits", text)
        self.assertNotIn("Not repeated", text)
        self.assertEqual(self.numbers("--memory", "49MiB", path, code=1)["devices"][0]["oom"]["event"], 1)

        # A limit: it is exceeded for certain, or nobody knows.
        found = self.numbers("--limit", "79MiB", path, code=1)
        self.assertEqual((found["verdict"], found["limit"]["margin_bytes"]), ("FAIL", -MIB))
        found, text = open_ended("--limit", "80MiB", path)
        self.assertEqual((found["limit"]["margin_bytes"], found["limit"]["safe_gpus"]), (0, []))
        self.assertIn("TEST NOT DECIDED: peak reserved at least 80.00 MiB, limit 80.00 MiB, ", text)
        self.assertNotIn("CARDS THAT RUN IT", text)
        open_ended("--verify", "--limit", "1GiB", path)
        self.assertEqual(self.numbers("--verify", "--limit", "60MiB", path, code=1)["verdict"], "FAIL")
        self.assertEqual(self.numbers("--verify", path)["verdict"], "PASS")  # that is another question

        # The searches.
        found, text = open_ended("--fit", path)
        fit = found["fit"]["settings"][0]
        self.assertEqual((fit["at_least_bytes"], fit["capacity_bytes"], fit["gpu"], fit["lower_bound_bytes"]),
                         (80 * MIB, None, None, 80 * MIB))
        self.assertEqual((fit["next_lower"]["oom"]["device"], fit["next_lower"]["oom"]["event"]), (0, 2))
        self.assertIn("gets to where the recording ended with 80.00 MiB (--memory 80MiB)", text)
        self.assertNotIn("smallest card:", text)
        sweep = self.numbers("--sweep", "--memory", "79MiB", path, code=1)["sweep"]
        self.assertEqual({row["runs"] for row in sweep["rows"]}, {False})
        sweep = open_ended("--sweep", "--limit", "1GiB", path)[0]["sweep"]
        self.assertEqual({row["passes_limit"] for row in sweep["rows"]}, {None})
        self.assertEqual(self.numbers("--sweep", path)["verdict"], None)

        # With other sizes it is not known what was refused.
        open_ended("--memory", "60MiB", "--scale", "Unknown=0.5", path)
        rounded = {"PYTORCH_CUDA_ALLOC_CONF": "roundup_power2_divisions:2"}  # 30 may have been 20 MiB and more
        ended("rounded.pickle", trace, allocator_settings=rounded)
        self.assertEqual(self.numbers(self.at("rounded.pickle"))["devices"][0]["recorded_end"]["needed_bytes"], 70 * MIB)

        # Another device: its failure is known, its success no matter.
        more = [event("segment_alloc", at, 90), event("alloc", at, 90), event("free_requested", at, 90),
                event("free_completed", at, 90)]
        two = ended("two.pickle", trace, more)
        open_ended("--memory", "90MiB", two)
        found = self.numbers("--memory", "85MiB", two, code=1)
        self.assertEqual((found["verdict"], found["devices"][0]["oom"]), ("OOM", None))
        self.assertEqual(self.numbers("--limit", "85MiB", two, code=1)["verdict"], "FAIL")

        # Who catches the error asks for little: less than half of the 50 MiB. The step that failed is as unknown.
        more = [event("segment_alloc", other, 24), event("alloc", other, 24), event("free_requested", other, 24),
                event("free_completed", other, 24)]
        open_ended("--memory", "80MiB", ended("caught.pickle", trace + more))
        self.assertEqual(self.numbers("--memory", "79MiB", self.at("caught.pickle"), code=1)["devices"][0]["oom"]["event"],
                         2)

        # The program went on: what was refused is no matter, the trace has what came next.
        more = [event("segment_alloc", other, 2), event("alloc", other, 1)] * 25
        found = self.numbers("--memory", "60MiB", ended("went_on.pickle", trace + more))
        self.assertEqual((found["verdict"], found["devices"][0]["recorded_end"], found["notes"]), ("PASS", None, []))

    def test_limit(self):
        found = self.numbers("--limit", "72MiB", self.snapshot)
        self.assertEqual((found["verdict"], found["limit"]["margin_bytes"]), ("PASS", 0))
        found = self.numbers("--limit", "71MiB", self.snapshot, code=1)
        self.assertEqual((found["verdict"], found["limit"]["margin_bytes"]), ("FAIL", -MIB))
        self.assertIn("TEST PASSED: peak reserved 72.00 MiB, limit 144.0 MiB, safety margin 72.00 MiB (50.0 % of the "
                      "limit)", self.told("--limit", "144MiB", self.snapshot))
        self.assertIn("TEST FAILED", self.told("--limit", "50MiB", self.snapshot, code=1))

    def test_places_of_segments(self):
        """Two segments of 20 MiB, in each 8 MiB in use and 12 free. 12 are asked for, then the 8 of one are freed, and 20
        are asked for: those are there if the 12 lie in the other segment, which is so if that one lies lower. Else there
        is a third segment."""
        def event(action, address, mib):
            return {"action": action, "addr": address, "size": mib * MIB, "stream": 0, "frames": []}

        def free(address, mib):
            return [event(action, address, mib) for action in ("free_requested", "free_completed")]

        def trace(of_first):
            first, second, third = 1 << 45, 1 << 46, 1 << 47
            events = [event("segment_alloc", first, 20), event("alloc", first, 8), event("alloc", first + 8 * MIB, 12),
                      event("segment_alloc", second, 20), event("alloc", second, 8),
                      event("alloc", second + 8 * MIB, 12), *free(first + 8 * MIB, 12), *free(second + 8 * MIB, 12),
                      event("alloc", first + 8 * MIB, 12), *free(first if of_first else second, 8)]
            events += [event("segment_alloc", third, 20), event("alloc", third, 20)] if of_first else [
                event("alloc", second, 20)]
            return write(self.at("places.pickle"), {"segments": [], "device_traces": [events]})

        def peaks(*options, **more):
            found = self.numbers(*options, **more)
            device = found["devices"][0]
            range_ = device["peak_reserved_range_bytes"]
            return found["verdict"], device["peak_reserved_bytes"] // MIB, range_ and [b // MIB for b in range_]

        path = trace(True)  # the lowest place is the bad one
        self.assertEqual(peaks("--memory", "60MiB", path), ("PASS", 60, [40, 60]))
        self.assertEqual(peaks("--memory", "50MiB", path, code=1), (None, 40, [40, 40]))
        self.assertEqual(peaks("--memory", "38MiB", path, code=1)[0], "OOM")
        self.assertEqual(peaks("--memory", "1GiB", "--limit", "60MiB", path), ("PASS", 60, [40, 60]))
        self.assertEqual(peaks("--memory", "1GiB", "--limit", "50MiB", path, code=1), (None, 60, [40, 60]))
        self.assertEqual(peaks("--memory", "1GiB", "--limit", "39MiB", path, code=1), ("FAIL", 60, [40, 60]))
        text = self.told("--memory", "1GiB", "--limit", "50MiB", path, code=1)
        self.assertIn("Other places 40.00 MiB to 60.00 MiB reserved, by where the driver puts segments", text)
        self.assertIn("TEST NOT DECIDED: peak reserved 60.00 MiB, limit 50.00 MiB, over by 10.00 MiB", text)
        self.assertTrue(text.endswith("verdict: not known, because it hangs on where the driver puts segments"), text)
        fit = self.numbers("--fit", path)["fit"]["settings"][0]
        self.assertEqual((fit["capacity_bytes"], fit["capacity_everywhere_bytes"]), (60 * MIB, 60 * MIB))
        rows = self.numbers("--sweep", path)["sweep"]["rows"]
        row = next(r for r in rows if r["is_baseline"])
        self.assertEqual((row["peak_reserved_bytes"], row["peak_reserved_range_bytes"]), (60 * MIB, [40 * MIB, 60 * MIB]))

        path = trace(False)  # it is the good one
        self.assertEqual(peaks("--memory", "60MiB", path), ("PASS", 40, [40, 60]))
        self.assertEqual(peaks("--memory", "50MiB", path, code=1), (None, 40, [40, 40]))
        text = self.told("--memory", "50MiB", path, code=1)
        self.assertIn("Other places 40.00 MiB reserved where the driver puts segments so that it runs; out of memory in ", text)
        fit = self.numbers("--fit", path)["fit"]["settings"][0]
        self.assertEqual((fit["capacity_bytes"], fit["capacity_everywhere_bytes"]), (40 * MIB, 60 * MIB))
        self.assertIn("wherever the driver puts segments, as far as was tried: with 60.00 MiB",
                      self.told("--fit", path))

        # What repeats the recording has its addresses; later versions go by the age of segments.
        self.assertEqual(peaks(path), (None, 40, None))
        self.assertEqual(peaks("--torch", "2.13", "--memory", "50MiB", path), ("PASS", 40, None))
        # Segments that are free as a whole are all alike.
        same = [event(a, 1 << at, 20) for at in (45, 46) for a in ("segment_alloc", "alloc")]
        same += free(1 << 45, 20) + free(1 << 46, 20) + [event("alloc", 1 << 45, 20)]
        path = write(self.at("same.pickle"), {"segments": [], "device_traces": [same]})
        self.assertEqual(peaks("--memory", "50MiB", path), ("PASS", 40, None))

    def test_limit_with_memory(self):
        """Other settings are compared with these in the same memory: 300 + 300 MiB go back before the 600 come, in both."""
        def event(action, address, size):
            return {"action": action, "addr": address, "size": size * MIB, "stream": 0, "frames": []}

        trace = [event(a, at, 300) for at in (1 << 45, 1 << 46) for a in ("segment_alloc", "alloc")]
        trace += [event(a, at, 300) for at in (1 << 45, 1 << 46) for a in ("free_requested", "free_completed")]
        trace += [event(a, 1 << 47, 600) for a in ("segment_alloc", "alloc")]
        path = write(self.at("room.pickle"), {"segments": [], "device_traces": [trace]})
        found = self.numbers("--memory", "1000MiB", "--limit", "650MiB", path)
        self.assertEqual((found["verdict"], found["devices"][0]["peak_reserved_bytes"]), ("PASS", 600 * MIB))
        self.assertEqual([(t["is_bounded"], t["peak_reserved_bytes"]) for t in found["limit"]["replayed"][:3]],
                         [(False, 600 * MIB), (True, 600 * MIB), (False, 600 * MIB)])
        found = self.numbers("--limit", "650MiB", path, code=1)
        self.assertEqual([t["peak_reserved_bytes"] for t in found["limit"]["replayed"][:3]],
                         [1200 * MIB, 600 * MIB, 600 * MIB])

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
        same = self.numbers("--scale", "mlp=1", "--drop", "role:KV cache", self.snapshot)["devices"]
        self.assertEqual([same[0]["start"], same[0]["peak_reserved_bytes"]],  # nothing is another size
                         [self.numbers(self.snapshot)["devices"][0][k] for k in ("start", "peak_reserved_bytes")])
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

    def test_csv_with_a_limit(self):
        """30 MiB before the steps, 94 in each: the first row passes, the others are 4 MiB above 90; where the replay runs
        out of memory below the limit it is OOM."""
        write(self.at("steps.pickle"), steps_snapshot())
        def rows(*options, code):
            text = self.replay("-q", "--csv", "-", *options, "steps.pickle", code=code).stdout.decode()
            self.assertEqual(text.splitlines()[0],
                             "timestamp,member,step,allocated_GB,reserved_GB,current_GB,margin_GB,verdict")
            return [(r["step"], r["margin_GB"], r["verdict"]) for r in csv.DictReader(io.StringIO(text))]
        over = rows("--limit", "90MiB", code=1)
        self.assertEqual(over[:2], [("init", "0.059", "PASS"), ("0", "-0.004", "FAIL")])
        self.assertEqual({row[2] for row in over[1:]}, {"FAIL"})
        self.assertEqual({row[1:] for row in rows("--limit", "94MiB", code=0)[1:]}, {("0.000", "PASS")})
        self.assertEqual(rows("--limit", "1GiB", "--memory", "80MiB", code=1)[-1][2], "OOM")

    def test_the_card_and_its_memory(self):
        text = self.told("--gpu", "rtx-4090", "--summary", "-", self.snapshot)
        self.assertGreater(self.numbers("--gpu", "rtx-4090", self.snapshot)["gpu_total_bytes"], 23 << 30)
        self.assertRegex(text, r"Device GeForce RTX 4090 24 GB, 23\.\d\d GiB in all, 23\.\d\d GiB usable")

    def test_null_and_cuda(self):
        self.assertEqual(self.numbers("--backend", "null", self.snapshot)["backend"], "null")
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # on a machine with a GPU, too: tests/compute has the rest
        for backend in ("cuda", "cuda-async"):
            self.refused(4, "--backend", backend, self.snapshot, words=[f"--backend {backend}: "])
            self.assertRegex(self.replay("--backend", backend, self.snapshot, code=4).stderr.decode(),
                             "built without CUDA|no CUDA device")
        self.refused(4, "--alloc-conf", "backend:cudaMallocAsync", self.snapshot, words=["cudaMallocAsync"])


class Forecast(Replay):
    """steps_snapshot: 30 MiB of weights, four steps of 40 and 24 MiB, then 10 MiB that take what is cached."""

    def table(self, *arguments, **options):
        text = self.replay("-q", "--csv", "-", *arguments, **options).stdout.decode()
        return list(csv.DictReader(io.StringIO(text)))

    def leaking(self):
        """Each of two steps keeps 12 MiB."""
        allocator = Recorded()
        annotations = []
        for step in range(2):
            annotations.append({"name": f"ProfilerStep#{step}", "stage": "START", "device": 0,
                                "time_us": allocator.clock()})
            allocator.alloc(12 * MIB, [frame("append", "/app/cache.py", 5)])
            gone = allocator.alloc(20 * MIB, [frame("forward", "/app/model/mlp.py", 6)])
            allocator.free(gone)
            annotations.append({"name": f"ProfilerStep#{step}", "stage": "END", "device": 0,
                                "time_us": allocator.clock()})
        write(self.at("leaking.pickle"), {"segments": allocator.snapshot_segments(),
                                          "device_traces": [allocator.trace], "external_annotations": annotations})
        return "leaking.pickle"

    def test_members(self):
        write(self.at("steps.pickle"), steps_snapshot())
        plain, rows = self.table("steps.pickle"), self.table("--members", "2", "--steps", "3", "steps.pickle")
        self.assertEqual([(r["member"], r["step"]) for r in rows],
                         [("1", "init"), ("1", "1"), ("1", "2"), ("1", "3"), ("2", "1"), ("2", "2"), ("2", "3"),
                          ("2", "final")])
        values = ("allocated_GB", "reserved_GB", "current_GB")
        for row in rows[1:-1]:
            self.assertEqual([row[v] for v in values], ["0.092", "0.092", "0.029"])
        self.assertEqual([rows[-1][v] for v in values], [plain[-1][v] for v in values])
        found = self.numbers("--members", "2", "--steps", "3", "steps.pickle")["devices"][0]["repetition"]
        peak = {"peak_allocated_bytes": 94 * MIB, "peak_reserved_bytes": 94 * MIB, "allocated_at_end_bytes": 30 * MIB}
        self.assertEqual(found["peaks"], [{"member": 1, **peak}, {"member": 2, **peak}])
        self.assertEqual((found["recorded_steps"], found["turns"], found["kept_blocks"], found["frees_not_repeated"]),
                         (4, 2, 0, 0))

    def test_times(self):
        """A turn lasts as long as the step did, from the last event before it to its last one."""
        write(self.at("steps.pickle"), steps_snapshot())
        rows = self.table("--steps", "7", "steps.pickle")
        micros = [int(r["timestamp"][-7:-1]) for r in rows]
        self.assertEqual(len({b - a for a, b in zip(micros[3:-2], micros[4:-1])}), 1, micros)
        found = self.numbers("--steps", "7", "steps.pickle")["devices"][0]["repetition"]
        self.assertEqual(micros[5] - micros[4], found["duration_us"])

    def test_as_recorded(self):
        write(self.at("steps.pickle"), steps_snapshot())
        plain, same = self.numbers("steps.pickle"), self.numbers("--members", "1", "steps.pickle")
        self.assertEqual(same["devices"][0].pop("repetition")["turns"], 0)
        self.assertIsNone(plain["devices"][0].pop("repetition"))
        for numbers in (plain, same):
            numbers["devices"][0].pop("at_peak_reserved")
        self.assertEqual(same["devices"], plain["devices"])
        fewer = self.table("--steps", "2", "steps.pickle")
        self.assertEqual([r["step"] for r in fewer], ["init", "1", "2", "final"])
        self.assertEqual(fewer[-1]["current_GB"], "0.029")  # the 10 MiB after the last step are not played

    def test_growth_until_memory_ends(self):
        """The first step reserves 12 and 20 MiB; in each further one the 12 come out of the cached 20, and there is a
        new segment of 20: 52, 72, 92. The fifth (member 3, step 1) finds no more in 100 MiB, nor to give back."""
        path = self.leaking()
        found = self.numbers("--members", "5", "--steps", "2", "--memory", "100MiB", path, code=1)
        device = found["devices"][0]
        self.assertEqual(found["verdict"], "OOM")
        self.assertEqual((device["repetition"]["kept_blocks"], device["repetition"]["kept_bytes"]), (1, 12 * MIB))
        self.assertEqual((device["repetition"]["once_blocks"], device["repetition"]["replaced_blocks"]), (0, 0))
        self.assertEqual((device["repetition"]["compared_from_event"], device["repetition"]["growth_is_assumed"]),
                         (0, False))
        self.assertEqual((device["oom"]["member"], device["oom"]["step"]), (3, 1))
        self.assertEqual((device["oom"]["requested_bytes"], device["oom"]["active_bytes"]), (20 * MIB, 60 * MIB))
        text = self.told("--members", "5", "--steps", "2", "--memory", "100MiB", path, code=1)
        self.assertIn(", member 3, step 1", text)
        # Three turns of the second step before it, each as long as that was: from the last event of the first one on.
        last, event = device["repetition"], device["oom"]["event"]
        with open(self.at(path), "rb") as file:
            times = [e["time_us"] for e in pickle.load(file)["device_traces"][0]]
        self.assertEqual(last["duration_us"], times[last["last_event"]] - times[last["first_event"] - 1])
        after = times[event] - times[0] + 3 * last["duration_us"]
        self.assertLess(after, 1000)
        self.assertIn(f"event {event}, {after} us after the first, member 3, step 1", text)
        self.assertIn("grows by 1 block, 12.00 MiB requested", text)
        rows = self.table("--members", "5", "--steps", "2", "--memory", "100MiB", path, code=1)
        self.assertEqual([r["reserved_GB"] for r in rows],
                         ["0.000"] + [f"{n / 1024:.3f}" for n in (32, 52, 72, 92, 92)])
        rows = self.table("--members", "5", "--steps", "2", path)
        self.assertEqual(rows[-1]["current_GB"], f"{120 / 1024:.3f}")
        found = self.numbers("--members", "5", "--steps", "2", "--limit", "80MiB", path, code=1)
        self.assertEqual(found["limit"]["exceeded_in"], [{"device": 0, "member": 2, "step": 2}])  # 92 MiB

    def test_one_step_shows_no_growth(self):
        """One step, which makes 20 MiB of gradients and 40 of Adam's state and returns 12 MiB: nothing shows that any of
        it piles up. Live after each: 72 MiB. In a repetition's forward 16 MiB come and go beside that, and the next 12
        come before the old ones go; and there are 32 MiB of weights."""
        allocator = Allocator(0, 0x7F0000000000, Clock())
        module = [frame("_call_impl", "/site-packages/torch/nn/modules/module.py", 1700), frame("main", "/app/train.py", 5)]
        backward = [frame("backward", "/site-packages/torch/_tensor.py", 600), frame("main", "/app/train.py", 6)]
        adam = [frame("_init_group", "/site-packages/torch/optim/adam.py", 170),
                frame("step", "/site-packages/torch/optim/adam.py", 220), frame("main", "/app/train.py", 7)]
        for _ in range(2):
            allocator.alloc(16 * MIB, [frame("__init__", "/app/model.py", 3)])
        allocator.recording = True
        hidden = allocator.alloc(16 * MIB, [frame("forward", "/app/model.py", 10), *module])
        allocator.alloc(12 * MIB, [frame("forward", "/app/model.py", 11), *module])
        allocator.alloc(10 * MIB, backward)
        allocator.free(hidden)
        allocator.alloc(10 * MIB, backward)
        for _ in range(4):
            allocator.alloc(10 * MIB, adam)
        write(self.at("one.pickle"), {"segments": allocator.snapshot_segments(), "device_traces": [allocator.trace]})
        found = self.numbers("--steps", "1000", "--memory", "200MiB", "one.pickle")
        repetition = found["devices"][0]["repetition"]
        self.assertEqual(found["verdict"], "PASS")
        self.assertEqual((repetition["kept_blocks"], repetition["kept_bytes"]), (0, 0))
        self.assertEqual((repetition["once_blocks"], repetition["once_bytes"]), (6, 60 * MIB))
        self.assertEqual((repetition["replaced_blocks"], repetition["replaced_bytes"]), (1, 12 * MIB))
        self.assertEqual((repetition["compared_from_event"], repetition["growth_is_assumed"]), (None, True))
        self.assertEqual(found["devices"][0]["peak_allocated_bytes"], (32 + 72 + 16 + 12) * MIB)
        rows = self.table("--steps", "1000", "one.pickle")
        self.assertEqual({r["current_GB"] for r in rows[1:]}, {f"{104 / 1024:.3f}"})
        text = self.told("--steps", "1000", "one.pickle")
        self.assertIn("no growth is known", text)
        self.assertIn("assumed: 6 blocks, 60.00 MiB, gradients and states, are made once", text)
        self.assertIn("assumed: 1 block, 12.00 MiB, is replaced by that of the next time", text)
        self.assertIsNone(repetition["with_zero_grad"])
        found = self.numbers("--steps", "1000", "--memory", "124MiB", "one.pickle", code=1)
        other = found["devices"][0]["repetition"]["with_zero_grad"]
        self.assertIsNone(found["verdict"])  # it hangs on whether gradients are there in a forward pass
        self.assertEqual((other["gradients_bytes"], other["runs_out_of_memory"]), (20 * MIB, False))
        self.assertEqual(other["peak_reserved_bytes"], (32 + 40 + 12 + 16 + 12 + 10) * MIB)  # 10 MiB lie in pieces
        text = self.told("--steps", "1000", "--memory", "124MiB", "one.pickle", code=1)
        self.assertIn("If it does, memory is enough: 122.0 MiB are reserved at the peak.", text)
        self.assertIn("verdict: not known, because it hangs on whether zero_grad() frees", text)
        found = self.numbers("--steps", "1000", "--memory", "110MiB", "one.pickle", code=1)
        self.assertEqual(found["verdict"], "OOM")
        self.assertTrue(found["devices"][0]["repetition"]["with_zero_grad"]["runs_out_of_memory"])

    def test_refusals(self):
        write(self.at("steps.pickle"), steps_snapshot())
        allocator = Recorded()
        allocator.alloc(30 * MIB, [frame("forward", "/app/model/attention.py", 12)])
        write(self.at("none.pickle"), allocator.snapshot())
        self.refused(3, "--members", "2", "none.pickle", words=["no complete step"])
        for arguments, word in ((("--verify", "--members", "2"), "--members"), (("--verify", "--steps", "2"), "--steps"),
                                (("-o", "out.pickle", "--steps", "2"), "-o"), (("--sweep", "--steps", "2"), "--sweep"),
                                (("--members", "0"), "--members"), (("--members", "2000", "--steps", "2000"), "2^20"),
                                (("--steps", "many"), "--steps")):
            self.refused(2, *arguments, "steps.pickle", words=[word])
        self.assertFalse(os.path.exists(self.at("out.pickle")))

    def test_many_steps(self):
        """More than a report lists: all are in the table."""
        write(self.at("many.pickle"), steps_snapshot(5000))
        rows = self.table("many.pickle")
        self.assertEqual([r["step"] for r in rows], ["init"] + [str(i) for i in range(5000)] + ["final"])

    def test_devices(self):
        """Steps on one device of two: the other one is played as it is."""
        first, second = steps_snapshot(), Allocator(1, 0x7E0000000000, Clock())
        second.recording = True
        second.alloc(72 * MIB, [frame("forward", "/app/model/attention.py", 12)])
        write(self.at("two.pickle"), {"segments": first["segments"] + second.snapshot_segments(),
                                      "device_traces": [first["device_traces"][0], second.trace],
                                      "external_annotations": first["external_annotations"]})
        found = self.numbers("--members", "2", "two.pickle")["devices"]
        self.assertEqual(found[0]["repetition"]["turns"], 4)
        self.assertIsNone(found[1]["repetition"])
        self.assertEqual(found[1]["peak_reserved_bytes"], 72 * MIB)
        rows = self.table("--members", "2", "two.pickle")
        self.assertEqual([(r["member"], r["step"]) for r in rows[-3:]], [("2", "final"), ("1", "init"), ("2", "final")])
        self.assertIn("no complete step was found on this device",
                      self.told("--members", "2", "two.pickle"))


class Judgement(Replay):
    def test_summary(self):
        """At the peak of reserved memory (72 MiB, event 5): 30 + 40 MiB and 1024 bytes allocated; 2 MiB - 1024 free."""
        self.replay("-q", "--summary", "summary.txt", "--memory", "144MiB", self.snapshot)
        with open(self.at("summary.txt"), encoding="utf-8") as file:
            text = " ".join(file.read().split())
        for words in ("72.00 MiB (event 5)", "Of the device's memory 50.0 %", "Utilisation 97.2 %",
                      "Fragmentation 2.8 %, 2.00 MiB", "Largest free block 2.00 MiB", "MLP 40.00 MiB",
                      "All devices (1): peaks add up to 72.00 MiB reserved", "rtx-4090"):
            self.assertIn(words, text)
        found = self.numbers("--limit", "1G", "--memory", "144MiB", self.snapshot)["devices"][0]
        self.assertEqual({k: found["at_peak_reserved"][k] for k in ("event", "allocated_bytes", "reserved_bytes",
                                                                  "largest_free_bytes", "of_memory_percent")},
                         {"event": 5, "allocated_bytes": 70 * MIB + 1024, "reserved_bytes": 72 * MIB,
                          "largest_free_bytes": 2 * MIB - 1024, "of_memory_percent": 50.0})
        for key in ("roles_at_peak", "categories_at_peak"):
            self.assertEqual(sum(row["bytes"] for row in found[key]), found["peak_requested_bytes"])

    def test_recommendations(self):
        """60 MiB in two halves that come one after the other, of other sizes: 20, then 30 that do not fit there."""
        allocator = Recorded()
        for size in (20, 30):
            gone = allocator.alloc(size * MIB, [frame("forward", "/app/model/mlp.py", 6)])
            allocator.free(gone)
        write(self.at("holes.pickle"), allocator.snapshot())
        found = self.numbers("--limit", "45MiB", "holes.pickle", code=1)
        tried = {t["alloc_conf"]: t for t in found["limit"]["replayed"] if not t["is_bounded"]}
        self.assertEqual(tried[""]["peak_reserved_bytes"], 50 * MIB)
        self.assertEqual(tried["expandable_segments:True"]["peak_reserved_bytes"], 40 * MIB)
        bounded = [t for t in found["limit"]["replayed"] if t["is_bounded"]]
        self.assertEqual([(t["runs"], t["peak_reserved_bytes"], t["num_alloc_retries"]) for t in bounded],
                         [(True, 30 * MIB, 1)])
        text = self.told("--limit", "45MiB", "holes.pickle", code=1)
        self.assertIn("PYTORCH_ALLOC_CONF=expandable_segments:True replayed: peak reserved 40.00 MiB instead "
                      "of 50.00 MiB, within the limit", text)
        self.assertIn("with a fraction of 45.00 MiB it runs, with 1 retry that gives cached memory back", text)

    def test_no_setting_helps(self):
        text = self.told("--limit", "50MiB", self.snapshot, code=1)
        self.assertIn("No allocator setting can help: 70.00 MiB are requested at once, 20.00 MiB more than the limit",
                      text)
        self.assertIn("by category MLP 40.00 MiB", text)
        self.assertNotIn("PYTORCH", text)

    def test_margin(self):
        """72 of 80 MiB are exactly nine tenths: safe. Of 79.9 they are more."""
        self.assertNotIn("Recommendations", self.told("--limit", "80MiB", self.snapshot))
        text = self.told("--limit", "79.9MiB", self.snapshot)
        self.assertIn("TEST PASSED", text)
        self.assertIn("less than 10 % of the limit are left", text)
        self.assertEqual(self.numbers("--limit", "144MiB", self.snapshot)["limit"]["margin_percent"], 50.0)

    def test_categories(self):
        with open(self.at("own.categories"), "w", encoding="ascii") as file:
            file.write(CATEGORIES)
        found = self.numbers("--categories", "own.categories", "--drop", "category:Mine", self.snapshot)
        self.assertEqual(found["changes"][0]["bytes_before"], 40 * MIB)
        self.refused(2, "--drop", "category:Mine", self.snapshot, words=["Mine"])
        self.refused(3, "--categories", "nowhere", self.snapshot, words=["nowhere"])


def large_snapshot(unit):
    """Blocks of 1, 3 and 5 units, each in a segment of its own, all freed; then 8.4 units: 17.4 are reserved if there is
    as much, and 9 are enough."""
    allocator = Recorded()
    for block in [allocator.alloc(n * unit, [frame("forward", "/app/model.py", n)]) for n in (1, 3, 5)]:
        allocator.free(block)
    allocator.alloc(unit * 84 // 10 // MIB * MIB, [frame("step", "/app/train.py", 7)])
    return allocator.snapshot()


class Cards(Replay):
    def check(self, path, *settings, every=1, code=0):
        """Listed are the cards on which --gpu passes, and no others."""
        limit = self.numbers("--limit", "1TiB", *settings, path, code=code)["limit"]
        self.assertEqual(limit["untried_gpus"], [])
        listed = limit["safe_gpus"] + limit["tight_gpus"]
        names = [row.split()[0] for row in self.replay("--gpu", "list").stdout.decode().split("\n\n")[0].splitlines()[1:]]
        self.assertLessEqual(set(listed), set(names))
        for name in names[::every]:
            done = subprocess.run([BINARY, "-q", "--gpu", name, *settings, path], capture_output=True, check=False)
            self.assertEqual((name, done.returncode), (name, 0 if name in listed else 1))
        return limit

    def test_listed_cards_pass(self):
        """In units of 2.5 GiB 43.5 GiB are reserved if there is as much, and 22.5 are enough: cards of 24 GB pass."""
        path = write(self.at("large.pickle"), large_snapshot(5 << 29))
        limit = self.check(path)
        self.assertIn("rtx-4090", limit["tight_gpus"])
        self.assertIn("h100-80", limit["safe_gpus"])
        self.assertNotIn("a10", limit["tight_gpus"] + limit["safe_gpus"])
        text = self.told("--limit", "24GB", path, code=1)
        self.assertRegex(text, r"CARDS THAT RUN IT.* safe .*h100-80.* tight .*rtx-4090")

    def test_other_settings(self):
        path = write(self.at("large.pickle"), large_snapshot(5 << 29))
        for settings in (("--alloc-conf", "expandable_segments:True"), ("--scale", "Activation=0.3"),
                         ("--alloc-conf", "per_process_memory_fraction:0.5"),
                         ("--alloc-conf", "per_process_memory_fraction:0.9,garbage_collection_threshold:0.6")):
            self.check(path, *settings, every=4)

    def test_other_needs(self):
        """A repeated step; a device without events; an end out of memory, after which no card is known to be enough."""
        write(self.at("steps.pickle"), steps_snapshot())
        self.check(self.at("steps.pickle"), "--steps", "50", every=15)
        snapshot = large_snapshot(1 << 30)
        snapshot["device_traces"].append([])
        snapshot["segments"].append({"device": 1, "address": 1 << 40, "total_size": 30 << 30, "stream": 0,
                                     "segment_type": "large", "allocated_size": 0, "active_size": 0,
                                     "blocks": [{"size": 30 << 30, "state": "inactive"}]})
        self.check(write(self.at("two.pickle"), snapshot), every=4)
        snapshot = large_snapshot(1 << 30)
        event = dict(snapshot["device_traces"][0][-1], action="oom", size=20 << 30, device_free=1 << 30)
        snapshot["device_traces"][0].append(event)
        limit = self.check(write(self.at("oom.pickle"), snapshot), every=4, code=1)
        self.assertEqual((limit["safe_gpus"], limit["tight_gpus"]), ([], []))


class Searches(Replay):
    """A search that takes seconds. The file is below 8 MiB, so that reading takes no thread of its own."""

    def setUp(self):
        super().setUp()
        events = []
        for i in range(60000 // (1 if int(os.environ.get("GM_SAMPLE", "1")) < 6 else 6)):  # sanitizers take that much longer
            address, size = (1 << 40) + i % 64 * (64 << 20), (1 + i * 7919 % 61) << 20
            events.append({"action": "alloc", "addr": address, "size": size, "stream": 0, "frames": []})
            for action in ("free_requested", "free_completed"):
                events.append({"action": action, "addr": address, "size": size, "stream": 0, "frames": []})
        self.many = write(self.at("many.pickle"), {"segments": [], "device_traces": [events]})

    def test_budget(self):
        """However far it gets: what is there and what was left out is everything."""
        all_of_it = self.numbers("--sweep", "--budget", "0", self.many)["sweep"]
        self.assertEqual((all_of_it["left_out"], all_of_it["cut"]), (0, None))
        done = self.replay("--sweep", "--fit", "-j", "1", "--budget", "1", "--json", "cut.json", self.many)
        with open(self.at("cut.json"), encoding="utf-8") as file:
            report = json.load(file)
        sweep = report["sweep"]
        self.assertEqual(len(sweep["rows"]) + sweep["left_out"], len(all_of_it["rows"]))
        self.assertEqual(sweep["cut"], "budget" if sweep["left_out"] else None)
        self.assertTrue(sweep["baseline"]["runs"])
        is_cut = report["fit"]["cut"] is not None  # or the machine was fast enough
        self.assertIn(report["fit"]["cut"], ("budget", None))
        self.assertLessEqual(any(fit["is_cut"] for fit in report["fit"]["settings"]), is_cut)
        text = " ".join(done.stdout.decode().split())
        self.assertEqual("Not all was tried, because the budget of 1 s (--budget) was used up" in text, is_cut)
        self.assertEqual("more settings, because half of the budget of 1 s (--budget) was used up" in text,
                         sweep["left_out"] > 0)

    def interrupted(self, seconds):
        """Interrupted so long after there is a second thread, which may be of reading the file yet: what it told."""
        run = subprocess.Popen([BINARY, "--sweep", "--fit", "-j", "2", "--budget", "0", "--json", "cut.json", self.many],
                               cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while run.poll() is None and len(os.listdir(f"/proc/{run.pid}/task")) < 2:
            time.sleep(0.01)
        time.sleep(seconds)
        run.send_signal(signal.SIGINT)
        told = run.communicate(timeout=100)[0].decode()
        self.assertEqual(run.returncode, -signal.SIGINT)
        return told

    def test_interrupted(self):
        told, seconds = self.interrupted(0), 0.1
        while told == "" and seconds < 10:  # it came before the search
            told, seconds = self.interrupted(seconds), 2 * seconds
        self.assertIn("because it was interrupted", told)
        with open(self.at("cut.json"), encoding="utf-8") as file:
            sweep = json.load(file)["sweep"]
        self.assertEqual(sweep["cut"], "interrupted" if sweep["left_out"] else None)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [])


class Usage(Replay):
    def test_wrong_usage(self):
        for arguments, word in (((), "no trace given"), ((self.snapshot, self.snapshot), "more than one"),
                                (("--memory", "1GiB", "--gpu", "t4", self.snapshot), "--gpu"),
                                (("--gpu", "voodoo2", self.snapshot), "rtx-4090"),
                                (("--verify", "--memory", "1GiB", self.snapshot), "--memory"),
                                (("--verify", "--drop", "Activation", self.snapshot), "not with --scale and --drop"),
                                (("--plan", self.snapshot), "no card is called"),
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

    def test_what_was_meant(self):
        """Misspelt by one letter or two: each message names what there is."""
        for arguments, meant in ((("--memroy", "1GiB"), "--memory"), (("--aloc-conf=x",), "--alloc-conf"),
                                 (("--backend", "sin"), "sim"), (("--compute", "toch"), "touch"),
                                 (("--gpu", "rtx-4900"), "rtx-4090"), (("--gpu", "a100-64gb"), "a100-40"),
                                 (("--drop", "Activaton"), "Activation"), (("--drop", "role:gradeint"), "role:Gradient"),
                                 (("--scale", "category:Attenton=2"), "category:Attention"),
                                 (("--scale", "optimiser state=2"), "Optimizer state")):
            self.refused(2, *arguments, self.snapshot, words=[f"did you mean '{meant}'?"])
        for arguments in (("--frobnicate",), ("--backend", "metal"), ("--gpu", "voodoo2"), ("--drop", "Nonsense"),
                          ("--alloc-conf", "max_split_size_mb")):
            self.assertNotIn(b"did you mean", self.replay(*arguments, self.snapshot, code=2).stderr)
        told = self.replay("--alloc-conf", "no_such:1,expandable_segment:True", self.snapshot).stderr.decode()
        self.assertIn("left out: no_such, expandable_segment (did you mean 'expandable_segments'?)", told)

    def test_cards(self):
        """What torch.cuda.get_device_name() prints; where it leaves the size open, one line says which was taken."""
        done = self.replay("--gpu", "NVIDIA H100 80GB HBM3", self.snapshot)
        self.assertIn("H100 80 GB", done.stdout.decode())
        self.assertEqual(done.stderr, b"")
        done = self.replay("--gpu", "A100", self.snapshot)
        self.assertIn("Device     A100 40 GB", done.stdout.decode())
        self.assertEqual(done.stderr.decode(), "gmreplay: --gpu A100: a100-40 is taken; there is a100-80, too\n")
        self.assertEqual(self.replay("-q", "--gpu", "A100", self.snapshot).stderr, b"")
        self.assertEqual(self.numbers("--gpu", "4090", self.snapshot)["gpu"], "rtx-4090")
        for word in ("list", "help"):
            table = self.replay("--gpu", word).stdout.decode().splitlines()
            self.assertRegex(table[0], r"name +total +usable +source")
            self.assertTrue(any(row.startswith("h100-80 ") and "79.11 GiB" in row and "78.61 GiB" in row for row in table))

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

    def test_progress_only_for_a_person(self):
        """No bar where stderr is no terminal, however long it takes; on a terminal it is gone at the end."""
        write(self.at("many.pickle"), steps_snapshot(6000))
        for rest in (0.2, 0.1, 0.05, 0.02, 0.01):  # before it is done
            drawn = self.on_terminal(rest)
            if drawn != b"":
                break
        self.assertIn(b" s: ", drawn)
        self.assertEqual(drawn.split(b"\r")[-1], b"")
        self.assertEqual(self.on_terminal(rest, "-q"), b"")
        self.assertEqual(self.replay("--sweep", "--fit", "-j", "1", "many.pickle").stderr, b"")

    def on_terminal(self, rest, *options):
        """What a search draws on a terminal that rests for longer than nobody minds, so many seconds after its start."""
        leader, follower = os.openpty()
        with os.fdopen(follower, "wb") as terminal:
            search = subprocess.Popen([BINARY, *options, "--sweep", "--fit", "-j", "1", self.at("many.pickle")],
                                      stderr=terminal, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        time.sleep(rest)
        search.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        search.send_signal(signal.SIGCONT)
        drawn = b""
        try:
            while chunk := os.read(leader, 4096):
                drawn += chunk
        except OSError:  # the other end is closed
            pass
        os.close(leader)
        self.assertEqual(search.wait(), 0)
        return drawn

    def test_quiet_and_verbose(self):
        self.assertEqual(self.replay("-q", self.snapshot).stdout, b"")
        done = self.replay("-v", self.snapshot)
        self.assertIn(b"million events/s", done.stderr)


class Interrupted(Replay):
    def test_outputs_are_whole_or_not_there(self):
        """Signals after random times: each output is what was there before, or complete; nothing is left beside it."""
        chance, outputs = random.Random(5), {"-o": "o.pickle.gz", "--trace-out": "t.gmtrace", "--csv": "c.csv"}
        command = [BINARY, "-q", *(word for pair in outputs.items() for word in pair),
                   os.path.join(SOURCE, "tests", "data", "demo.gmtrace")]
        started = time.monotonic()
        self.replay(*command[1:])
        whole, complete = time.monotonic() - started, {}
        for name in outputs.values():
            with open(self.at(name), "rb") as file:
                complete[name] = file.read()
        ended = 0
        for i in range(24):
            for name in outputs.values():
                with open(self.at(name), "wb") as file:
                    file.write(b"old")
            run = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE)
            time.sleep(chance.uniform(0.3, 1) * whole)
            number = (signal.SIGINT, signal.SIGTERM)[i % 2]
            run.send_signal(number)
            self.assertEqual(run.communicate(timeout=120)[1], b"")
            ended += run.returncode == -number
            self.assertIn(run.returncode, (0, -number))
            for name, expected in complete.items():
                with open(self.at(name), "rb") as file:
                    self.assertIn(file.read(), (b"old", expected), name)
            self.assertEqual(sorted(os.listdir(self.folder)), sorted([*outputs.values(), "snapshot.pickle"]))
        self.assertGreater(ended, 0)


main()
