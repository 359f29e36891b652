# SPDX-License-Identifier: Apache-2.0
"""libgmrecord.so in a program over a CUPTI that is not one (program.c, fake_cupti.c): the trace that it leaves,
counted by hand, as gmanalyze and gmreplay see it; and that the program ends as it would have without.
usage: test_inject.py PROGRAM LIBGMRECORD FAKE_CUPTI GMANALYZE GMREPLAY DUMP_MODEL"""
import collections
import ctypes.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM, LIBRARY, CUPTI, GMANALYZE, GMREPLAY, DUMP = (os.path.abspath(path) for path in sys.argv[1:7])
HAS_CXX = ctypes.util.find_library("stdc++") is not None
MiB, BASE = 1 << 20, 0x7F0000000000


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gmrecord-")
        self.addCleanup(self.folder.cleanup)
        self.trace = os.path.join(self.folder.name, "out.gmtrace")

    def play(self, *words, code=3, **environment):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("GM_RECORD", "FAKE_", "NVTX_", "CUDA_")) and name != "RANK"}
        kept.update({"CUDA_INJECTION64_PATH": LIBRARY, "GM_RECORD_CUPTI": CUPTI, "GM_RECORD_OUT": self.trace})
        kept.update({name: str(value) for name, value in environment.items()})
        done = subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder.name, env=kept, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def rows(self):
        """{kind: rows} of the trace, stacks in place of their numbers."""
        done = subprocess.run([DUMP, self.trace], capture_output=True, text=True, check=True)
        rows, stacks, device = collections.defaultdict(list), {None: None}, None
        for line in done.stdout.splitlines():
            kind, *values = json.loads(line)
            if kind == "stack":
                stacks[values[0]] = [frame[:2] for frame in values[1]]
            elif kind == "trace":
                device = values[0]
                rows["trace"].append(values)
            elif kind == "event":
                rows[device].append((values[0], values[1], values[2], stacks[values[6]], values[4], values[5]))
            else:
                rows[kind].append(values)
        return rows

    def analysis(self):
        results = os.path.join(self.folder.name, "results")
        done = subprocess.run([GMANALYZE, "-q", "--no-charts", "-o", results, "--json", "-", self.trace],
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def report(self):
        self.analysis()
        with open(os.path.join(self.folder.name, "results/latest/analysis_report.txt"), encoding="utf-8") as file:
            return file.read()


class Traces(Case):
    def test_plain_events(self):
        done = self.play("plain")
        self.assertEqual(done.stderr, f"gmrecord: 17 events, 8 marks: {self.trace}\n")
        rows = self.rows()
        forward, attention = ["forward", "NVTX"], ["attention", "NVTX"]
        cuda = {name: [name, "CUDA"] for name in ("cudaMalloc", "cudaMallocAsync", "cudaFree", "cudaFreeAsync")}
        big, pool, there, again = BASE, BASE + 200 * MiB, BASE + 400 * MiB, BASE

        def life(address, size, stack, stream=0, where=None):
            where = where or [0, 0]
            return [("segment_alloc", address, -(-size // 512) * 512, stack, stream, where),
                    ("alloc", address, size, stack, stream, where)]

        def death(address, size, stack, stream=0, where=None):
            where = where or [0, 0]
            return [("free_requested", address, size, stack, stream, where),
                    ("free_completed", address, size, stack, stream, where),
                    ("segment_free", address, -(-size // 512) * 512, stack, stream, where)]

        self.assertEqual(rows[0], life(big, 100 * MiB, [cuda["cudaMalloc"], forward]) +
                         life(pool, 1000, [cuda["cudaMallocAsync"], attention, forward], 16, [0, 1]) +
                         life(there, 50 * MiB, [cuda["cudaMalloc"], attention, forward]) +
                         death(big, 100 * MiB, [cuda["cudaFree"]]) +
                         [("oom", None, 1 << 40, [cuda["cudaMalloc"]], 0, [0, 0])] +
                         life(again, 70 * MiB, [cuda["cudaMalloc"]]) +
                         death(pool, 1000, [cuda["cudaFreeAsync"]], 16, [0, 1]))
        self.assertEqual(rows[1], life(BASE + 4096 * MiB, 10 * MiB, [cuda["cudaMalloc"], forward]))
        self.assertEqual(rows["trace"], [[0, 15, 1000000, False], [1, 2, 1000000, False]])

    def test_plain_marks(self):
        self.play("plain")
        marks = self.rows()["annotation"]
        self.assertEqual([mark[:3] for mark in marks],
                         [["forward", "START", 0], ["attention", "START", 0], ["softmax_kernel", "START", 0],
                          ["softmax_kernel", "END", 0], ["memcpy host to device", "START", 0],
                          ["memcpy host to device", "END", 0], ["attention", "END", 0], ["forward", "END", 0]])
        times = [mark[3] for mark in marks]
        self.assertEqual(times, sorted(times))
        self.assertLessEqual(abs(times[3] - times[2] - 5), 1)  # 5,000 ns
        self.assertLessEqual(abs(times[4] - times[3] - 1), 1)
        self.assertLessEqual(abs(times[5] - times[4] - 3), 1)
        self.assertLess(times[2] - times[1], 5_000_000)  # CUPTI's clock is another; this is the machine's
        self.assertLess(abs(times[0] / 1e6 - os.stat(self.trace).st_mtime), 60)

    def test_plain_analysis(self):
        self.play("plain")
        found = self.analysis()
        self.assertEqual(found["totals"]["reserved_bytes"], 130 * MiB)
        self.assertEqual(found["totals"]["allocated_bytes"], 130 * MiB)
        self.assertEqual(found["snapshot"]["events"], 17)
        first, second = found["timeline"]["devices"]
        self.assertEqual({key: first[key] for key in ("allocs", "frees", "ooms", "segment_allocs", "segment_frees")},
                         {"allocs": 4, "frees": 2, "ooms": 1, "segment_allocs": 4, "segment_frees": 2})
        self.assertEqual(first["peak_requested_bytes"], 150 * MiB + 1000)
        self.assertEqual(first["peak_reserved_bytes"], 150 * MiB + 1024)
        self.assertEqual(first["peak_allocated_bytes"], 150 * MiB + 1024)
        self.assertEqual(first["peak_event"], 5)
        self.assertEqual(second["peak_reserved_bytes"], 10 * MiB)
        self.assertEqual([(b["bytes"], b["device"], [f["name"] for f in b["frames"]]) for b in found["top_blocks"]],
                         [(70 * MiB, 0, ["cudaMalloc"]), (50 * MiB, 0, ["cudaMalloc", "attention", "forward"]),
                          (10 * MiB, 1, ["cudaMalloc", "forward"])])

    def test_books_balance(self):
        for scene in ("plain", "virtual", "odd", "ranges"):
            with self.subTest(scene):
                self.play(scene)
                report = self.report()
                devices = len([d for d in self.analysis()["timeline"]["devices"] if d["events"] > 0])
                self.assertEqual(report.count("Events and segments do not contradict each other."), devices)
                residuals = re.findall(r"Residual, end - snapshot: (.*) active, (.*) reserved; (.*) at the worst", report)
                self.assertEqual(residuals, [("0 B", "0 B", "0 B")] * devices)

    def test_replay(self):
        self.play("plain")
        done = subprocess.run([GMREPLAY, "-q", "--json", "-", self.trace], capture_output=True, text=True, check=True)
        first, second = json.loads(done.stdout)["devices"]
        # What PyTorch's allocator would make of it: 100 and 50 MiB in segments of their own, 2 MiB for small ones; the
        # 70 MiB fit into what is left of the 100.
        self.assertEqual(first["peak_reserved_bytes"], 152 * MiB)
        self.assertEqual(first["peak_allocated_bytes"], 150 * MiB + 1024)
        self.assertEqual(first["peak_requested_bytes"], 150 * MiB + 1000)
        self.assertEqual(second["peak_reserved_bytes"], 10 * MiB)

    def test_virtual(self):
        self.play("virtual")
        found = self.analysis()
        device = found["timeline"]["devices"][-1]
        self.assertEqual((device["device"], device["segment_maps"], device["segment_unmaps"], device["ooms"]), (1, 5, 2, 1))
        self.assertEqual(device["peak_reserved_bytes"], 80 * MiB)
        at = BASE + 8192 * MiB
        rows = self.rows()
        self.assertEqual([(row[0], row[1], row[2]) for row in rows["segment"]], [(1, at + 20 * MiB, 60 * MiB)])
        self.assertIs(rows["segment"][0][-1], True)
        self.assertEqual([row[0] - at for row in rows["block"]], [20 * MiB, 40 * MiB, 60 * MiB])
        self.assertEqual(rows[1][-1][0], "oom")

    def test_odd(self):
        done = self.play("odd")
        rows = self.rows()
        self.assertEqual((len(rows[0]), len(rows[1]), len(rows["annotation"])), (12, 7, 66))
        self.assertEqual([(row[0], row[1] - BASE, row[2]) for row in rows["segment"]],
                         [(0, 0, 2 * MiB), (1, 16 * MiB, 3 * MiB)])
        self.assertEqual(rows[1][-1][3], [["cudaMalloc", "CUDA"], ["(no text)", "NVTX"]])
        for said in ("frees of memory whose allocation was not seen: 1", "given out again: 1", "recorded as done: 1"):
            self.assertIn(said, done.stderr)
            self.assertIn(said, re.sub(r"\s+", " ", self.report()))

    def test_ranges(self):
        self.play("ranges")
        rows = self.rows()
        self.assertEqual([mark[:2] for mark in rows["annotation"]], [["registered", "START"], ["text", "START"],
                                                                    ["registered", "END"], ["text", "END"]])
        self.assertEqual(rows[0][0][3], [["cudaMalloc", "CUDA"], ["registered", "NVTX"]])

    def test_threads(self):
        self.play("threads", 2000)
        rows = self.rows()
        self.assertEqual(len(rows[0]), 4 * (2000 * 5 + 2))
        self.assertEqual(len(rows["annotation"]), 4 * (2000 * 2 + 2))
        found = self.analysis()
        self.assertEqual(found["totals"]["reserved_bytes"], 4 * MiB)
        self.assertLessEqual(found["timeline"]["devices"][0]["peak_reserved_bytes"], 4 * MiB)

    def test_bound(self):
        done = self.play("threads", 2000, GM_RECORD_MAX_EVENTS=1000)
        rows = self.rows()
        self.assertEqual(rows["trace"], [[0, 1000, 1000, True]])
        self.assertEqual(len(rows["annotation"]), 1000)
        self.assertEqual(len(rows["segment"]), 4)
        self.assertIn(f"the oldest ones: {4 * 4002 - 1000}", done.stderr)
        self.assertEqual(self.analysis()["totals"]["reserved_bytes"], 4 * MiB)

    def test_backtrace(self):
        self.play("plain", GM_RECORD_BACKTRACE=8)
        stack = self.rows()[0][0][3]
        self.assertEqual((stack[0], stack[-1]), (["cudaMalloc", "CUDA"], ["forward", "NVTX"]))
        self.assertGreater(len(stack), 4)
        files = [os.path.basename(file) for _, file in stack[1:-1]]
        self.assertEqual(files[0], os.path.basename(CUPTI))
        self.assertIn(os.path.basename(PROGRAM), files)


class Capabilities(Case):
    def test_names_of_kernels(self):
        self.play("names")
        found = [mark[0] for mark in self.rows()["annotation"]][::2]
        self.assertEqual((found[1], found[3]), ("_Zwhat", "_Z" + "x" * 506 + "..."))
        self.assertEqual([len(found[2].encode()), found[2][-3:]], [511, "..."])
        gemm = "void at::native::gemm<128, float>(float*, int)" if HAS_CXX else "_ZN2at6native4gemmILi128EfEEvPT0_i"
        self.assertEqual([found[0], found[4]], [gemm, gemm])
        self.assertTrue(found[2].startswith("void deep<int, float, int" if HAS_CXX else "_Z4deepIifif"), found[2])

    def test_other_version(self):
        done = self.play("launches", FAKE_CUPTI="old")
        name = "my_kernel(float*)" if HAS_CXX else "_Z9my_kernelPf"
        self.assertEqual([mark[:3] for mark in self.rows()["annotation"]], [[name, "START", 0], [name, "END", 0]])
        self.assertIn("when they were launched", done.stderr)

    def test_without_kernels(self):
        self.play("plain", GM_RECORD_KERNELS=0)
        self.assertEqual([mark[0] for mark in self.rows()["annotation"]], ["forward", "attention", "attention", "forward"])

    def test_dropped_records(self):
        self.assertIn("CUPTI dropped 17 records", self.play("plain", FAKE_CUPTI="drops").stderr)

    def nothing(self, done, said):
        self.assertIn("gmrecord: nothing is recorded: ", done.stderr)
        self.assertIn(said, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_without_cupti(self):
        self.nothing(self.play("plain", GM_RECORD_CUPTI="/nowhere/libcupti.so"), "CUPTI was not found (/nowhere/libcupti.so")
        self.nothing(self.play("plain", GM_RECORD_CUPTI=LIBRARY), "has no cuptiGetVersion")

    def test_somebody_else_listens(self):
        self.nothing(self.play("plain", FAKE_CUPTI="busy"), "another tool, a profiler for instance, is listening already")

    def test_without_memory_calls(self):
        done = self.play("nothing")
        self.assertEqual(done.stderr, "gmrecord: the program did not use CUDA memory: nothing was written\n")

    def test_wrong_settings(self):
        done = self.play("plain", GM_RECORD_MAX_EVENTS="many", GM_RECORD_BACKTRACE="-1")
        self.assertIn("GM_RECORD_MAX_EVENTS must be a number from 1 to", done.stderr)
        self.assertIn("GM_RECORD_BACKTRACE must be a number from 0 to 64; 0 is taken", done.stderr)
        self.assertEqual(len(self.rows()[0]), 15)


class Ends(Case):
    def test_names(self):
        for pattern, pid, expected in (("", r"gmrecord_(\d+)\.gmtrace", None), ("a%r_%%.gmtrace", r"(a3_%)\.gmtrace", None)):
            with self.subTest(pattern):
                done = self.play("plain", GM_RECORD_OUT=pattern, RANK=3)
                self.assertRegex(done.stderr, pid)
                name = re.search(pid, done.stderr).group()
                self.assertTrue(os.path.exists(os.path.join(self.folder.name, name)))

    def test_unwritable(self):
        done = self.play("plain", GM_RECORD_OUT="/nowhere/x.gmtrace")
        self.assertIn("gmrecord: nothing was written: /nowhere/x.gmtrace: cannot open for writing: No such", done.stderr)

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                self.play("killed", int(number), code=-number)
                self.assertEqual(len(self.rows()[0]), 15)
                os.unlink(self.trace)

    def test_crashes_leave_nothing_half(self):
        self.play("killed", int(signal.SIGKILL), code=-signal.SIGKILL)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_forked_child(self):
        done = self.play("forked")
        self.assertEqual(done.stdout, "5\n")
        self.assertEqual(len(self.rows()[0]), 15)
        self.assertEqual(done.stderr.count("gmrecord: "), 1)

    def test_not_injected(self):
        self.assertEqual(self.play("plain", CUDA_INJECTION64_PATH="").stderr, "")


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
