#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gmtrace: what is cut is the recording's own events and the state that Python finds by undoing the later ones; what
is redacted has none of the texts that were planted. Binaries: $GMTRACE, $GMREPLAY."""
import collections
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
from snapshots import RestrictedUnpickler, snapshot_paths  # noqa: E402

GMTRACE = os.environ.get("GMTRACE") or sys.exit("GMTRACE names the binary to test")
GMREPLAY = os.environ.get("GMREPLAY") or sys.exit("GMREPLAY names the binary to test")
MIB = 1 << 20
GROWS = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}


def load(path):
    with open(path, "rb") as f:
        return RestrictedUnpickler(f).load()


def gmtrace(*args, code=0):
    done = subprocess.run([GMTRACE, *map(str, args)], capture_output=True, text=True, check=False)
    assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
    return done


def state_at(snapshot, device, moment):
    """By hand: the end's reserved bytes and active blocks {address: requested}, later events undone one by one."""
    reserved = sum(s["total_size"] for s in snapshot["segments"] if s.get("device", 0) == device)
    active = {}
    for segment in snapshot["segments"]:
        at = segment["address"]
        for block in segment["blocks"]:
            if segment.get("device", 0) == device and block["state"].startswith("active"):
                active[block.get("address", at)] = block["requested_size"]
            at += block["size"]
    for event in reversed(snapshot["device_traces"][device][moment:]):
        if event["action"] in GROWS:
            reserved -= GROWS[event["action"]] * event["size"]
        elif event["action"] == "alloc":
            active.pop(event["addr"], None)
        elif event["action"] == "free_completed":
            active[event["addr"]] = event["size"]
    return reserved, active


def is_sound(snapshot, device):
    """What the trace leaves open is active at the end, and all of it lies in segments that are known."""
    trace, open_at_end = snapshot["device_traces"][device], set()
    known = [(s["address"], s["total_size"]) for s in snapshot["segments"]] + [
        (e["addr"], e["size"]) for e in trace if e["action"] in GROWS]
    for event in trace:
        if event["action"] == "alloc":
            if not any(0 <= event["addr"] - at < size for at, size in known):
                return False
            open_at_end.add(event["addr"])
        elif event["action"] == "free_completed":
            open_at_end.discard(event["addr"])
    return open_at_end <= set(state_of(snapshot, device)[1])


def state_of(snapshot, device):
    return state_at(snapshot, device, len(snapshot["device_traces"][device]))


class Clock:
    now = 1700000000000000

    def __call__(self):
        self.now += 11
        return self.now


def empty_cache(allocator):
    for segment in list(allocator.segments):
        if segment.first.state == "inactive" and segment.first.after is None:
            allocator.remove(segment.first)
            allocator.segments.remove(segment)
            allocator.record("segment_free", segment.address, segment.size, segment.stream, [])


def real_snapshots(most):
    try:
        return [p for p in snapshot_paths(".pickle", ".pkl") if p.stat().st_size < most]
    except SystemExit:
        return []


def recording(seed=7, events=400):
    """Steps of a program on the tests' own allocator, which is not the project's."""
    rng = random.Random(seed)
    allocator = Allocator(0, 0x7F0000000000, Clock())
    allocator.recording = True
    live = []
    for i in range(events):
        if live and rng.random() < 0.48:
            allocator.free(live.pop(rng.randrange(len(live))))
        else:
            size = rng.choice([600, 5000, 300000, 2 * MIB, 7 * MIB, 24 * MIB])
            live.append(allocator.alloc(size, [{"name": f"secret_function_{i % 5}", "filename": "/home/secret/model.py",
                                                "line": i % 50}]))
        if i == events // 2:
            empty_cache(allocator)
    return {"segments": allocator.snapshot_segments(), "device_traces": [allocator.trace], "allocator_settings": {
        "PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": False}}


