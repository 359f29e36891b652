# SPDX-License-Identifier: Apache-2.0
"""What the tests of the program share: a scratch folder, small snapshots, a way to run the binary ($GMANALYZE)."""
import base64
import gzip
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(SOURCE, "tests", "data"))
from caching_allocator import Allocator  # noqa: E402

BINARY = os.environ.get("GMANALYZE") or sys.exit("GMANALYZE names the binary to test")
CHARTS = {"memory_overview.png", "top_consumers.png", "category_breakdown.png", "size_distribution.png",
          "memory_efficiency.png"}
with open(BINARY, "rb") as program:
    PAGE = {"memory.html"} if b'id="gm-core"' in program.read() else set()  # built without its toolchain it is left out
TEXTS = {"analysis_report.txt", "README.md", "analysis.json"} | PAGE
TRACE_CHARTS = {"memory_timeline.png", "peak_breakdown.png", "fragmentation_map.png", "flamegraph.png", "flamegraph.svg"}
TRACE_FILES = {"timeline.csv"}
EXPORTS = {"folded": "peak.folded", "speedscope": "peak.speedscope.json", "perfetto": "timeline.perfetto.json",
           "pprof": "peak.pb.gz", "modules": "modules.csv"}
MIB = 1 << 20


def unpacked(data):
    """A file's bytes, with the analysis.json that a page carries packed: its dates are not seen otherwise."""
    packed = re.compile(rb'(?<=class="gm-report">)[A-Za-z0-9+/=]+')
    return packed.sub(lambda match: gzip.decompress(base64.b64decode(match[0])), data)


class Clock:
    now = 1700000000000000

    def __call__(self):
        self.now += 7
        return self.now


class Recorded(Allocator):
    """The allocator of a device, recorded from its beginning on."""

    def __init__(self, device=0):
        super().__init__(device, 0x7F0000000000 + device * (1 << 40), Clock())
        self.recording = True

    def snapshot(self):
        return {"segments": self.snapshot_segments(), "device_traces": [self.trace], "external_annotations": []}


def frame(name, filename, line):
    return {"name": name, "filename": filename, "line": line}


def one_block(megabytes):
    """A block of a call site of its own."""
    allocator = Recorded()
    allocator.alloc(megabytes * MIB, [frame("main", "/app/train.py", 3)])
    return allocator.snapshot()


def small_snapshot(devices=1, megabytes=30):
    """Per device: a block of `megabytes` MiB in its own segment, a freed one of 40 MiB, a small one. By hand, with 30:
    reserved 30 + 40 + 2 = 72 MiB = peak reserved; allocated 30 MiB + 1024 bytes; efficiency 41.668 %."""
    segments, traces = [], []
    for device in range(devices):
        allocator = Recorded(device)
        allocator.alloc(megabytes * MIB, [frame("forward", "/app/model/attention.py", 12),
                                          frame("main", "/app/train.py", 3)])
        gone = allocator.alloc(40 * MIB, [frame("forward", "/app/model/mlp.py", 20)])
        allocator.alloc(1000, [frame("step", "/app/torch/optim/adamw.py", 99)])
        allocator.free(gone)
        segments += allocator.snapshot_segments()
        traces.append(allocator.trace)
    return {"segments": segments, "device_traces": traces, "external_annotations": []}


def write(path, snapshot=None, protocol=4):
    with open(path, "wb") as file:
        pickle.dump(small_snapshot() if snapshot is None else snapshot, file, protocol=protocol)
    return path


TRAIN, MODEL = "/app/train.py", "/app/model.py"


class Run:
    """A program whose loop stands in train.py from line 10 on; its weights are 64 MiB."""

    def __init__(self):
        self.allocator = Recorded()
        for _ in range(8):
            self.allocator.alloc(8 * MIB, self.stack(5))

    @staticmethod
    def stack(line, *inner):
        """Innermost first: (function, line) of model.py below a line of train.py."""
        return [*(frame(name, MODEL, n) for name, n in inner), frame("<module>", TRAIN, line)]

    def alloc(self, size, line, *inner):
        return self.allocator.alloc(size * MIB, self.stack(line, *inner))

    def forward(self, line=10):
        """Two layers, each freed when the next is made."""
        before = self.alloc(20, line, ("layer", 3))
        for n in (4, 5):
            after = self.alloc(20, line, ("layer", n))
            self.allocator.free(before)
            before = after
        return before

    def free(self, *blocks):
        for block in blocks:
            self.allocator.free(block)

    def snapshot(self):
        return self.allocator.snapshot()


class Case(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="gmanalyze-test-")
        self.addCleanup(self.scratch.cleanup)
        self.folder = self.scratch.name
        self.snapshot = write(self.at("snapshot.pickle"))

    def at(self, *parts):
        return os.path.join(self.folder, *parts)

    def run_it(self, *arguments, code=0, **options):
        """Runs the program in the scratch folder and expects exit code `code`."""
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("stdin", subprocess.DEVNULL)
        if "input" in options:
            del options["stdin"]
        done = subprocess.run([BINARY, *arguments], cwd=self.folder, timeout=120, **options)
        if code is not None:
            self.assertEqual(done.returncode, code, f"{arguments}: {(done.stderr or b'')[:600]!r}")
        return done

    def runs(self, results="results"):
        """Visible run directories, oldest first."""
        path = self.at(results)
        if not os.path.isdir(path):
            return []
        return sorted(name for name in os.listdir(path) if name[0] != "." and name not in ("latest", "archived"))

    def latest(self, results="results"):
        return os.readlink(self.at(results, "latest"))

    def assert_complete(self, run, results="results", charts=True):
        path = self.at(results, run)
        names = set(os.listdir(path))
        self.assertLessEqual(TEXTS | (CHARTS if charts else set()), names, run)
        self.assertIn(len(names & TRACE_CHARTS), (0, len(TRACE_CHARTS)), run)
        for name in names:
            self.assertGreater(os.path.getsize(os.path.join(path, name)), 0, name)
        with open(os.path.join(path, "analysis.json"), "rb") as file:
            return json.load(file)

    def analysis(self, *arguments, **options):
        return json.loads(self.run_it("--no-charts", "--json", "-", *arguments, **options).stdout)

    def assert_one_error(self, done, *words):
        """Exactly one line on stderr, which begins as it should and has only printable characters."""
        text = done.stderr.decode("utf-8")
        self.assertRegex(text, r"\Agmanalyze: [^\n]+\n\Z")
        self.assertTrue(text[:-1].isprintable(), repr(text))
        for word in words:
            self.assertIn(word, text)


def main():
    unittest.main(verbosity=1)
