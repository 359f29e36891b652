# SPDX-License-Identifier: Apache-2.0
"""The module for Python, with pickle.load as the oracle of what it reads, and the programs as that of what it concludes.
Runs in GM_TORCH_PYTHON if that is the one that has numpy."""
import gc
import io
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import threading
import unittest
import weakref

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
PACKAGE = os.path.join(SOURCE, "analyze", "lib", "python")
sys.path[:0] = [PACKAGE, os.path.join(SOURCE, "tests", "cli"), os.path.join(SOURCE, "tests", "state")]
import gmanalyze as gm  # noqa: E402
from gmanalyze import _library  # noqa: E402
from harness import MIB, Run, frame, small_snapshot, unpacked  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None
    other = os.environ.get("GM_TORCH_PYTHON")
    if other and os.path.realpath(other) != os.path.realpath(sys.executable) and "GM_HAS_MOVED" not in os.environ:
        os.environ["GM_HAS_MOVED"] = "1"
        os.execv(other, [other, "-B", *sys.argv])
DEMO = os.path.join(SOURCE, "tests", "data", "demo.gmtrace")
UNKNOWN, NO_TIME = (1 << 64) - 1, -(1 << 63)


def rich_snapshot():
    """Everything that an event, a block and a segment can say."""
    run = Run()
    kept = [run.forward() for _ in range(3)]
    run.free(*kept[:2])
    snapshot = run.snapshot()
    trace = snapshot["device_traces"][0]
    for i, event in enumerate(trace):
        event.update(compile_context=f"1/{i % 3}", user_metadata="part ä" if i % 2 else "", stream=i % 3)
    trace.append({"action": "oom", "size": 5 * MIB, "device_free": 77, "stream": 0, "time_us": 123, "frames": []})
    trace.append({"action": "something new", "addr": 1, "size": 2, "stream": 0, "frames": []})
    snapshot["device_traces"] = [trace, [], small_snapshot()["device_traces"][0]]
    return snapshot


class Oracle:
    """Compares each table with what pickle.load gives, row by row and field by field."""

    def __init__(self, test, snapshot, raw):
        self.test, self.s = test, snapshot
        raw = {"segments": raw} if isinstance(raw, list) else raw
        self.segments, self.traces = raw["segments"], raw.get("device_traces", [])
        self.words = [gm._snapshot.words(name) for name in ("action", "state", "type")]
        self.strings, self.stacks = snapshot.strings[:], {}

    def frames(self, i):
        if i not in self.stacks:
            self.stacks[i] = [tuple(one) for one in self.s.stack(i)]
        return self.stacks[i]

    def check_frames(self, i, raw, key="frames"):
        frames = raw.get(key)
        wanted = [(f["name"], f["filename"], None if f["line"] == UNKNOWN else f["line"]) for f in frames or ()]
        self.test.assertEqual(self.frames(int(i)), wanted)
        self.test.assertEqual(i == 0, frames is None)

    def number(self, found, wanted):
        self.test.assertEqual(found, UNKNOWN if wanted is None else wanted)

    def check_events(self):
        events = {name: self.s.events[name].tolist() for name in self.s.events.columns}
        streams, pools = self.s.streams.handle.tolist(), self.s.pools
        self.test.assertEqual(len(self.s.traces), len(self.traces))
        for device, trace in enumerate(self.traces):
            first = int(self.s.traces["first"][device])
            self.test.assertEqual(int(self.s.traces["count"][device]), len(trace))
            for row, event in enumerate(trace, first):
                word = self.words[0][events["action"][row]]
                odd = self.strings[events["action_name"][row]]
                self.test.assertEqual(odd if word == "other" else word, event["action"])
                self.number(events["addr"][row], event.get("addr", event.get("device_free")))
                self.number(events["size"][row], event.get("size"))
                self.test.assertEqual(events["time_us"][row], event.get("time_us", NO_TIME))
                stream = events["stream"][row]
                self.test.assertEqual(streams[stream] if stream else None, event.get("stream"))
                for name in ("compile_context", "user_metadata", "category"):
                    self.test.assertEqual(self.strings[events[name][row]], event.get(name) or "")
                pool = event.get("segment_pool_id", event.get("pool_id"))
                if pool is not None:
                    at = events["pool"][row]
                    self.test.assertEqual((int(pools["first"][at]), int(pools["second"][at])), tuple(pool))
                self.check_frames(events["stack"][row], event)

    def check_segments(self):
        table, blocks = self.s.segments, self.s.blocks
        self.test.assertEqual(len(table), len(self.segments))
        at = 0
        for i, segment in enumerate(self.segments):
            for name in ("address", "total_size", "allocated_size", "active_size", "requested_size"):
                self.number(int(table[name][i]), segment.get(name))
            self.test.assertEqual(int(table["device"][i]), segment.get("device", 0))
            self.test.assertEqual(self.words[2][int(table["type"][i])], segment.get("segment_type", ""))
            self.test.assertEqual((int(table["block_first"][i]), int(table["block_count"][i])),
                                  (at, len(segment["blocks"])))
            address = segment["address"]
            for block in segment["blocks"]:
                self.test.assertEqual(int(blocks["address"][at]), block.get("address", address))
                self.test.assertEqual(int(blocks["size"][at]), block["size"])
                wanted = block["state"].replace("awaiting", "pending")
                self.test.assertEqual(self.words[1][int(blocks["state"][at])], wanted)
                if "requested_size" in block:
                    self.test.assertEqual(int(blocks["requested"][at]), block["requested_size"])
                if "frames" in block:
                    self.check_frames(int(blocks["stack"][at]), block)
                self.test.assertEqual(int(blocks["segment"][at]), i)
                address, at = address + block["size"], at + 1
        self.test.assertEqual(at, len(blocks))


