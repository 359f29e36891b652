# SPDX-License-Identifier: Apache-2.0
"""gmdiff as its users meet it: files, exit codes, the gate, inputs that cannot be read, hostile names, golden Markdown."""
import json
import os
import pathlib
import re
import subprocess
import sys

from harness import MIB, PAGE, SOURCE, Case, Recorded, frame, main, small_snapshot, write

BINARY = os.environ.get("GMDIFF") or sys.exit("GMDIFF names the binary to test")
TEXTS = {"diff_report.txt", "README.md", "diff.json", "pr_comment.md"} | PAGE
CHARTS = {"diff_overview.png", "diff_timeline.png", "diff_flamegraph.png", "diff_flamegraph.svg"}
GOLDEN = os.path.join(SOURCE, "tests", "compare", "golden")


def made(megabytes, lines=0, root="/app", extra=0, settings=None):
    """Weights of 30 MiB, an activation of `megabytes`, freed again, and `extra` MiB that stay. Lines move by `lines`,
    the checkout is at `root`."""
    allocator = Recorded()
    main_frame = frame("main", root + "/train.py", 3 + lines)
    allocator.alloc(30 * MIB, [frame("__init__", root + "/model/linear.py", 12 + lines), main_frame])
    gone = allocator.alloc(megabytes * MIB, [frame("forward", root + "/model/attention.py", 20 + lines), main_frame])
    if extra:
        allocator.alloc(extra * MIB, [frame("cache", root + "/model/kv.py", 7 + lines), main_frame])
    allocator.free(gone)
    snapshot = allocator.snapshot()
    if settings is not None:
        snapshot["allocator_settings"] = settings
    return snapshot


class Diff(Case):
    def diff(self, *arguments, code=0, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        if "input" in options:
            del options["stdin"]
        done = subprocess.run([BINARY, *arguments], cwd=self.folder, timeout=120, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, **options)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr[:600]!r}")
        return done

    def numbers(self, *arguments, **options):
        return json.loads(self.diff("--no-charts", "--json", "-", *arguments, **options).stdout)

    def refused(self, code, *arguments, words=(), **options):
        done = self.diff(*arguments, code=code, **options)
        text = done.stderr.decode()
        self.assertRegex(text, r"\A(gmdiff: [^\n]+\n)+\Z")
        self.assertTrue(text.replace("\n", "").isprintable(), repr(text))
        for word in words:
            self.assertIn(word, text)
        return text

    def file(self, name, results="results"):
        with open(self.at(results, "latest", name), encoding="utf-8") as file:
            return file.read()

    def test_autocast_calls_the_same_operator(self):
        """Under autocast an operator has three more frames and half the bytes: its row shrinks."""
        def recorded(mib, *dispatch):
            allocator = Recorded()
            stack = [frame(name, "??", 0) for name in ("structured_bmm_out_cuda", *dispatch)]
            allocator.alloc(mib * MIB, [*stack, frame("forward", "/app/model.py", 5), frame("main", "/app/train.py", 3)])
            return {"segments": allocator.snapshot_segments(), "device_traces": []}
        plain = write(self.at("plain.pickle"), recorded(64))
        cast = write(self.at("cast.pickle"), recorded(32, "at::_ops::bmm::call(at::Tensor const&)",
                                                      "at::autocast::WrapFunction_<(int)1>::call",
                                                      "c10::impl::wrap_kernel_functor_unboxed_<int>::call"))
        (row,) = self.numbers(plain, cast)["call_sites"]
        self.assertEqual((row["kind"], row["site"], row["delta_bytes"]), ("shrunk", "forward  app/model.py", -32 * MIB))

    def test_operators_of_one_line(self):
        """Two rows of one name say which operators they are, on the screen, too."""
        def recorded(*mib):
            allocator = Recorded()
            for size, operator in zip(mib, ("exp", "div")):
                allocator.alloc(size * MIB, [frame(f"at::_ops::{operator}::call(at::Tensor const&)", "??", 0),
                                             frame("softmax", "/app/model.py", 5), frame("main", "/app/train.py", 3)])
            return allocator.snapshot()
        write(self.at("base.pickle"), recorded(8, 8))
        write(self.at("new.pickle"), recorded(32, 16))
        said = self.diff("--no-charts", "base.pickle", "new.pickle").stdout.decode()
        self.assertRegex(said, r"softmax  app/model\.py\S*, by exp\n.*softmax  app/model\.py\S*, by div\n")

    def pair(self):
        return (write(self.at("base.pickle"), made(40, settings={"PYTORCH_CUDA_ALLOC_CONF": ""})),
                write(self.at("new.pickle"), made(60, lines=5, root="/home/me/checkout", extra=12,
                                                  settings={"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:200"})))


