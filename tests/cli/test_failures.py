#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What gmanalyze leaves behind when something goes wrong: inputs, outputs, signals, names."""
import gzip
import json
import os
import pickle
import pty
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import unicodedata

from harness import BINARY, MIB, SOURCE, Case, Recorded, frame, main, unpacked, write


class Executes:
    def __reduce__(self):
        return (print, ("executed",))


class Inputs(Case):
    def test_missing(self):
        self.assert_one_error(self.run_it("missing.pickle", code=3), "missing.pickle")
        self.assertFalse(os.path.exists(self.at("results")))

    def test_no_snapshot(self):
        os.mkdir(self.at("folder.pickle"))
        for name, data in (("empty.pickle", b""), ("text.pickle", b"hello"), ("zeros.pickle", bytes(5000)),
                           ("number.pickle", pickle.dumps(5)), ("other.pickle", pickle.dumps({"a": [1, 2]})),
                           ("gzip.pickle", b"\x1f\x8b\x08\x00garbage"), ("folder.pickle", None)):
            if data is not None:
                with open(self.at(name), "wb") as file:
                    file.write(data)
            self.assert_one_error(self.run_it(name, code=3), name)
        self.assertFalse(os.path.exists(self.at("results")))

    def test_damaged(self):
        with open(self.snapshot, "rb") as file:
            data = file.read()
        with open(self.at("cut.pickle"), "wb") as file:
            file.write(data[:len(data) * 2 // 3])
        self.assertRegex(self.run_it("cut.pickle", code=3).stderr.decode(), r"\Agmanalyze: cut\.pickle: .+ \(at byte \d+\); --salvage reads what is whole of it\n\Z")
        self.assertEqual(self.runs(), [])
        done = self.run_it("--salvage", "cut.pickle")
        self.assertIn(b"warning", done.stderr)
        self.assert_complete(self.latest())
        self.assertEqual(self.run_it("-q", "--salvage", "cut.pickle").stderr, b"")
        with open(self.at("stub.pickle"), "wb") as file:
            file.write(data[:40])
        self.assertIn(b"so --salvage does not help", self.run_it("stub.pickle", code=3).stderr)
        self.assertNotIn(b"--salvage", self.run_it("--salvage", "stub.pickle", code=3).stderr)

    def test_nothing_is_executed(self):
        write(self.at("evil.pickle"), {"segments": [], "device_traces": [Executes()]})
        done = self.run_it("evil.pickle", code=3)
        self.assertEqual(done.stdout, b"")
        self.assert_one_error(done, "evil.pickle", "GLOBAL", "at byte")

    def test_one_bad_among_several(self):
        with open(self.at("bad.pickle"), "wb") as file:
            file.write(b"\x80\x04}")
        done = self.run_it("snapshot.pickle", "bad.pickle", code=3)
        self.assert_one_error(done, "bad.pickle")
        self.assertTrue(self.latest().endswith("_snapshot"))
        self.assert_complete(self.latest())
        done = self.run_it("bad.pickle", "snapshot.pickle", "again", code=3)
        self.assertTrue(self.latest().endswith("_again_snapshot"))

    def test_more_memory_than_its_size(self):
        """A few events in next to no bytes are fine. More of them are refused, by all programs, and the others go on. What
        the first one says, and no other, takes a column each."""
        first = b'{"action":"alloc","stream":1,"pool_id":[0,1],"compile_context":"a","user_metadata":"b"}'

        def events(name, count):
            with gzip.open(self.at(name), "wb", 1) as file:
                file.write(b'{"segments":[],"device_traces":[[' + first + b',{"action":"alloc"}' * count + b"]]}")
        events("many.json.gz", 8000000)
        events("some.json.gz", 20000)
        done = self.run_it("many.json.gz", "snapshot.pickle", code=3)
        self.assert_one_error(done, "many.json.gz", "it needs more than", "of memory, far more than a snapshot of its size; "
                              "--max-memory allows more")
        self.assertTrue(self.latest().endswith("_snapshot"))
        self.run_it("--no-charts", "some.json.gz")
        self.assert_one_error(self.run_it("--max-memory", "1M", "some.json.gz", code=3), "1.00 MiB", "which is the limit")
        self.run_it("--no-charts", "--max-memory", "10M", "some.json.gz")
        self.assert_one_error(self.run_it("--max-memory", "1M", "-", code=3, stdin=open(self.at("some.json.gz"), "rb")),
                              "1.00 MiB")
        bin_folder = os.path.dirname(BINARY)
        for program, operands in (("gmreplay", ["some.json.gz"]), ("gmdiff", ["snapshot.pickle", "some.json.gz"]),
                                  ("gmfleet", ["--no-charts", "snapshot.pickle", "some.json.gz"])):
            done = subprocess.run([os.path.join(bin_folder, program), "-q", "--max-memory", "1M", *operands], cwd=self.folder,
                                  capture_output=True)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(b"some.json.gz: it needs more than", done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        with open(self.at("results", self.latest(), "fleet.json"), encoding="utf-8") as file:
            errors = [row["error"] for row in json.load(file)["snapshots"]]
        self.assertEqual([error is None for error in errors].count(True), 1, errors)

    def test_unreadable_stdin(self):
        self.run_it("-", code=3)
        self.run_it("-", code=3, stdin=None, preexec_fn=lambda: os.close(0))


    def test_stdin_that_does_not_wait(self):
        """Who shares the pipe with us has set O_NONBLOCK, and the data come late."""
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        run = subprocess.Popen([BINARY, "-q", "--no-charts", "-"], cwd=self.folder, stdin=reader, stderr=subprocess.PIPE)
        os.close(reader)
        time.sleep(0.2)
        with open(self.snapshot, "rb") as file, os.fdopen(writer, "wb") as pipe:
            pipe.write(file.read())
        self.assertEqual(run.communicate(timeout=120)[1], b"")
        self.assertEqual(run.returncode, 0)
        self.assert_complete(self.latest(), charts=False)


class Names(Case):
    NASTY = [b"new\nline.pickle", b"esc\x1b[2J\x1b]0;x\x07.pickle", b"%s%n%d.pickle", b"bad\xff\xfeutf.pickle",
             "\u202egnp.pickle".encode(), b"sp ace'\"`$(id).pickle", b"<script>|x.pickle", b"-v.pickle",
             b"x" * 240 + b".pickle"]

    def test_hostile_names_of_snapshots(self):
        for name in self.NASTY:
            with self.subTest(name=name):
                write(os.path.join(os.fsencode(self.folder), name))
                done = self.run_it("--", name)
                self.assertTrue(done.stdout.decode("utf-8").replace("\n", "").isprintable())
                self.assertEqual(len(done.stdout.splitlines()), 6)
                run = self.latest()
                self.assertRegex(run, r"\A\d{8}_\d{6}_[A-Za-z0-9._-]+\Z")
                self.assert_complete(run)

    def test_hostile_names_in_errors(self):
        for name in self.NASTY:
            self.assert_one_error(self.run_it("--", b"missing" + name, code=3))
            self.assert_one_error(self.run_it(b"--" + name, code=2))

    def test_names_that_leave_the_folder(self):
        for name in ("..", ".", "../../x", "/etc/x", "", "."):
            self.run_it("-q", "-n", name, "snapshot.pickle")
        self.assertEqual(sorted(os.listdir(self.folder)), ["results", "snapshot.pickle"])
        for run in self.runs():
            self.assertRegex(run, r"\A\d{8}_\d{6}_[A-Za-z0-9._-]+\Z")
            self.assert_complete(run)


# Default_Ignorable_Code_Point of Unicode 15.1, as DerivedCoreProperties.txt lists them (4174 code points).
IGNORABLE = [(0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180D),
             (0x180E, 0x180E), (0x180F, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064), (0x2065, 0x2065),
             (0x2066, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8),
             (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)]
SIGNS = set(range(0x600, 0x606)) | {0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}  # format characters with a picture


def invisible():
    """What cannot be seen: those, and by Python's own tables controls, separators, blanks, format controls."""
    found = {code for first, last in IGNORABLE for code in range(first, last + 1)}
    assert len(found) == 4174
    return found | {code for code in range(sys.maxunicode + 1)
                    if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp", "Zs") and code != 0x20} - SIGNS


class Invisible(Case):
    def test_no_output_has_one(self):
        """Names of all kinds in all files of all programs: what cannot be seen is escaped, and told apart."""
        codes = sorted(invisible())
        bad = {chr(c) for c in codes if c != 10}
        chosen = [c for c in codes if c < 0xE0000] + [0xE0000, 0xE0001, 0xE0041, 0xE0100, 0xE0FFF]
        freed = [c for c in chosen[::7] if c < 0xE0000]
        allocator = Recorded()
        for i, code in enumerate(chosen):
            hidden = chr(code)
            block = allocator.alloc((i + 1) * MIB, [frame(f"fun{hidden}ction{code:x}", f"/app/net{hidden}{code:x}.py", i),
                                                    frame("ma\u200bin", "/app/tra\u00adin.py", 3)])
            if code in freed:
                allocator.free(block)
        value = {"segments": allocator.snapshot_segments(), "device_traces": [allocator.trace],
                 "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:\u202e20", "ke\u2066y": "va\u2069lue"},
                 "external_annotations": [{"name": "step\u200f 1", "stage": "START", "device": 0, "time_us": 1700000000000010},
                                          {"name": "step\u200f 1", "stage": "END", "device": 0, "time_us": 1700000000000500}]}
        paths = ["iter\u200b1_rank0\u202e.pickle", "rank1\u2028\x1b\ufeff.pickle", "rank2\U000e0041.pickle"]
        for path in paths:
            write(self.at(path), value)
        with open(self.at("rules"), "w", encoding="utf-8") as file:
            file.write("cat\u2060egory: net\n")
        folder = os.path.dirname(BINARY)
        for number, command in enumerate((
                ["gmanalyze", "--explain", "--export", "folded,speedscope,perfetto", "--csv-full", "--top", "500", *paths],
                ["gmanalyze", "--no-charts", "--group", "stack", "--json", "-", paths[0]],
                ["gmdiff", *paths[:2]], ["gmdiff", "--no-charts", *paths], ["gmfleet", "--no-charts", "--each", "."], ["gmfleet", "--no-charts", "--json", "-", *paths],
                ["gmreplay", paths[0]], ["gmreplay", "--verify", paths[1]], ["gmreplay", "--json", "-", paths[2]],
                ["gmreplay", "--alloc-conf", "expandable_segments:True", "--summary", "told", "--csv", "table", paths[0]],
                ["gmanalyze", "missing\u200d.pickle", "n\u2063ame"], ["gmanalyze", "--no-charts", "--categories", "rules", paths[0]],
                ["gmreplay", "--drop", "Optimi\u200bzer", paths[0]], ["gmanalyze", "--fro\u200bm", paths[0]])):
            with self.subTest(command):
                results = [] if command[0] == "gmreplay" else ["-o", f"out{number}"]
                done = subprocess.run([os.path.join(folder, command[0]), *command[1:], *results], cwd=self.folder,
                                      capture_output=True, timeout=120, check=False)
                said = {"stdout": done.stdout, "stderr": done.stderr}
                for top, _, names in os.walk(self.at(f"out{number}")):
                    for name in names:
                        if not name.endswith(".png"):
                            with open(os.path.join(top, name), "rb") as file:
                                said[name] = file.read()
                for name in ("told", "table"):
                    if os.path.exists(self.at(name)):
                        with open(self.at(name), "rb") as file:
                            said[name] = file.read()
                for name, data in said.items():
                    text = data.decode("utf-8")
                    text = text.replace("\r\n", "\n") if name.endswith(".csv") or name == "table" else text
                    for one in set(text) & bad:
                        at = text.index(one)
                        self.fail(f"{name}: {text[max(0, at - 60):at + 20]!r}")
        with open(self.at("out0", "latest", "analysis.json"), encoding="utf-8") as file:
            top = {row["frames"][0]["name"] for row in json.load(file)["top_blocks"] if row["frames"]}
        self.assertEqual(len(top), len(chosen) - len(freed))  # none is another one's
        self.assertIn("fun\\u200bction200b", top)
        self.assertIn("fun\\U000e0041ctione0041", top)


class Outputs(Case):
    def test_full_stdout(self):
        for arguments in (["snapshot.pickle"], ["--json", "-", "snapshot.pickle"], ["--help"], ["--version"]):
            with open("/dev/full", "wb") as full:
                self.assert_one_error(self.run_it(*arguments, code=5, stdout=full), "No space left")
        self.assert_complete(self.latest())

    def test_full_json(self):
        self.assert_one_error(self.run_it("-q", "--json", "/dev/full", "snapshot.pickle", code=5), "/dev/full")
        self.assert_one_error(self.run_it("-q", "--json", "no/such/folder", "snapshot.pickle", code=5), "no/such/folder")
        self.assert_complete(self.latest())

    def test_closed_streams(self):
        for closed in ([1], [0, 1], [0, 1, 2], [2], [1, 2]):
            with self.subTest(closed=closed):
                self.run_it("snapshot.pickle", code=5 if 1 in closed else 0,
                            preexec_fn=lambda closed=closed: [os.close(fd) for fd in closed])
                self.assertEqual(self.assert_complete(self.latest())["snapshot"]["path"], "snapshot.pickle")
        for fd in (0, 1, 2):
            self.run_it("-q", "snapshot.pickle", preexec_fn=lambda fd=fd: os.close(fd))

    def test_pipes_by_path(self):
        done = self.run_it("-q", "--json", "/dev/stdout", "snapshot.pickle")
        self.assertEqual(json.loads(done.stdout)["schema"], "gmanalyze.analysis/1")
        subprocess.run(["bash", "-c", f"'{BINARY}' -q --json >(cat > copy) snapshot.pickle; wait $!"], cwd=self.folder,
                       timeout=120, check=True)
        with open(self.at("copy"), "rb") as file:
            self.assertEqual(json.load(file)["schema"], "gmanalyze.analysis/1")

    def test_reader_that_goes_away(self):
        """`| head`: quietly, with the exit code of a program that the pipe's end killed; all files are made."""
        write(self.at("other.pickle"))
        with open(self.at("broken.pickle"), "wb") as file:
            file.write(b"\x80\x04}")
        replay, diff, fleet = (os.path.join(os.path.dirname(BINARY), name) for name in ("gmreplay", "gmdiff", "gmfleet"))
        calls = [([BINARY, "--help"], []), ([BINARY, "--version"], []), ([BINARY, "snapshot.pickle"], ["analysis.json"]),
                 ([BINARY, "--json", "-", "snapshot.pickle"], ["analysis.json"]),
                 ([BINARY, "--json", "own.json", "snapshot.pickle", "other.pickle"], ["../../own.json"]),
                 ([diff, "snapshot.pickle", "other.pickle"], ["diff.json", "pr_comment.md"]),
                 ([diff, "--json", "-", "snapshot.pickle", "other.pickle"], ["diff.json"]),
                 ([fleet, "snapshot.pickle", "other.pickle"], ["fleet.json"]),
                 ([fleet, "--json", "-", "snapshot.pickle"], ["fleet.json"]),
                 ([replay, "--summary", "s.txt", "snapshot.pickle"], ["../../s.txt"]),
                 ([replay, "--json", "-", "-o", "made.pickle", "snapshot.pickle"], ["../../made.pickle"]),
                 ([replay, "--csv", "-", "snapshot.pickle"], []), ([replay, "-o", "-", "snapshot.pickle"], []),
                 ([replay, "--trace-out", "-", "snapshot.pickle"], [])]
        for i, (command, files) in enumerate(calls):
            with self.subTest(command=command):
                read, write_end = os.pipe()
                os.close(read)
                results = [] if command[0] == replay else ["-o", f"r{i}/results"]
                with os.fdopen(write_end, "wb") as pipe:
                    done = subprocess.run([command[0], *results, *command[1:]], cwd=self.folder, stdout=pipe,
                                          stderr=subprocess.PIPE, timeout=120, check=False)
                self.assertEqual((done.returncode, done.stderr), (141, b""))
                for name in files:
                    base = f"r{i}/results/latest" if results and "/" not in name else "."
                    self.assertGreater(os.path.getsize(self.at(base, os.path.basename(name))), 0)
        for code, arguments in (1, "--fail-above 1MiB snapshot.pickle"), (3, "snapshot.pickle broken.pickle"):
            read, write_end = os.pipe()  # what else is wrong is told, and counts
            os.close(read)
            with os.fdopen(write_end, "wb") as pipe:
                self.assert_one_error(self.run_it(*arguments.split(), code=code, stdout=pipe))

    def test_results_that_cannot_be(self):
        with open(self.at("file"), "w", encoding="ascii") as file:
            file.write("mine")
        for results in ("file", "file/deeper", "/proc/nothing", "/dev/null"):
            self.assert_one_error(self.run_it("-o", results, "snapshot.pickle", code=5), results)
        reader, writer = os.pipe()  # nothing ever comes: it is said before anything is read
        for results in ("file", "file/deeper", "/dev/null"):
            self.assert_one_error(self.run_it("-o", results, "-", code=5, stdin=reader), results)
        os.close(writer)
        os.close(reader)
        self.assertEqual(self.run_it("-o", "new/folder", "missing.pickle", code=3).stdout, b"")
        self.assertFalse(os.path.lexists(self.at("new")))  # nor is anything made for nothing
        with open(self.at("file"), encoding="ascii") as file:
            self.assertEqual(file.read(), "mine")

    def test_what_draws_is_not_there(self):
        """It is in a file of its own; without it there are no charts, and all else. SQLite likewise; pango and cairo, too,
        but they are for texts with other than the usual letters only."""
        os.makedirs(self.at("place/bin"))
        os.makedirs(self.at("place/lib/gmanalyze"))
        program, module = shutil.copy(BINARY, self.at("place/bin")), self.at("place/lib/gmanalyze/gmpaint.so")

        def run(*arguments, snapshot="snapshot.pickle"):
            return subprocess.run([program, *arguments, "-o", self.at("results"), self.at(snapshot)],
                                  capture_output=True, check=False)

        for content, words in (None, "there is no"), (b"no library", "gmpaint.so: file too short"):
            if content is not None:
                write(module, content)
            done = run()
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assert_one_error(done, words)
            self.assertFalse(os.path.lexists(self.at("results")))
        self.assertEqual(run("--no-charts").returncode, 0)
        done = run("--no-charts", "--export", "sqlite")  # nor is there gmsqlite.so
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assert_one_error(done, "--export sqlite")
        shutil.copy(os.path.join(os.path.dirname(BINARY), "../lib/gmanalyze/gmpaint.so"), module)
        self.assertEqual(run().returncode, 0)
        allocator = Recorded()
        allocator.alloc(MIB, [frame("\u044f", "train.py", 1)])
        write(self.at("other.pickle"), allocator.snapshot())
        done = run(snapshot="other.pickle")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assert_one_error(done, "usual letters")

    def test_read_only_results(self):
        os.mkdir(self.at("locked"), 0o555)
        os.chmod(self.folder, 0o755)
        as_nobody = {"user": 65534} if os.geteuid() == 0 else {}
        try:
            subprocess.run([BINARY, "--version"], check=True, stdout=subprocess.DEVNULL, **as_nobody)
        except OSError:
            self.skipTest("nobody else may run the program here")
        self.assert_one_error(self.run_it("-o", "locked", "snapshot.pickle", code=5, **as_nobody), "locked")
        self.assertEqual(os.listdir(self.at("locked")), [])

    def test_full_disk(self):
        """Files may grow to 3000 bytes; the report does not fit."""
        self.run_it("-q", "snapshot.pickle", "good")
        before = sorted(os.listdir(self.at("results")))

        def fill():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

        for charts in ([], ["--no-charts"]):
            self.assert_one_error(self.run_it(*charts, "snapshot.pickle", code=5, preexec_fn=fill), "File too large")
        self.assertEqual(sorted(os.listdir(self.at("results"))), before)
        self.assertTrue(self.latest().endswith("_good"))

    def test_full_file_system(self):
        os.mkdir(self.at("tiny"))
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", self.at("tiny")],
                                 stderr=subprocess.DEVNULL)
        if mounted.returncode != 0:
            self.skipTest("cannot mount a small file system here")
        try:
            self.assert_one_error(self.run_it("-o", "tiny/results", "snapshot.pickle", code=5), "No space left")
            self.assertEqual(os.listdir(self.at("tiny/results")), [])
            with open(self.at("tiny", "mine.json"), "w", encoding="ascii") as file:
                file.write("old")
            with open(self.at("tiny", "fill"), "wb") as file:
                file.write(bytes(60 << 10))
            self.assert_one_error(self.run_it("-q", "--json", "tiny/mine.json", "snapshot.pickle", code=5), "No space left")
            with open(self.at("tiny", "mine.json"), encoding="ascii") as file:
                self.assertEqual(file.read(), "old")
            self.assertEqual(sorted(os.listdir(self.at("tiny"))), ["fill", "mine.json", "results"])
        finally:
            subprocess.run(["umount", self.at("tiny")], check=True)

    def test_latest_that_is_somebodys(self):
        os.makedirs(self.at("results", "latest"))
        with open(self.at("results", "latest", "notes"), "w", encoding="ascii") as file:
            file.write("mine")
        os.makedirs(self.at("results", "archived", "20200101_000000_old"))
        done = self.run_it("snapshot.pickle")
        self.assert_one_error(done, "latest", "warning")
        self.assertEqual(os.listdir(self.at("results", "latest")), ["notes"])
        self.assertEqual(os.listdir(self.at("results", "archived")), ["20200101_000000_old"])
        self.assert_complete(self.runs()[0])


class Together(Case):
    def test_ten_runs_at_once(self):
        runs = [subprocess.Popen([BINARY, "-q", "snapshot.pickle"], cwd=self.folder) for _ in range(10)]
        self.assertEqual([run.wait(timeout=120) for run in runs], [0] * 10)
        self.assertEqual(len(self.runs()), 10)
        for run in self.runs():
            self.assert_complete(run)
        self.assertIn(self.latest(), self.runs())
        self.assertEqual([name for name in os.listdir(self.at("results")) if name[0] == "."], [])

    def test_same_name_in_one_call(self):
        for folder in "abcd":
            os.mkdir(self.at(folder))
            write(self.at(folder, "s.pickle"))
        self.run_it("-q", "-j4", *(f"{folder}/s.pickle" for folder in "abcd"))
        self.assertEqual(len(self.runs()), 4)
        self.assertEqual({self.assert_complete(run)["snapshot"]["path"] for run in self.runs()},
                         {f"{folder}/s.pickle" for folder in "abcd"})
        last = self.assert_complete(self.latest())
        self.assertEqual(last["snapshot"]["path"], "d/s.pickle")
        for path in "e/s.pickle", "f/s_2.pickle":  # a name that another one would be given stays its own
            os.mkdir(self.at(path[0]))
            write(self.at(path))
        for _ in range(4):
            self.run_it("-q", "-j4", "--no-charts", "-o", "more", "a/s.pickle", "e/s.pickle", "f/s_2.pickle", "b/s.pickle")
            paths = {run.split("_", 2)[2]: self.assert_complete(run, "more", charts=False)["snapshot"]["path"]
                     for run in self.runs("more")}
            self.assertEqual(paths, {"s": "a/s.pickle", "s_3": "e/s.pickle", "s_2": "f/s_2.pickle", "s_4": "b/s.pickle"})
            shutil.rmtree(self.at("more"))

    def test_same_input_same_bytes(self):
        time_stamp = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d{8}_\d{6}")
        demo = self.at("demo.pickle")
        subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "tests/data/make_demo_snapshot.py"), demo], check=True)
        contents = []
        for extra in (["-j1"], ["-j8"]):
            self.run_it("-q", "-o", "same", "demo.pickle", "n", *extra, env=dict(os.environ, TZ="UTC", LC_ALL="de_DE.UTF-8"))
            run = self.latest("same")
            self.assert_complete(run, "same")
            files = {}
            for name in sorted(os.listdir(self.at("same", run))):
                with open(self.at("same", run, name), "rb") as file:
                    files[name] = file.read() if name.endswith(".png") else time_stamp.sub(b"T", unpacked(file.read()))
            contents.append(files)
        self.assertEqual(contents[0].keys(), contents[1].keys())
        for name in contents[0]:
            self.assertTrue(contents[0][name] == contents[1][name], name)