class Tables(unittest.TestCase):
    def check(self, raw, snapshot):
        oracle = Oracle(self, snapshot, raw)
        oracle.check_events()
        oracle.check_segments()

    def test_every_field(self):
        for raw in (small_snapshot(2), rich_snapshot()):
            self.check(raw, gm.load(raw))
            for protocol in (2, 4, 5):
                self.check(raw, gm.load(pickle.dumps(raw, protocol=protocol)))

    def test_real_snapshots(self):
        from snapshots import shared_folder, snapshots
        if not (shared_folder() / "snapshots").is_dir():
            self.skipTest("no snapshots beside the checkout")
        checked = 0
        for path, raw in snapshots():
            with self.subTest(path.name):
                self.check(raw, gm.load(path))
                checked += 1
        print(f"{checked} real snapshots", file=sys.stderr)

    def test_a_table_without_times(self):
        raw = small_snapshot()
        for event in raw["device_traces"][0]:
            event.pop("time_us", None)
        events = gm.load(raw).events
        self.assertEqual(set(events["time_us"].tolist()), {NO_TIME})
        self.assertEqual(len(events["stream"]), len(events))

    def test_empty(self):
        snapshot = gm.load({"segments": [], "device_traces": [[]]})
        for name in gm.Snapshot.TABLES:
            table = getattr(snapshot, name)
            self.assertTrue(all(len(table[column]) == len(table) for column in table.columns), name)
        self.assertEqual(snapshot.warnings, [])

    def test_what_is_asked_for_must_be_there(self):
        snapshot = gm.load(DEMO)
        with self.assertRaises(AttributeError):
            snapshot.tables
        with self.assertRaises(AttributeError):
            snapshot.events.no_such_column
        with self.assertRaises(gm.UsageError):
            snapshot.to_pandas("tables")
        with self.assertRaises(IndexError):
            snapshot.stack(10**6)
        with self.assertRaises(IndexError):
            snapshot.strings[10**9]
        self.assertIn("events", repr(snapshot))
        self.assertIn("addr", dir(snapshot.events))

    @unittest.skipUnless(numpy, "numpy is not here")
    def test_views_are_no_copies(self):
        events = gm.load(DEMO).events
        self.assertEqual(events.size.dtype, numpy.uint64)
        self.assertFalse(events.size.flags.owndata)
        self.assertFalse(events.size.flags.writeable)
        self.assertIs(events.size, events["size"])
        with self.assertRaises(ValueError):
            events.size[0] = 1
        arrays = (_library.Array * 32)()
        count = _library.lib.gm_arrays(events._handle.pointer, b"events", arrays, 32)
        found = {a.name.decode(): a.data for a in arrays[:count]}
        for name in events.columns:
            self.assertEqual(events[name].__array_interface__["data"][0], found[name])

    def test_without_numpy(self):
        code = ("import sys; sys.modules['numpy'] = None; sys.path.insert(0, sys.argv[1]); import gmanalyze as gm; "
                "e = gm.load(sys.argv[2]).events; print(sum(e['size']), len(e.stream), sum(e.pool), e.size.readonly)")
        done = subprocess.run([sys.executable, "-c", code, PACKAGE, DEMO], capture_output=True, text=True, check=True)
        events = gm.load(DEMO).events
        total, rows, pools, is_readonly = done.stdout.split()
        self.assertEqual((int(total), int(rows)), (sum(events.size.tolist()), len(events)))
        self.assertEqual(is_readonly, "True")