class Files(Diff):
    def test_peaks_of_one_kind_only(self):
        """A profiler's trace has requested bytes: the sentence on top is of these, and never empty."""
        self.pair()
        trace = os.path.join(SOURCE, "tests/kineto/cpu_2.12.1_mlp.trace.json.gz")
        self.assertRegex(self.diff(trace, "base.pickle").stdout.decode(), r"\nNew +Peak requested [\d.]+ MiB, \+")
        without = write(self.at("end.pickle"), {**made(40), "device_traces": [[]]})
        self.assertRegex(self.diff(trace, without).stdout.decode(), r"\nNew +No peak and no total is known of both\n")

    def test_equal_names(self):
        self.pair()
        self.diff("base.pickle", "base.pickle")
        self.assertRegex(self.latest(), r"_base_vs_base_2\Z")

    def test_everything_is_there(self):
        self.pair()
        self.diff("base.pickle", "new.pickle")
        run, = self.runs()
        self.assertRegex(run, r"\A\d{8}_\d{6}_base_vs_new\Z")
        self.assertEqual(self.latest(), run)
        names = set(os.listdir(self.at("results", run)))
        self.assertEqual(names, TEXTS | CHARTS)
        for name in names:
            self.assertGreater(os.path.getsize(self.at("results", run, name)), 100, name)
        readme = self.file("README.md")
        for name in CHARTS - {"diff_flamegraph.svg"}:
            self.assertIn(f"]({name})", readme)

    def test_no_charts(self):
        self.pair()
        self.diff("--no-charts", "-n", "../mine", "base.pickle", "new.pickle")
        run, = self.runs()
        self.assertTrue(run.endswith("_.._mine"))
        self.assertEqual(set(os.listdir(self.at("results", run))), TEXTS)

    def test_numbers_by_hand(self):
        """Base: 30 MiB live, peak 30 + 40; segments of 30 and 40 MiB. New: 42 MiB live, peak 30 + 60 + 12; segments of
        30, 60 and 12 MiB."""
        base, new = self.pair()
        found = self.numbers(base, new)
        self.assertEqual(found["schema"], "gmdiff.diff/1")
        self.assertEqual([r["path"] for r in found["runs"]], [base, new])
        self.assertEqual(found["totals_delta"]["allocated_bytes"], 12 * MIB)
        self.assertEqual(found["totals_delta"]["reserved_bytes"], (102 - 70) * MIB)
        self.assertEqual(found["totals_delta"]["inactive_bytes"], 20 * MIB)
        # 42 / 102 - 30 / 70
        self.assertEqual(found["totals_delta"]["efficiency_percent"], -1.6807)
        self.assertEqual(found["peaks_delta"], {"peak_requested_bytes": 32 * MIB, "peak_allocated_bytes": 32 * MIB,
                                                "peak_active_bytes": 32 * MIB, "peak_reserved_bytes": 32 * MIB})
        rows = [(r["site"], r["base_bytes"], r["new_bytes"], r["delta_bytes"], r["kind"]) for r in found["call_sites"]]
        self.assertEqual(rows, [("cache  model/kv.py", 0, 12 * MIB, 12 * MIB, "new")])
        rows = [(r["site"], r["delta_bytes"], r["kind"], r["base_lines"], r["new_lines"])
                for r in found["call_sites_at_peak"]]
        self.assertEqual(rows, [("forward  model/attention.py", 20 * MIB, "grown", [20], [25]),
                                ("cache  model/kv.py", 12 * MIB, "new", [], [12])])
        self.assertEqual(found["settings"], [{"group": "setting", "key": "PYTORCH_CUDA_ALLOC_CONF", "base": "",
                                              "new": "max_split_size_mb:200"}])

    def test_doubtful(self):
        """A run whose trace contradicts its snapshot is marked wherever its figures stand."""
        base, new = self.pair()
        self.assertNotIn(b"DOUBTFUL", self.diff("--no-charts", base, new).stdout)
        snapshot = made(60)
        snapshot["device_traces"][0] += [{"action": "alloc", "addr": 1 << 40, "size": 64 * MIB, "stream": 0, "frames": []}]
        write(new, snapshot)
        told = self.diff("--no-charts", base, new).stdout.decode()
        self.assertEqual(told.count("DOUBTFUL"), 1)
        self.assertRegex(told, r"DOUBTFUL new: The trace\s+contradicts")
        for name in TEXTS - PAGE:
            self.assertIn("contradicts the snapshot" if name == "diff.json" else "DOUBTFUL", self.file(name))

    def test_swapped(self):
        base, new = self.pair()
        one, two = self.numbers(base, new), self.numbers(new, base)
        for table in ("call_sites", "call_sites_at_peak", "categories", "categories_at_peak", "pools_reserved"):
            self.assertEqual([(r.get("site", r.get("name")), r["delta_bytes"]) for r in one[table]],
                             [(r.get("site", r.get("name")), -r["delta_bytes"]) for r in two[table]], table)

    def test_itself(self):
        base, _ = self.pair()
        found = self.numbers("--fail-growth", "0", base, base)
        self.assertTrue(found["same"])
        for table in ("call_sites", "call_sites_at_peak", "categories", "roles", "pools", "settings"):
            self.assertEqual(found[table], [])
        self.assertIn("No difference", self.file("pr_comment.md"))
        self.assertEqual(found["gate"]["verdict"], "PASS")

    def test_markdown_of_many(self):
        """Of three runs the categories of each; of two devices the peaks of each."""
        paths = [write(self.at(f"ctx{n}.pickle"), made(n)) for n in (10, 20, 40)]
        self.diff("--no-charts", *paths)
        for name in "pr_comment.md", "README.md":
            text = self.file(name)
            self.assertIn("| | `ctx10` | `ctx20` | `ctx40` |", text)
            categories = self.numbers(*paths)["runs"]
            for category in {c["name"] for r in categories for c in r["categories_at_peak"]}:
                self.assertIn(f"\n| {category} |", text)
            self.assertIn("| peak reserved | linear |", text)
        self.assertIn("Law      peak reserved: 30.00 MiB + 1.00 MiB x ctx", self.diff("--no-charts", *paths).stdout.decode())
        paths = [write(self.at(f"d{i}.pickle"), small_snapshot(2, 30 + 2 * i)) for i in range(2)]
        self.diff("--no-charts", *paths)
        self.assertIn("| device 1, reserved | ", self.file("pr_comment.md"))

    def test_two_series(self):
        """Each is called by its name."""
        paths = [write(self.at(f"bs{b}_ctx{n}.pickle"), made(b * n)) for b in (1, 2) for n in (10, 20, 40)]
        text = self.diff("--no-charts", *paths).stdout.decode()
        self.assertIn("Law      bs1_ctxN.pickle: peak reserved: 30.00 MiB + 1.00 MiB x ctx", text)
        self.assertIn("Law      bs2_ctxN.pickle: peak reserved: 30.00 MiB + 2.00 MiB x ctx", text)

    def test_what_the_number_is_called(self):
        """A word beside the number that is another thing's name, as a model's size, is none of the law's."""
        for name, said in (("medium_{}_training", "medium_N_training.pickle: peak reserved: 30.00 MiB + 1.00 MiB x N"),
                           ("run-batch_{}", "peak reserved: 30.00 MiB + 1.00 MiB x batch"),
                           ("len={}", "peak reserved: 30.00 MiB + 1.00 MiB x len")):
            paths = [write(self.at(name.format(n) + ".pickle"), made(n)) for n in (10, 20, 40)]
            text = " ".join(self.diff("--no-charts", *paths).stdout.decode().split())
            self.assertIn("Law " + said + " Report", text)

    def test_moved(self):
        """Equal bytes in equal blocks that are gone from one operator and new at another are told as moved, last, and
        not as the largest changes; the sums stay. Where more than one would fit nobody knows which it is."""
        def run(*made_by):
            allocator = Recorded()
            for name, megabytes in made_by:
                allocator.alloc(megabytes * MIB, [frame(name, "/app/model/linear.py", 12), frame("main", "/t.py", 3)])
            return allocator.snapshot()

        base = write(self.at("base.pickle"), run(("old_grad", 700), ("old_copy", 30), ("kept", 40)))
        new = write(self.at("new.pickle"), run(("new_grad", 700), ("kept", 40), ("fresh", 30), ("fresh2", 30)))
        found = self.numbers(base, new)
        rows = [(r["site"].split()[0], r["kind"], r["delta_bytes"] // MIB) for r in found["call_sites_at_peak"]]
        self.assertEqual(rows, [("fresh", "new", 30), ("fresh2", "new", 30), ("old_copy", "gone", -30),
                                ("new_grad", "moved", 700), ("old_grad", "moved", -700)])
        sums = found["sums"]["call_sites_at_peak"]
        self.assertEqual((sums["rows_bytes"], sums["delta_bytes"], sums["residual_bytes"]), (30 * MIB, 30 * MIB, 0))
        self.assertEqual([sums[kind] for kind in ("new", "gone", "moved")], [2, 1, 2])
        self.assertFalse(found["same"])
        text = self.diff("--no-charts", base, new).stdout.decode()
        self.assertNotIn("_grad", text)
        report = " ".join(self.file("diff_report.txt").split())
        self.assertIn("2 new +60.00 MiB, 1 gone -30.00 MiB, 2 moved 0 B.", report)
        self.assertIn("old_grad model/linear.py:12 as much in the new run: new_grad model/linear.py", report)

    def test_factors(self):
        """What grew tenfold and more is told as a factor, which people can read."""
        paths = [write(self.at(f"{name}.pickle"), made(megabytes, extra=extra))
                 for name, megabytes, extra in (("base", 2, 1), ("less", 2, 10), ("most", 2, 2400))]
        self.diff("--no-charts", *paths[:2])
        self.assertRegex(self.file("diff_report.txt"), r"1\.00 MiB +10\.00 MiB +\+9\.00 MiB +x 10\n")
        self.assertIn("| x 10 |", self.file("README.md"))
        self.diff("--no-charts", paths[0], paths[2])
        report = self.file("diff_report.txt")
        self.assertIn("(x 74)", " ".join(report.split()))
        self.assertRegex(report, r"\+2\.34 GiB +x 2,400\n")

    def test_json_file(self):
        self.pair()
        done = self.diff("--json", "d.json", "base.pickle", "new.pickle")
        with open(self.at("d.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), self.file("diff.json"))
        self.assertIn(b"Report", done.stdout)

    def test_quiet(self):
        self.pair()
        done = self.diff("-q", "base.pickle", "new.pickle")
        self.assertEqual((done.stdout, done.stderr), (b"", b""))

    def test_golden_markdown(self):
        """Every number in the golden file was worked out by hand from what made() says."""
        self.pair()
        self.diff("--no-charts", "--fail-growth", "10MiB", "base.pickle", "new.pickle", code=1)
        with open(os.path.join(GOLDEN, "pr_comment.md"), encoding="utf-8") as file:
            self.assertEqual(self.file("pr_comment.md"), file.read())

    def test_threads_change_nothing(self):
        paths = [write(self.at(f"n{i}.pickle"), made(20 + 10 * i, extra=i)) for i in range(5)]
        texts = []
        for threads in "1", "4":
            self.diff("-j", threads, "-o", "r" + threads, "-n", "x", *paths)
            folder = pathlib.Path(self.at("r" + threads, "latest"))
            texts.append({path.name: path.read_bytes() for path in folder.iterdir()})
        for name in texts[0]:
            same = [re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", b"", t[name]) for t in texts]
            self.assertEqual(same[0], same[1], name)


class Gate(Diff):
    def test_sizes_and_percents(self):
        base, new = self.pair()  # 70 to 102 MiB of both peaks: 32 MiB, 45.714 %
        for limit, code in (("32MiB", 0), ("33554431", 1), ("31.9MiB", 1), ("45.7%", 1), ("45.72%", 0), ("0", 1),
                            ("1000%", 0)):
            done = self.diff("--no-charts", "--fail-growth", limit, base, new, code=code)
            self.assertEqual(done.stderr.count(b"\n"), code, done.stderr)
            if code:
                self.assertRegex(done.stderr.decode(), r"\Agmdiff: check failed: peak reserved on device 0 grew by 32.00"
                                                       r" MiB \(\+45.7 %\), from 70.00 MiB \(73400320 bytes\) to 102.0 "
                                                       r"MiB \(106954752 bytes\), more than " + re.escape(limit) +
                                                       r" allows; 1 more\n\Z")
        self.diff("--no-charts", "--fail-growth", "0", new, base)  # less is no growth

    def test_any_device_of_any_run(self):
        paths = [write(self.at(f"d{i}.pickle"), small_snapshot(2, megabytes)) for i, megabytes in
                 enumerate((30, 30, 36))]
        self.diff("--no-charts", "--fail-growth", "0", paths[0], paths[1])
        text = self.refused(1, "--no-charts", "--fail-growth", "0", *paths)
        self.assertIn("in d2; 3 more", text)  # two peaks of two devices

    def test_without_a_trace(self):
        bare = []
        for name, megabytes in (("a", 30), ("b", 36)):
            bare.append(write(self.at(name + ".pickle"), {"segments": small_snapshot(1, megabytes)["segments"]}))
        self.assertIn("reserved grew by 6.00 MiB", self.refused(1, "--no-charts", "--fail-growth", "5MiB", *bare))
        self.diff("--no-charts", "--fail-growth", "6MiB", *bare)
        found = self.numbers(*bare)
        self.assertIsNone(found["runs"][0]["peaks"])
        self.assertIsNone(found["peaks_delta"]["peak_reserved_bytes"])
        self.assertEqual(sum(r["delta_bytes"] for r in found["call_sites"]), 6 * MIB)


class Usage(Diff):
    def test_refusals(self):
        self.pair()
        for arguments in ([], ["base.pickle"], ["--fail-growth", "much", "base.pickle", "new.pickle"],
                          ["--fail-growth", "-1", "base.pickle", "new.pickle"], ["--nonsense"], ["-", "-"],
                          ["-o", "", "base.pickle", "new.pickle"],
                          ["--json", "new.pickle", "base.pickle", "new.pickle"],
                          ["-j", "0", "base.pickle", "new.pickle"]):
            self.refused(2, *arguments)
        self.assertEqual(self.runs(), [])

    def test_help(self):
        text = self.diff("--help").stdout.decode()
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))
        for name in ("--fail-growth", "--results", "--json", "--categories", "--jobs", "BASE NEW"):
            self.assertIn(name, text)
        self.assertRegex(self.diff("--version").stdout.decode(), r"\Agmdiff \d+\.\d+")

    def test_device(self):
        paths = [write(self.at(f"d{i}.pickle"), small_snapshot(2, 30 + 2 * i)) for i in range(2)]
        found = self.numbers("--device", "1", *paths)
        self.assertEqual(len(found["devices"]), 1)
        self.assertEqual(found["totals_delta"]["allocated_bytes"], 2 * MIB)
        self.refused(2, "--device", "7", *paths, words=["device 7"])


class Unreadable(Diff):
    def test_base_or_new(self):
        self.pair()
        with open(self.at("empty.pickle"), "wb"):
            pass
        with open(self.at("new.pickle"), "rb") as file, open(self.at("cut.pickle"), "wb") as cut:
            cut.write(file.read()[:-200])
        for bad in "empty.pickle", "cut.pickle", "missing.pickle", ".":
            self.refused(3, "base.pickle", bad, words=[bad])
            self.refused(3, bad, "new.pickle", words=[bad])
        self.refused(3, "missing.pickle", "empty.pickle", words=["missing.pickle", "empty.pickle"])
        self.assertEqual(self.runs(), [])
        self.diff("--salvage", "--no-charts", "base.pickle", "cut.pickle")
        self.assertIn("Damaged", self.file("pr_comment.md"))

    def test_more(self):
        self.pair()
        done = self.diff("--no-charts", "--json", "-", "base.pickle", "new.pickle", "missing.pickle", "base.pickle",
                         code=3)
        found = json.loads(done.stdout)
        self.assertEqual([r["error"] is None for r in found["runs"]], [True, True, True, False])
        self.assertIn("cannot open", found["runs"][3]["error"])
        self.assertEqual(len(self.runs()), 1)
        self.assertIn("missing.pickle", self.file("pr_comment.md"))
        self.diff("--no-charts", "--fail-growth", "0", "base.pickle", "new.pickle", "missing.pickle", code=3)

    def test_new_but_not_more(self):
        """What cannot be read does not stop the rest."""
        self.pair()
        done = self.diff("--no-charts", "--json", "-", "base.pickle", "missing.pickle", "new.pickle", code=3)
        found = json.loads(done.stdout)
        self.assertEqual([r["path"] for r in found["runs"]], ["base.pickle", "new.pickle", "missing.pickle"])
        self.assertEqual(found["totals_delta"]["allocated_bytes"], 12 * MIB)
        self.assertEqual(len(self.runs()), 1)
        self.refused(3, "missing.pickle", "base.pickle", "new.pickle", words=["missing.pickle"])
        self.assertEqual(len(self.runs()), 1)

    def test_stdin(self):
        self.pair()
        with open(self.at("new.pickle"), "rb") as file:
            found = json.loads(self.diff("--no-charts", "--json", "-", "base.pickle", "-", input=file.read()).stdout)
        self.assertEqual(found["totals_delta"]["allocated_bytes"], 12 * MIB)

    def test_results_cannot_be_written(self):
        self.pair()
        with open(self.at("file"), "w", encoding="ascii"):
            pass
        self.refused(5, "-o", "file", "base.pickle", "new.pickle")
        reader, writer = os.pipe()  # nothing ever comes: it is said before anything is read
        self.refused(5, "-o", "file/deeper", "base.pickle", "-", stdin=reader)
        os.close(writer)
        os.close(reader)
        self.refused(3, "-o", "new", "base.pickle", "missing.pickle")
        self.assertFalse(os.path.lexists(self.at("new")))


class Hostile(Diff):
    NAMES = ["\x1b[31mred\x1b[0m", "a|b", "@everyone", "#1", "<img src=x onerror=alert(1)>", "</details>", "``` `",
             "$x^2$", ":tada:", "a\nb\n# heading", "\u202e\u2066evil", "x" * 5000, "<script>alert(1)</script>", "&amp;",
             "![i](http://evil)", "]]></script><b>", "\ud800", "\0nul", "", "  ", "owner/repo#5", "--", "1. item"]

    def test_names(self):
        def hostile(factor):
            allocator = Recorded()
            for i, name in enumerate(self.NAMES * 40):
                allocator.alloc((i % 7 + 1) * factor * 4096, [frame(f"{name}{i}", "/x/" + name + ".py", i)])
            return {"segments": allocator.snapshot_segments(), "device_traces": [allocator.trace],
                    "external_annotations": [{"name": n, "stage": "START", "device": 0, "time_us": 1} for n in self.NAMES],
                    "allocator_settings": {n: n for n in self.NAMES}}
        a, b = write(self.at("a|`b<i>.pickle"), hostile(1)), write(self.at("\u202e@x.pickle"), hostile(3))
        other = hostile(2)
        other["allocator_settings"] = {n + "2": n for n in self.NAMES}
        write(self.at("c.pickle"), other)
        done = self.diff(a, b, self.at("c.pickle"))
        comment, readme, svg = (self.file(n) for n in ("pr_comment.md", "README.md", "diff_flamegraph.svg"))
        self.assertLess(len(comment), 65000)
        for text in comment, readme, self.file("diff_report.txt"), done.stdout.decode():
            lines = text.replace("\n", "")
            self.assertTrue(all(c.isprintable() for c in lines), [c for c in lines if not c.isprintable()][:5])
        for text in comment, readme:
            outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
            for bad in ("@everyone", "<img", "<script", "</details>a", "![i](http", "$x", ":tada:"):
                self.assertNotIn(bad, outside)
            lines = text.splitlines()
            self.assertEqual(lines.count("<details>"), lines.count("</details>"))
            self.assertEqual(outside.count("</details>"), lines.count("</details>"))
        self.assertNotIn("<img", svg)
        self.assertNotIn("<b>", svg)
        self.assertNotIn("\x1b", svg)
        for line in self.file("diff_report.txt").splitlines():
            self.assertLessEqual(len(line), 80)

    def test_a_comment_is_never_too_long(self):
        """A '|' takes six characters in a table; every table is full of them."""
        def bars(factor):
            allocator = Recorded()
            for i in range(60):
                allocator.alloc((i % 7 + 1) * factor * 40960 + i * 512,
                                [frame("|" * 55 + str(i), "/x/" + "|" * 90 + ".py", i)])
            return {"segments": allocator.snapshot_segments(), "device_traces": [allocator.trace],
                    "external_annotations": [],
                    "allocator_settings": {"|" * 58 + str(i): "|" * 70 + str(factor) for i in range(40)}}
        paths = [write(self.at("|" * 100 + f"{i}.pickle"), bars(i + 1)) for i in range(20)]
        self.diff("--no-charts", *paths, *(self.at("no" + "|" * 90 + str(i)) for i in range(14)), code=3)
        for name in "pr_comment.md", "README.md":
            self.assertTrue(40000 < len(self.file(name)) < 65000, name)

    def test_numbers_that_lie(self):
        lies = made(40)
        for segment in lies["segments"]:
            segment["total_size"] = 2**63 + 5
            for block in segment["blocks"]:
                block["size"] = 2**63
        for event in lies["device_traces"][0]:
            event["size"] = 2**62
            event["time_us"] = 10**15 - event["time_us"]
        self.pair()
        write(self.at("lies.pickle"), lies)
        self.diff("base.pickle", "lies.pickle")
        self.diff("lies.pickle", "base.pickle", "lies.pickle")

    def test_sums_beyond_64_bits(self):
        """One site loses 2^63 - 1 bytes, two gain nearly as much: what is not listed is the most that can be told."""
        def trace(*sizes):
            return {"segments": [], "device_traces": [[
                {"action": "alloc", "addr": 512 * (i + 1), "size": size, "stream": 0,
                 "frames": [frame(f"site{size % 7}{i}", f"/app/made{len(sizes)}{i}.py", 1)]} for i, size in enumerate(sizes)]]}

        most = (1 << 63) - 1
        write(self.at("base.pickle"), trace(most))
        write(self.at("new.pickle"), trace(most - 5, most - 6))
        self.diff("--no-charts", "-q", "--top", "1", "base.pickle", "new.pickle")
        report = self.file("diff_report.txt")
        self.assertNotIn(".png", report)
        rests = re.findall(r"others, not listed +(\S+ \S+)", report)
        self.assertTrue(rests, report)
        self.assertEqual(set(rests), {"+8.00 EiB"}, report)

    def test_many_files_of_one_name(self):
        paths = []
        for i in range(40):
            os.makedirs(self.at(f"iteration_{i}"))
            paths.append(write(self.at(f"iteration_{i}", "rank0_memory_snapshot.pickle"), made(20 + 3 * i)))
        found = self.numbers(*paths)
        for line in self.file("diff_report.txt").splitlines():
            self.assertLessEqual(len(line), 80)
        self.assertEqual(len({r["name"] for r in found["runs"]}), 40)
        series, = found["scaling"]
        self.assertEqual(series["n"], list(range(40)))
        fit = {f["what"]: f for f in series["fits"]}["peak requested"]
        self.assertEqual(fit["law"], "linear")  # 50 MiB and 3 MiB for each
        self.assertAlmostEqual(fit["c0"], 50 * MIB, delta=1)
        self.assertAlmostEqual(fit["c1"], 3 * MIB, delta=1)


main()