class Cut(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def check(self, source, snapshot, device, start, end):
        out = self.path / "cut.pickle"
        gmtrace("cut", "--device", device, "--from", start, "--to", end, "-o", out, source)
        cut = load(out)
        self.assertEqual(cut["device_traces"][device], snapshot["device_traces"][device][start:end + 1])
        self.assertEqual(state_of(cut, device), state_at(snapshot, device, end + 1))
        for segment in cut["segments"]:
            self.assertEqual(sum(b["size"] for b in segment["blocks"]), segment["total_size"])
            if "active_size" in segment:
                self.assertEqual(segment["active_size"], sum(
                    b["size"] for b in segment["blocks"] if b["state"].startswith("active")))
        return cut

    def test_any_stretch(self):
        snapshot = recording()
        source = self.path / "whole.pickle"
        source.write_bytes(pickle.dumps(snapshot))
        count = len(snapshot["device_traces"][0])
        rng = random.Random(3)
        for _ in range(30):
            start, end = sorted(rng.sample(range(count), 2))
            self.check(source, snapshot, 0, start, end)
        whole = self.check(source, snapshot, 0, 0, count - 1)
        for segment in whole["segments"] + snapshot["segments"]:  # a segment's stack is that of its event
            segment["frames"] = []
            for block in segment["blocks"]:
                if block["state"] == "inactive":  # whoever had it last
                    block["requested_size"] = 0
        self.assertEqual(whole["segments"], snapshot["segments"])

    def test_replays_exactly(self):
        snapshot = recording(5)
        source, out = self.path / "whole.pickle", self.path / "cut.pickle"
        source.write_bytes(pickle.dumps(snapshot))
        gmtrace("cut", "--from", 100, "--to", 350, "-o", out, source)
        verdict = subprocess.run([GMREPLAY, "--verify", "--json", "-", str(out)], capture_output=True, check=False)
        device = json.loads(verdict.stdout)["devices"][0]
        self.assertEqual((device["exact_addresses"], device["end_blocks_same"]), (device["allocs"], device["end_blocks"]))

    def test_peak(self):
        snapshot = recording(11)
        source, out = self.path / "whole.pickle", self.path / "peak.gmtrace"
        source.write_bytes(pickle.dumps(snapshot))
        gmtrace("cut", "--to-peak", "-o", out, source)
        told = json.loads(gmtrace("info", "--json", "-", out).stdout)["devices"][0]
        before = json.loads(gmtrace("info", "--json", "-", source).stdout)["devices"][0]
        self.assertEqual(told["peak_requested_bytes"], before["peak_requested_bytes"])
        self.assertEqual(told["events"], before["peak_event"] + 1)
        levels = [sum(state_at(snapshot, 0, m)[1].values()) for m in range(len(snapshot["device_traces"][0]) + 1)]
        self.assertEqual(max(levels), told["peak_requested_bytes"])

    def test_ring_at_top(self):
        """What a file says of its ring beside the traces is that of the new one."""
        source, out = self.path / "ring.pickle", self.path / "out.pickle"
        for was, args, older in ((False, ["cut", "--from", 20], "lost"), (False, ["cut", "--to", 50], "none"),
                                 (True, ["cut", "--to", 50], "lost"), (True, ["shrink", "--replays", 20], "none")):
            source.write_bytes(pickle.dumps({**recording(), "allocator_settings": {}, "trace_alloc_overflowed": was,
                                             "trace_alloc_max_entries": 1000}))
            gmtrace(*args, "-o", out, source)
            told = json.loads(gmtrace("info", "--json", "-", out).stdout)["devices"][0]
            self.assertEqual((told["older_events"], told["ring"]), (older, 1000), (was, args))
            self.assertIn(load(out)["trace_alloc_overflowed"], (older == "lost", [older == "lost"]))

    def test_wrong_usage(self):
        source = self.path / "whole.pickle"
        source.write_bytes(pickle.dumps(recording()))
        out = self.path / "out.pickle"
        for args in (["cut", source], ["cut", "-o", out, source], ["cutt", source], ["cut", "--to", 9, "-o", source, source],
                     ["info", "--salt", "x", source], ["redact", "--to", 5, "-o", out, source], ["info"], [],
                     ["cut", "--from", 20, "--to", 3, "-o", out, source], ["cut", "--to", "step:999", "-o", out, source],
                     ["cut", "--to", 10 ** 9, "-o", out, source], ["cut", "--device", 3, "--to", 9, "-o", out, source],
                     ["cut", "--json", "-", "--to", 9, "-o", out, source], ["redact", "--json", "x", "-o", out, source],
                     ["redact", "--device", 0, "-o", out, source], ["redact", "--kept", source, "-o", out, source]):
            self.assertTrue(gmtrace(*args, code=2).stderr.startswith("gmtrace: "), args)
        self.assertIn("did you mean 'cut'", gmtrace("cutt", source, code=2).stderr)
        gmtrace("cut", "--to", 9, "-o", out, self.path / "none.pickle", code=3)
        self.assertFalse(out.exists())
        gmtrace("cut", "--to", 9, "-o", self.path / "no" / "out.pickle", source, code=5)

    def test_real(self):
        paths = real_snapshots(2 * MIB)
        if not paths:
            self.skipTest("no real snapshots beside the checkout")
        cut = contradicts = 0
        for path in paths:
            snapshot = load(path)
            if not isinstance(snapshot, dict) or not snapshot.get("device_traces"):
                continue
            device = max(range(len(snapshot["device_traces"])), key=lambda d: len(snapshot["device_traces"][d]))
            trace = snapshot["device_traces"][device]
            if len(trace) < 10 or sum(1 for t in snapshot["device_traces"] if t) > 1 or any(
                    e["action"] == "free" for e in trace) or not is_sound(snapshot, device):
                continue
            start, end = len(trace) // 3, 2 * len(trace) // 3
            done = subprocess.run([GMTRACE, "cut", "--from", str(start), "--to", str(end), "-o", self.path / "x.pickle", path],
                                  capture_output=True, text=True, check=False)
            if done.returncode == 3:
                contradicts += 1
                continue
            made = load(self.path / "x.pickle")
            expected = [{**e, "frames": list(e["frames"])} if "frames" in e else e for e in trace[start:end + 1]]
            self.assertEqual(made["device_traces"][device], expected, path)
            self.assertEqual(state_of(made, device), state_at(snapshot, device, end + 1), path)
            cut += 1
        print(f"{cut} real snapshots cut, {contradicts} contradict themselves")
        self.assertGreater(cut, contradicts)


SECRETS = collections.Counter()


def plant(where):
    SECRETS[where] += 1
    return f"secret {where} {SECRETS[where]}"


def planted():
    """A snapshot with a text that nobody may see in every place that a file has for one."""
    snapshot = recording()
    snapshot[plant("key").replace(" ", "_")] = {plant("inner key"): [plant("value"), {"deep": plant("deep")}]}
    for i, event in enumerate(snapshot["device_traces"][0]):
        if i % 7 == 0:
            event.update(user_metadata=plant("metadata"), compile_context=plant("context"), internal_metadata=plant("internal"),
                         forward_frames=[plant("forward frames")], category=plant("category"))
        if i % 11 == 0 and event.get("frames"):
            event["frames"] = [*event["frames"], {
                "name": plant("name"), "filename": f"/home/{plant('folder')}/{plant('file')}.py", "line": 3,
                "fx_node_name": plant("fx"), "fx_original_trace": plant("fx trace")}]
    torch = "/opt/secret place/lib/python3.12/site-packages/torch/nn/modules/linear.py"
    snapshot["device_traces"][0][3]["frames"] = [
        {"name": "forward", "filename": torch, "line": 125},
        {"name": "at::native::linear(at::Tensor const&)", "filename": "??", "line": 0},
        {"name": "secret::kernel(at::Tensor)", "filename": "/home/secret/ext.cpp", "line": 1}]
    snapshot["external_annotations"] = [{"stage": "START", "name": plant("annotation"), "device": 0, "time_us": 1},
                                        {"stage": "START", "name": "ProfilerStep#12", "device": 0, "time_us": 2}]
    snapshot["segments"][0][plant("segment key")] = plant("segment")
    snapshot["segments"][0]["blocks"][0]["history"] = [{"real_size": 5, "frames": [], "who": plant("history")}]
    snapshot["device_traces"][0].append({"action": plant("action"), "addr": 1, "size": 2, "stream": 0})
    return snapshot


def texts(value, found):
    if isinstance(value, (list, tuple)):
        for item in value:
            texts(item, found)
    elif isinstance(value, dict):
        for key, item in value.items():
            texts(key, found)
            texts(item, found)
    elif isinstance(value, str):
        found.add(value)
    return found


def without_texts(value):
    """The structure and the numbers."""
    if isinstance(value, (list, tuple)):
        return [without_texts(item) for item in value]
    if isinstance(value, dict):
        return [without_texts(item) for item in value.values()]
    return "text" if isinstance(value, str) else value


class Redact(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.source = self.path / "secret_run.pickle"
        self.snapshot = planted()
        self.source.write_bytes(pickle.dumps(self.snapshot))

    def redacted(self, *args, name="out.pickle"):
        gmtrace("redact", "-o", self.path / name, *args, self.source)
        return load(self.path / name)

    def test_nothing_is_left(self):
        made = self.redacted("--kept", self.path / "kept.txt")
        left = [text for text in texts(made, set()) if "secret" in text]
        self.assertEqual(left, [])
        self.assertNotIn(b"secret", (self.path / "out.pickle").read_bytes())
        self.assertEqual(without_texts(made), without_texts(self.snapshot))
        kept = set((self.path / "kept.txt").read_text().splitlines())
        for text in ("/site-packages/torch/nn/modules/linear.py", "forward", "at::native::linear(at::Tensor const&)",
                     "ProfilerStep#12"):
            self.assertIn(text, kept)
            self.assertIn(text, texts(made, set()))

    def test_structure(self):
        """Equal texts stay equal, others differ; files of one folder share it."""
        made = self.redacted()
        one_to_one, back = {}, {}
        for a, b in zip(self.snapshot["device_traces"][0], made["device_traces"][0]):
            for x, y in zip(a.get("frames", []), b.get("frames", [])):
                for key in ("name", "filename"):
                    self.assertEqual(one_to_one.setdefault((key, x[key]), y[key]), y[key])
                    self.assertEqual(back.setdefault((key, y[key]), x[key]), x[key])
        self.assertTrue(any(y.endswith(".py") and y.count("/") == 3 for (k, _), y in one_to_one.items() if k == "filename"))

    def test_salt(self):
        first, second = self.redacted("--salt", "a"), self.redacted("--salt", "a", name="b.pickle")
        self.assertEqual(first, second)
        self.assertNotEqual(first, self.redacted("--salt", "b"))
        self.assertNotEqual(self.redacted(), self.redacted())

    def test_gmtrace(self):
        gmtrace("redact", "-o", self.path / "out.gmtrace", "--salt", "a", self.source)
        gmtrace("redact", "-o", self.path / "again.pickle", "--salt", "x", self.path / "out.gmtrace")
        self.assertNotIn(b"secret", (self.path / "out.gmtrace").read_bytes())
        self.assertEqual(without_texts(load(self.path / "again.pickle")), without_texts(self.snapshot))

    def test_keep(self):
        snapshot = recording()
        snapshot["device_traces"][0][0]["frames"] = [
            {"name": "attend", "filename": "/x/site-packages/ours/attention.py", "line": 3},
            {"name": "attend_too", "filename": "/x/site-packages/ours_not/attention.py", "line": 3}]
        self.source.write_bytes(pickle.dumps(snapshot))
        kept, all_hashed = texts(self.redacted("--keep", "ours"), set()), texts(self.redacted(), set())
        self.assertTrue({"attend", "/site-packages/ours/attention.py"} <= kept)
        self.assertFalse({"attend_too", "/x/site-packages/ours_not/attention.py"} & kept)
        self.assertFalse({"attend", "/site-packages/ours/attention.py"} & all_hashed)

    def test_real(self):
        paths = real_snapshots(2 * MIB)
        if not paths:
            self.skipTest("no real snapshots beside the checkout")
        for path in paths:
            gmtrace("redact", "-q", "-o", self.path / "out.pickle", "--kept", self.path / "kept.txt", path)
            before, after = texts(load(path), set()), texts(load(self.path / "out.pickle"), set())
            allowed = set((self.path / "kept.txt").read_text().splitlines())
            words = {text for text in before & after if len(text) < 24 and text.isidentifier()} # of the format
            left = {text for text in before & after - allowed - words if "/" in text or " " in text}
            self.assertEqual(left, set(), path)


if __name__ == "__main__":
    unittest.main()