class Lives(unittest.TestCase):
    def test_an_array_keeps_its_memory(self):
        snapshot = gm.load(rich_snapshot())
        handle = weakref.ref(snapshot._handle)
        sizes, wanted = snapshot.events["size"], snapshot.events["size"].tolist()
        part = sizes[2:5]
        del snapshot, sizes
        gc.collect()
        self.assertIsNotNone(handle())
        self.assertEqual(part.tolist(), wanted[2:5])
        del part
        self.assertIsNone(handle())  # at once: there is no circle

    def test_handles_are_freed(self):
        freed = []
        handles = [_library.Handle(i + 1, freed.append, None) for i in range(3)]
        del handles
        self.assertEqual(sorted(freed), [1, 2, 3])
        report = gm.analyze(DEMO)
        handle = weakref.ref(report._handle)
        charts = report.charts
        del report
        self.assertIsNotNone(handle())
        del charts
        self.assertIsNone(handle())

    def test_a_result_outlives_its_snapshot(self):
        snapshot = gm.load(DEMO)
        report = gm.analyze(snapshot)
        del snapshot
        self.assertEqual(report.file("analysis.json"), report.json_bytes)

    def test_threads(self):
        failures = []

        def work():
            try:
                for _ in range(3):
                    snapshot = gm.load(DEMO)
                    assert gm.analyze(snapshot).totals.segments == len(snapshot.segments)
                    assert shared.file("README.md")
            except BaseException as error:
                failures.append(error)

        shared = gm.analyze(DEMO)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