class Signals(Case):
    def kill_often(self, number, times):
        """Kills the program after random times, most of which fall between its first and its last system call."""
        chance = random.Random(number)
        started = time.monotonic()
        self.run_it("-q", "snapshot.pickle", "first")
        whole = time.monotonic() - started
        killed = 0
        for _ in range(times):
            run = subprocess.Popen([BINARY, "-q", "snapshot.pickle"], cwd=self.folder)
            time.sleep(chance.uniform(0, 1.1 * whole))
            run.send_signal(number)
            killed += run.wait(timeout=120) == -number
            for directory in self.runs():
                self.assert_complete(directory)
            self.assert_complete(self.latest())
        self.assertGreater(killed, 0)

    def test_kill_in_the_middle(self):
        self.kill_often(signal.SIGKILL, 40)

    def test_interrupt_in_the_middle(self):
        self.kill_often(signal.SIGINT, 20)
        self.kill_often(signal.SIGTERM, 20)
        self.assertEqual([name for name in os.listdir(self.at("results")) if name[0] == "."], [])


class Terminals(Case):
    def on_terminal(self, *arguments, **environment):
        """What the program writes to a stderr that is a terminal."""
        try:
            master, slave = pty.openpty()
        except OSError as error:  # a container without /dev/pts
            self.skipTest(str(error))
        base = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        run = subprocess.Popen([BINARY, *arguments], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=slave,
                               env={**base, "TERM": "xterm", **environment})
        os.close(slave)
        said = b""
        try:
            while part := os.read(master, 4096):
                said += part
        except OSError:
            pass  # the other end is closed
        run.wait(timeout=120)
        os.close(master)
        return said

    def test_colour(self):
        self.assertIn(b"\x1b[", self.on_terminal("missing.pickle"))
        self.assertNotIn(b"\x1b", self.on_terminal("missing.pickle", NO_COLOR="1"))
        self.assertNotIn(b"\x1b", self.on_terminal("missing.pickle", TERM="dumb"))
        self.assertNotIn(b"\x1b", self.run_it("missing.pickle", code=3).stderr)

    def test_quick_work_shows_no_progress(self):
        self.assertEqual(self.on_terminal("--no-charts", "snapshot.pickle"), b"")

    def test_slow_work_shows_progress(self):
        """A pipe that is filled slowly makes the work long."""
        os.mkfifo(self.at("slow.pickle"))
        with open(self.snapshot, "rb") as file:
            data = file.read()
        feeder = subprocess.Popen([sys.executable, "-c",
                                   "import sys, time; out = open(sys.argv[1], 'wb'); time.sleep(1.6); "
                                   "out.write(open(sys.argv[2], 'rb').read())", self.at("slow.pickle"), self.snapshot])
        said = self.on_terminal("--no-charts", "slow.pickle")
        self.assertEqual(feeder.wait(timeout=60), 0)
        self.assertIn(b"] 1 s: reading slow.pickle", said)
        self.assertTrue(said.endswith(b"\r"), said[-100:])
        self.assertEqual(len(data), os.path.getsize(self.snapshot))

    def test_what_is_read_is_shown_with_its_bytes(self):
        """Of a file also how long it takes: tests/cli/test_cli_bar.c."""
        os.mkfifo(self.at("slow.pickle"))
        feeder = subprocess.Popen([sys.executable, "-c",
                                   "import sys, time; out = open(sys.argv[1], 'wb', 0); data = open(sys.argv[2], 'rb').read(); "
                                   "out.write(data[:500]); time.sleep(1.6); out.write(data[500:])", self.at("slow.pickle"),
                                   self.snapshot])
        said = self.on_terminal("--no-charts", "slow.pickle")
        self.assertEqual(feeder.wait(timeout=60), 0)
        self.assertRegex(said, rb"\] 500 B, \d+ B/s: slow.pickle")


if __name__ == "__main__":
    main()