class Hostile(unittest.TestCase):
    def test_damaged_bytes_are_exceptions(self):
        good = pickle.dumps(rich_snapshot(), protocol=4)
        for cut in range(0, len(good) - 1, 997):
            with self.assertRaises(gm.InputError):
                gm.load(good[:cut])
        import random
        rng = random.Random(7)
        for _ in range(200):
            bad = bytearray(good)
            for _ in range(rng.randint(1, 8)):
                bad[rng.randrange(len(bad))] = rng.randrange(256)
            try:
                snapshot = gm.load(bad)
                gm.analyze(snapshot, top=3)
            except gm.InputError:
                continue

    def test_nothing_is_executed(self):
        class Evil:
            def __reduce__(self):
                return (os.system, ("touch executed",))

        with self.assertRaises(gm.InputError) as caught:
            gm.load(pickle.dumps({"segments": [Evil()], "device_traces": []}))
        self.assertEqual(caught.exception.kind, "refused")
        self.assertIsInstance(caught.exception.offset, int)
        self.assertFalse(os.path.exists("executed"))

    def test_classes_of_errors(self):
        with self.assertRaises(gm.InputError) as caught:
            gm.load("/no/such/file.pickle")
        self.assertEqual((caught.exception.exit_code, caught.exception.kind), (3, "read"))
        self.assertIn("/no/such/file.pickle", str(caught.exception))
        with self.assertRaises(gm.InputError) as caught:
            gm.load(DEMO + "\x01")
        with self.assertRaises(gm.UsageError):
            gm.load("a\0b")
        with self.assertRaises(gm.InputError) as caught:
            gm.load(pickle.dumps(rich_snapshot()), max_memory=1000)
        self.assertEqual(caught.exception.kind, "limit")
        for wrong in (dict(topp=3), dict(top=0), dict(json="x"), dict(gpu="no such card"), dict(stream="a\0b")):
            with self.assertRaises(gm.UsageError):
                gm.analyze(DEMO, **wrong)
        with self.assertRaises(TypeError):
            gm.load(7)
        with self.assertRaises(gm.UsageError):
            gm.analyze(DEMO).file("no such file")

    def test_salvage(self):
        good = pickle.dumps(rich_snapshot(), protocol=4)
        part = gm.load(good[:len(good) // 2], salvage=True)
        self.assertLess(0, len(part.events))
        self.assertIsNotNone(gm.analyze(part).snapshot.salvaged)


class Same(unittest.TestCase):
    """Byte by byte what the programs write, but for the time of the run."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gmanalyze-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.paths = [os.path.join(self.folder, name) for name in ("step_1.pickle", "step_2.pickle")]
        for path, snapshot in zip(self.paths, (small_snapshot(), rich_snapshot())):
            with open(path, "wb") as file:
                pickle.dump(snapshot, file, protocol=4)

    def assert_free(self, result):
        """No key is hidden behind what the class has."""
        self.assertEqual(set(result) & {name for one in type(result).__mro__ for name in vars(one)}, set())

    def run_it(self, program, *arguments):
        done = subprocess.run([os.environ[program], *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        self.assertLessEqual(done.returncode, 1, done.stderr)
        return done

    def masked(self, data):
        data = re.sub(rb'"events_per_second": \d+', b"SPEED", unpacked(data))
        return re.sub(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d", b"TIME", data)

    def compare(self, result, folder):
        here = os.path.join(self.folder, folder, os.readlink(os.path.join(self.folder, folder, "latest")))
        self.assertEqual(sorted(os.listdir(here)), sorted(result.files()))
        for name in result.files():
            with open(os.path.join(here, name), "rb") as file:
                self.assertEqual(self.masked(file.read()), self.masked(result.file(name)), name)

    def test_analyze(self):
        self.assert_free(gm.analyze(DEMO))
        for path in (*self.paths, DEMO):
            for options in ({}, {"top": 3, "fail_above": "1MiB", "name": "run"}, {"from_": "event:3", "export": "folded"}):
                words = [f"--{name.rstrip('_').replace('_', '-')}={value}" for name, value in options.items()]
                done = self.run_it("GMANALYZE", "-q", "-o", "r", "--json", "-", *words, path)
                report = gm.analyze(path, **options)
                self.assertEqual(self.masked(done.stdout), self.masked(report.json_bytes))
                self.assertEqual(done.returncode, report.exit_code)
                self.compare(report, "r")

    def test_replay(self):
        for options in ({"memory": "13GiB"}, {"memory": 64 * MIB}, {"gpu": "rtx-4090", "limit": "10GiB"}, {"verify": True},
                        {"alloc_conf": "expandable_segments:True", "scale": ["Activation=0.5", "role:Parameter=2"]}):
            words = []
            for name, value in options.items():
                flag = "--" + name.replace("_", "-")
                words += [flag] if value is True else [f"{flag}={v}" for v in (value if isinstance(value, list) else [value])]
            done = self.run_it("GMREPLAY", "--json", "-", *words, DEMO)
            replayed = gm.replay(DEMO, **options)
            self.assertEqual(self.masked(done.stdout), self.masked(replayed.json_bytes))
            self.assertEqual(done.returncode, replayed.exit_code)
            self.assertEqual(replayed.fits, done.returncode == 0)
            self.assert_free(replayed)

    def test_diff(self):
        done = self.run_it("GMDIFF", "-q", "-o", "d", "--json", "-", "--fail-growth", "1%", *self.paths)
        compared = gm.diff(*self.paths, fail_growth="1%")
        self.assertEqual(self.masked(done.stdout), self.masked(compared.json_bytes))
        self.assertEqual((done.returncode, compared.passes), (1, False))
        self.assert_free(compared)
        self.compare(compared, "d")

    def test_a_dictionary_is_as_its_file(self):
        report = gm.analyze(rich_snapshot()).to_dict()
        other = gm.analyze(self.paths[1]).to_dict()
        for one in (report, other):
            del one["snapshot"], one["name"], one["created"]
        self.assertEqual(report, other)

    def test_the_program_runs(self):
        done = subprocess.run([sys.executable, "-m", "gmanalyze", "--version"], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": PACKAGE})
        self.assertEqual((done.returncode, done.stdout), (0, f"gmanalyze {gm.version}\n"))


class Reports(unittest.TestCase):
    def test_attributes_are_keys(self):
        report = gm.analyze(DEMO)
        plain = json.loads(report.json_bytes)

        def walk(node, value):
            self.assertEqual(set(node), set(value))
            for key, inside in value.items():
                if isinstance(inside, dict):
                    walk(node[key], inside)
                elif isinstance(inside, list) and inside and isinstance(inside[0], dict):
                    walk(getattr(node, key)[0], inside[0])
                else:
                    self.assertEqual(getattr(node, key), inside)

        walk(report, plain)
        self.assertEqual(report.peak_bytes("requested"), plain["devices"][0]["trace"]["peak_requested_bytes"]
                         if "trace" in plain["devices"][0] else report.peak_bytes("requested"))
        self.assertIn("GiB", repr(report.totals))
        self.assertIn("totals", dir(report))
        with self.assertRaises(AttributeError) as caught:
            report.total
        self.assertIn("totals", str(caught.exception))

    def test_notebooks(self):
        report = gm.analyze(DEMO)
        self.assertIn("data:image/png;base64,", report._repr_html_())
        chart = report.charts.memory_timeline
        self.assertEqual(chart._repr_png_()[:4], b"\x89PNG")
        self.assertEqual(list(report.charts)[0], "memory_overview")
        if "memory.html" in report.files():
            self.assertIn("<iframe", report.page()._repr_html_())
            self.assertEqual(report.page().html.encode(), report.file("memory.html"))
        else:
            with self.assertRaises(gm.MissingError):
                report.page()
        for bare in gm.analyze(DEMO, no_page=True), gm.diff(DEMO, DEMO, no_page=True):
            self.assertNotIn("memory.html", bare.files())
            with self.assertRaises(gm.UsageError):
                bare.file("memory.html")


@unittest.skipUnless(numpy, "numpy is not here")
class Frames(unittest.TestCase):
    def check(self, frame, raw, column):
        events = raw["device_traces"][0]
        self.assertEqual(column(frame, "action")[:5], [event["action"] for event in events[:5]])
        self.assertEqual(column(frame, "user_metadata")[1], "part ä")
        self.assertEqual(column(frame, "action_name")[len(events) - 1], "something new")
        self.assertEqual(column(frame, "stream")[:3], [0, 1, 2])
        self.assertEqual(sorted(set(column(frame, "device"))), [0, 2])

    def test_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not here")
        raw = rich_snapshot()
        snapshot = gm.load(raw)
        frame = snapshot.to_pandas()
        self.check(frame, raw, lambda f, name: f[name].tolist())
        self.assertTrue(pandas.isna(frame["time"].iloc[len(raw["device_traces"][0]) - 1]))
        self.assertEqual(frame["time"].iloc[0].value // 1000, raw["device_traces"][0][0]["time_us"])
        for name in gm.Snapshot.TABLES:
            self.assertEqual(len(snapshot.to_pandas(name)), len(getattr(snapshot, name)))

    def test_polars(self):
        try:
            import polars  # noqa: F401
        except ImportError:
            self.skipTest("polars is not here")
        raw = rich_snapshot()
        snapshot = gm.load(raw)
        frame = snapshot.to_polars()
        self.check(frame, raw, lambda f, name: f[name].to_list())
        self.assertIsNone(frame["time"][len(raw["device_traces"][0]) - 1])
        for name in gm.Snapshot.TABLES:
            self.assertEqual(len(snapshot.to_polars(name)), len(getattr(snapshot, name)))


class Peaks(unittest.TestCase):
    def test_sizes(self):
        for text, wanted in ((12, 12), ("12", 12), ("1.5GiB", 3 << 29), ("40 g", 40 << 30), ("7B", 7), ("2KB", 2048)):
            self.assertEqual(gm._peak.parse_size(text), wanted)
        for text in ("", "GiB", "-1", "1 PiB", "x"):
            with self.assertRaises(gm.UsageError):
                gm._peak.parse_size(text)

    def test_a_peak_is_checked(self):
        report = gm.analyze(small_snapshot())
        gm._peak._check(report, 72 * MIB, "reserved", -1, None)
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(AssertionError) as caught:
            gm._peak._check(report, 72 * MIB - 1, "reserved", 0, os.path.join(folder, "kept"))
        self.assertEqual((caught.exception.peak_bytes, caught.exception.limit_bytes), (72 * MIB, 72 * MIB - 1))
        self.assertIn("72.00 MiB", str(caught.exception))

    def test_commands(self):
        said = []

        def run(words, **unused):
            said.append(words)
            answer = {"verdict": "FAIL", "devices": [{"device": 0, "peak_reserved_bytes": 5 * MIB}]}
            return subprocess.CompletedProcess(words, code, json.dumps(answer).encode(), b"gmdry: said")

        code = 0
        self.assertEqual(gm.assert_command_below("1GiB", ["python", "x.py"], gpu="rtx-4090", run=run).verdict, "FAIL")
        self.assertEqual(said[0][-3:], ["--", "python", "x.py"])
        code = 1
        with self.assertRaises(gm.CheckFailed) as caught:
            gm.assert_command_below(MIB, ["true"], steps=2, run=run)
        self.assertEqual(caught.exception.peak_bytes, 5 * MIB)
        code = 3
        with self.assertRaises(gm.InputError):
            gm.assert_command_below(MIB, ["true"], run=run)

    def test_without_cuda(self):
        with self.assertRaises(gm.MissingError), _quiet():
            with gm.assert_peak_below("1GiB"):
                pass
        with self.assertRaises(ZeroDivisionError), _quiet():
            with gm.assert_peak_below("1GiB"):
                1 / 0
        with self.assertRaises(gm.UsageError):
            with gm.assert_peak_below("1GiB", measure="all"):
                pass

    PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import gmanalyze as gm, torch

@gm.assert_peak_below("40MiB")
def small():
    return torch.empty(32 << 20, dtype=torch.uint8, device="cuda")

before = torch.empty(8 << 20, dtype=torch.uint8, device="cuda")
small()
for measure in ("allocated", "reserved"):
    try:
        with gm.assert_peak_below("40MiB", measure=measure):
            torch.empty(34 << 20, dtype=torch.uint8, device="cuda")
        print("no failure")
    except AssertionError as error:
        print(error.peak_bytes >> 20, str(error).splitlines()[0])
report = gm.analyze(torch.cuda.memory._snapshot())
print(report.totals.allocated_bytes >> 20)
"""

    @unittest.skipUnless(os.environ.get("GM_TORCH_PYTHON"), "GM_TORCH_PYTHON is not set")
    def test_with_torch(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([os.environ["GMDRY"], "-q", "-o", folder, "--no-charts", "--",
                                   os.environ["GM_TORCH_PYTHON"], "-c", self.PROGRAM, PACKAGE], capture_output=True,
                                  text=True, timeout=300)
        lines = done.stdout.splitlines()
        self.assertIn("42 peak allocated is 42.00 MiB", "\n".join(lines), done.stdout + done.stderr)
        self.assertNotIn("no failure", lines)
        self.assertEqual([line for line in lines if line.isdigit()], ["8"])


class Documents(unittest.TestCase):
    def test_the_example(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("numpy or pandas is not here")
        import doctest
        before = os.getcwd()
        os.chdir(os.path.dirname(DEMO))
        try:
            failed, tried = doctest.testfile(os.path.join(SOURCE, "docs", "python.md"), module_relative=False,
                                             optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        finally:
            os.chdir(before)
        self.assertEqual((failed, tried > 10), (0, True))


class _quiet:
    """What the recorder says on stderr."""

    def __enter__(self):
        self.before, sys.stderr = sys.stderr, io.StringIO()

    def __exit__(self, *unused):
        sys.stderr = self.before


assert frame  # the harness's
unittest.main()
