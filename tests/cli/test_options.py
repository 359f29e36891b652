#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every option of gmanalyze, the operands, names and exit codes, seen from outside."""
import json
import os
import re

from harness import CHARTS, MIB, PAGE, SOURCE, TEXTS, TRACE_CHARTS, TRACE_FILES, Case, main, small_snapshot, write

OPTIONS = ["--results", "--name", "--json", "--categories", "--device", "--top", "--no-charts", "--salvage",
           "--fail-above", "--fail-below-efficiency", "--quiet", "--verbose", "--help", "--version", "-o", "-n", "-j",
           "-q", "-v", "--from", "--to", "--stream", "--min-size", "--group", "--depth", "--explain", "--source", "--export",
           "--csv-full", "--fail-on", "--ignore", "--ignore-file", "--memory-summary", "--gpu", "--tokens", "--sequences", "--replay-events",
           "--tree", "--chart"]


class Help(Case):
    def test_help(self):
        page = self.run_it("--help").stdout.decode("ascii")
        lines = page.splitlines()
        start = "\n".join(lines[:24])
        for word in ("Examples:", "Usage:", "Options:", "--results", "--json", "--fail-above"):
            self.assertIn(word, start)
        self.assertLess(page.index("Examples:"), page.index("Usage:"))
        for option in OPTIONS:
            self.assertRegex(page, rf"(?m)(^ +|, ){option}\b")
        self.assertEqual(page, self.run_it("-h", "nonsense").stdout.decode())

    def test_the_documentation_knows_every_option(self):
        page = self.run_it("--help").stdout.decode()
        with open(os.path.join(SOURCE, "docs", "cli.md"), encoding="utf-8") as file:
            document = file.read()
        for option in re.findall(r"(?m)^ +(?:-\w, )?(--[a-z-]+)", page):
            self.assertIn(f"`{option}", document)

    def test_version(self):
        self.assertRegex(self.run_it("--version").stdout, rb"\Agmanalyze \d+\.\d+\.\d+\n\Z")


class Usage(Case):
    def test_wrong_usage_is_2(self):
        for arguments in ([], ["--nonsense", "x"], ["-Z"], ["--top"], ["--top", "0"], ["--top", "-3"], ["--top", "1e3"],
                          ["--top", "99999999999999999999"], ["--top=", "x"], ["-j", "0"], ["-j", "x"],
                          ["--device", "-1"], ["--fail-above", "lots"], ["--fail-above", "-1"],
                          ["--fail-below-efficiency", "101"], ["--fail-below-efficiency", "nan"],
                          ["--fail-below-efficiency", "1x"], ["--no-charts=yes"], ["--quiet=1"], ["-"] * 2,
                          ["--results"], ["--jso", "x"], ["--from", "yesterday"], ["--from", ""], ["--to", "-1"],
                          ["--to", "3.5"], ["--to", "3h"], ["--from", "step:"], ["--from", "step:x"], ["--from", "event:1s"],
                          ["--from", "9223372036854775808"], ["--to", "99999999999999s"], ["--from", "7", "--to", "6"],
                          ["--from", "2s", "--to", "1999ms"], ["--stream", "main"], ["--stream", "--1"],
                          ["--stream", "0x"], ["--stream", "12g"], ["--min-size", "big"], ["--group", "site"],
                          ["--group", "Stack"], ["--depth", "0"], ["--depth", "many"], ["--export", "svg"],
                          ["--export", ""], ["--export", "folded,"], ["--export", "folded;pprof"],
                          ["--explain", "--json", "-"], ["--csv-full=1"], ["--explain=yes"]):
            with self.subTest(arguments=arguments):
                done = self.run_it(*arguments, *([] if arguments in ([], ["--top"], ["--results"]) else ["snapshot.pickle"]),
                                   code=2)
                self.assert_one_error(done)
                self.assertEqual(done.stdout, b"")
                self.assertEqual(self.runs(), [])

    def test_messages_name_the_option(self):
        self.assert_one_error(self.run_it("--frobnicate=3", code=2), "unknown option --frobnicate", "--help")
        self.assert_one_error(self.run_it("--no_chart", "x", code=2), "did you mean '--no-charts'?")
        self.assert_one_error(self.run_it("--group", "fnction", "x", code=2), "did you mean 'function'?")
        self.assert_one_error(self.run_it("--top", "many", "x", code=2), "--top", "'many'")
        self.assert_one_error(self.run_it("x", "-o", code=2), "-o needs an argument: DIR")

    def test_two_dashes_end_options(self):
        write(self.at("--top"))
        self.run_it("-q", "--", "--top")
        self.assertEqual(len(self.runs()), 1)

    def test_options_may_follow_operands_and_be_glued(self):
        self.run_it("snapshot.pickle", "-qoelsewhere", "--top=3", "-j2", "--name=n")
        self.assertRegex(self.runs("elsewhere")[0], r"_n\Z")

    def test_the_last_of_a_repeated_option_counts(self):
        self.run_it("-q", "-o", "one", "-o", "two", "snapshot.pickle")
        self.assertEqual((self.runs("one"), len(self.runs("two"))), ([], 1))


class Open(Case):
    """--open, with a script for a browser."""

    def setUp(self):
        super().setUp()
        with open(self.at("browser"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho noise\nprintf "%s\\n" "$@" > "$0.shown"\n')
        os.chmod(self.at("browser"), 0o755)

    def opened(self, browser, *options, code=0):
        done = self.run_it("--no-charts", "-o", "with blanks", *options, "snapshot.pickle", code=code,
                           env={**os.environ, "BROWSER": browser.replace("@", self.at("browser"))})
        if not os.path.exists(self.at("browser.shown")):
            return done, None
        with open(self.at("browser.shown"), encoding="utf-8") as file:
            return done, file.read().splitlines()

    def test_the_page_is_shown_to_whom_asks(self):
        self.assertEqual(self.opened("@")[1], None)
        if not PAGE:
            self.assert_one_error(self.opened("@", "--open", code=4)[0], "--open", "without the page")
            self.skipTest("built without the page")
        for browser, before in (("@", []), ("/none/at/all:@", []), ("@ --new %s", ["--new"]), ("@ --new", ["--new"])):
            done, shown = self.opened(browser, "--open")
            page = os.path.realpath(self.at("with blanks", "latest", "memory.html"))
            self.assertEqual(shown, [*before, page])
            self.assertNotIn(b"noise", done.stdout)
        done, _ = self.opened("/none/at/all", "--open", code=4)
        self.assertIn(b"--open: no browser shows", done.stderr)
        self.assertEqual(len(self.runs("with blanks")), 6)  # the report is there all the same

    def test_a_page_that_nobody_wants(self):
        self.assert_one_error(self.opened("@", "--open", "--no-page", code=2)[0], "--open", "--no-page")


class Operands(Case):
    def names(self):
        return [re.sub(r"\A\d{8}_\d{6}_", "", run) for run in self.runs()]

    def test_one_operand_is_a_snapshot(self):
        self.assert_one_error(self.run_it("nameless", code=3), "nameless")

    def test_the_last_of_two_is_a_name(self):
        self.run_it("-q", "snapshot.pickle", "before")
        self.assertEqual(self.names(), ["before"])

    def test_the_last_of_two_is_a_snapshot_if_there_is_such_a_file(self):
        write(self.at("before"))
        self.run_it("-q", "snapshot.pickle", "before")
        self.assertEqual(self.names(), ["before", "snapshot"])

    def test_the_last_of_two_is_a_snapshot_if_it_looks_like_one(self):
        for name in ("a.pickle", "a.pkl", "a.snap", "a.json", "a.html", "a.gmtrace", "a.pickle.gz", "a.json.zst"):
            self.assert_one_error(self.run_it("-q", "snapshot.pickle", name, code=3), name)

    def test_a_folder_does_not_keep_a_name_from_being_one(self):
        os.mkdir(self.at("before"))
        self.run_it("-q", "snapshot.pickle", "before")
        self.assertEqual(self.names(), ["before"])

    def test_the_last_but_one_of_three_is_where_results_go(self):
        write(self.at("b.pickle"))
        write(self.at("-"))
        for folder in ("d", "x.pickle", "link_to", "old/deep"):
            os.makedirs(self.at(folder))
        os.symlink("link_to", self.at("link"))
        for line, results, names in (
                ("snapshot.pickle d N", "d", ["N"]), ("snapshot.pickle d/ N", "d", ["N"]),
                ("snapshot.pickle new/deeper/ N", "new/deeper", ["N"]), ("snapshot.pickle new.json/ N", "new.json", ["N"]),
                ("snapshot.pickle x.pickle N", "x.pickle", ["N"]), ("snapshot.pickle link N", "link_to", ["N"]),
                ("snapshot.pickle ./ N", ".", ["N"]), ("snapshot.pickle old/deep d", "old/deep", ["d"]),
                ("snapshot.pickle b.pickle d N", "d", ["N_b", "N_snapshot"]),
                ("snapshot.pickle d b.pickle", "d", ["b", "snapshot"]),
                ("-n N snapshot.pickle d b.pickle", "d", ["N_b", "N_snapshot"]),
                ("snapshot.pickle -- d N", "d", ["N"]), ("snapshot.pickle d -j 1 N", "d", ["N"])):
            with self.subTest(line):
                before = set(self.runs(results))
                self.run_it("-q", "--no-charts", *line.split())
                made = sorted(run.split("_", 2)[2] for run in set(self.runs(results)) - before)
                self.assertEqual([re.sub(r"_\d+\Z", "", name) for name in made], names)
                self.assertFalse(os.path.exists(self.at("results")))
        with open(self.snapshot, "rb") as file:
            self.run_it("-q", "--no-charts", "-", "d", "of_stdin", input=file.read())
        self.assertEqual(sum(run.endswith("_of_stdin") for run in self.runs("d")), 1)
        for line in ("-o e snapshot.pickle d N", "snapshot.pickle d/ N -o d", "-oe snapshot.pickle new/ b.pickle"):
            self.assert_one_error(self.run_it("-q", *line.split(), code=2), "-o and the operand")
        for line in ("snapshot.pickle d", "-n N snapshot.pickle", "b.pickle snapshot.pickle N"):  # two are no three
            self.run_it("-q", "--no-charts", *line.split(), "-o", "two")
        self.assertEqual(sorted(run.split("_", 2)[2] for run in self.runs("two")),
                         ["N", "N_b", "N_snapshot", "d"])
        done = self.run_it("-q", "--no-charts", "d", "d", "N", code=3)
        self.assert_one_error(done, "d: it is a directory; gmfleet DIR")
        self.run_it("-q", "--no-charts", "snapshot.pickle", "missing", "N", code=3)  # no directory, no /: a snapshot
        self.assertEqual(len(self.runs()), 1)

    def test_with_n_all_operands_are_snapshots(self):
        self.assert_one_error(self.run_it("-q", "-n", "x", "snapshot.pickle", "before", code=3), "before")

    def test_names_are_cleaned(self):
        self.run_it("-q", "snapshot.pickle", "../a b/ü|x")
        self.assertRegex(self.names()[0], r"\A[A-Za-z0-9._-]+\Z")
        self.assertEqual(os.listdir(self.folder).count("results"), 1)

    def test_names_are_found_in_paths(self):
        os.makedirs(self.at("iteration_1"))
        write(self.at("iteration_1", "rank0_memory_snapshot.pickle"))
        self.run_it("-q", "iteration_1/rank0_memory_snapshot.pickle")
        self.run_it("-q", "snapshot.pickle")
        self.assertEqual(self.names(), ["iter1_rank0", "snapshot"])

    def test_several_snapshots(self):
        os.mkdir(self.at("iteration_2"))
        for rank in range(3):
            write(self.at("iteration_2", f"rank{rank}.pickle"))
        paths = [f"iteration_2/rank{rank}.pickle" for rank in (2, 0, 1)]
        self.run_it("-q", *paths)
        self.assertEqual(self.names(), ["iter2_rank0", "iter2_rank1", "iter2_rank2"])
        self.assertTrue(self.latest().endswith("iter2_rank1"))
        self.run_it("-q", *paths, "exp")
        self.assertIn("exp_iter2_rank0", self.names())

    def test_an_input_is_never_overwritten(self):
        before = os.path.getsize(self.snapshot)
        os.symlink("snapshot.pickle", self.at("link"))
        for target in ("snapshot.pickle", "./snapshot.pickle", "link"):
            self.assertIn(b"overwrite", self.run_it("--json", target, "snapshot.pickle", code=2).stderr)
        self.assertEqual(os.path.getsize(self.snapshot), before)
        self.run_it("-o", "", "snapshot.pickle", code=2)
        self.assert_one_error(self.run_it("--json", "", "snapshot.pickle", code=2), "--json is empty")
        self.assert_one_error(self.run_it("", code=3), "'': cannot open")

    def test_without_a_trace_the_total_counts(self):
        both = small_snapshot(devices=2)  # 72 MiB on each
        both["device_traces"] = []
        write(self.at("both.pickle"), both)
        self.run_it("--fail-above", "144MiB", "both.pickle")
        self.run_it("--fail-above", "143MiB", "both.pickle", code=1)
        write(self.at("both.pickle"), small_snapshot(devices=2))
        self.run_it("--fail-above", "72MiB", "both.pickle")

    def test_equal_names_are_numbered_in_operand_order(self):
        paths = []
        for i in range(6):  # the later, the smaller: the last would be done first
            os.mkdir(self.at(f"run{i}"))
            paths.append(write(self.at(f"run{i}", "rank7.pickle"), small_snapshot(megabytes=60 - 10 * i)))
        said = self.run_it("-j", "4", "--no-charts", *paths, "-n", "x").stdout.decode()
        for i, path in enumerate(paths):
            name = "x_rank7" + ("" if i == 0 else f"_{i + 1}")
            run, = [r for r in self.runs() if r.split("_", 2)[2] == name]
            with open(self.at("results", run, "analysis.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["snapshot"]["path"], path)
            self.assertRegex(said, rf"(?s){re.escape(path)}:\n(?:[^\n]+\n){{5}}Report  results/{run}\n")

    def test_stdin(self):
        with open(self.snapshot, "rb") as file:
            self.run_it("-q", "-", input=file.read())
        self.assertEqual(self.names(), ["stdin"])


class Page(Case):
    def test_viewer(self):
        """The page without a trace; a program that was built without it says so."""
        done = self.run_it("--viewer", "page.html", code=0 if PAGE else 4)
        if not PAGE:
            self.assertIn(b"without the page", done.stderr)
            return
        self.assertEqual((done.stdout, done.stderr), (b"", b""))
        with open(self.at("page.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertLess(len(page), 1 << 20)
        self.assertIn("Content-Security-Policy", page)
        self.assertNotIn('class="gm-run" data-name', page)
        self.assertFalse(os.path.exists(self.at("results")))

    def test_no_page(self):
        write(self.at("snapshot.pickle"))
        self.run_it("--no-page", "-n", "without", "snapshot.pickle")
        self.run_it("-n", "with", "snapshot.pickle")
        files = [set(os.listdir(self.at("results", name))) for name in sorted(os.listdir(self.at("results")))
                 if name != "latest"]
        self.assertEqual(files[0] ^ files[1], PAGE)


class Values(Case):
    def test_json(self):
        self.run_it("--json", "out.json", "snapshot.pickle")
        with open(self.at("out.json"), "rb") as one, open(self.at("results/latest/analysis.json"), "rb") as two:
            self.assertEqual(one.read(), two.read())
        analysis = self.analysis("snapshot.pickle")
        self.assertEqual(analysis["schema"], "gmanalyze.analysis/1")
        self.assertEqual(analysis["totals"]["reserved_bytes"], 72 * MIB)
        self.assertEqual(analysis["totals"]["allocated_bytes"], 30 * MIB + 1024)
        self.assertEqual(analysis["totals"]["efficiency_percent"], 41.668)

    def test_json_of_several_is_an_array(self):
        write(self.at("b.pickle"), small_snapshot(megabytes=50))
        both = self.analysis("snapshot.pickle", "b.pickle", "-j2")
        self.assertEqual([a["snapshot"]["path"] for a in both], ["snapshot.pickle", "b.pickle"])
        with_bad = self.analysis("missing.pickle", "b.pickle", code=3)
        self.assertEqual([a["snapshot"]["path"] for a in with_bad], ["b.pickle"])

    def test_json_on_stdout_is_alone_there(self):
        done = self.run_it("--json", "-", "snapshot.pickle")
        json.loads(done.stdout)
        self.assertEqual(done.stderr, b"")

    def test_summary(self):
        done = self.run_it("snapshot.pickle")
        lines = done.stdout.decode().splitlines()
        self.assertEqual(len(lines), 6)
        self.assertTrue(lines[-1].endswith("results/" + self.latest()), lines[-1])
        self.assertEqual(done.stderr, b"")

    def test_quiet_and_verbose(self):
        done = self.run_it("-q", "snapshot.pickle")
        self.assertEqual((done.stdout, done.stderr), (b"", b""))
        done = self.run_it("-v", "snapshot.pickle")
        self.assertRegex(done.stderr, rb"read\+decode [\d.]+ ms, analyse [\d.]+ ms, draw [\d.]+ ms, write [\d.]+ ms")
        self.assertRegex(done.stderr, rb"total [\d.]+ ms")

    def test_charts(self):
        self.run_it("-q", "snapshot.pickle", "with")
        self.run_it("-q", "--no-charts", "snapshot.pickle", "without")
        without, with_them = sorted(self.runs(), key=lambda run: run.endswith("_with"))
        self.assertEqual(set(os.listdir(self.at("results", with_them))), CHARTS | TEXTS | TRACE_CHARTS | TRACE_FILES)
        self.assertEqual(set(os.listdir(self.at("results", without))), TEXTS | TRACE_FILES)
        with open(self.at("results", with_them, "README.md"), encoding="utf-8") as file:
            shown = file.read()
        for chart in CHARTS | TRACE_CHARTS - {"flamegraph.svg"}:
            self.assertIn(f"({chart})", shown)
            with open(self.at("results", with_them, chart), "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
            self.assertLess(os.path.getsize(self.at("results", with_them, chart)), 150000)
        with open(self.at("results", without, "README.md"), encoding="utf-8") as file:
            self.assertNotIn(".png", file.read())

    def test_charts_without_a_trace(self):
        """What happened over time is not drawn, and the README does not mention it."""
        write(self.at("bare.pickle"), small_snapshot()["segments"])
        self.run_it("-q", "bare.pickle")
        run = self.at("results", self.latest())
        self.assertEqual(set(os.listdir(run)), CHARTS | TEXTS)
        with open(os.path.join(run, "README.md"), encoding="utf-8") as file:
            self.assertEqual(set(re.findall(r"\((\w+\.(?:png|svg))\)", file.read())), CHARTS)

    def test_device(self):
        write(self.at("two.pickle"), small_snapshot(devices=2))
        self.assertEqual([d["device"] for d in self.analysis("two.pickle")["devices"]], [0, 1])
        only = self.analysis("--device", "1", "two.pickle")
        self.assertEqual([d["device"] for d in only["devices"]], [1])
        self.assertEqual(only["totals"]["reserved_bytes"], 72 * MIB)
        self.assert_one_error(self.run_it("--device", "7", "two.pickle", code=2), "two.pickle", "7")

    def test_top(self):
        self.assertEqual(len(self.analysis("snapshot.pickle")["top_blocks"]), 2)
        self.assertEqual([b["bytes"] for b in self.analysis("--top", "1", "snapshot.pickle")["top_blocks"]], [30 * MIB])

    def test_threads_do_not_change_what_is_said(self):
        paths = [write(self.at(f"rank{i}.pickle"), small_snapshot(megabytes=20 + i)) for i in range(8)]
        said = {}
        for threads in ("1", "2", "8"):
            done = self.run_it("--no-charts", "-j", threads, "-o", "j" + threads, *map(os.path.basename, paths), "missing.pkl",
                               code=3)
            said[threads] = re.sub(rb"j\d+/\d{8}_\d{6}", b"", done.stdout)
            self.assertTrue(self.latest("j" + threads).endswith("rank7"))
        self.assertEqual(said["1"], said["2"])
        self.assertEqual(said["1"], said["8"])

    def test_categories(self):
        self.assert_one_error(self.run_it("--categories", "missing", "snapshot.pickle", code=3), "missing")
        with open(self.at("bad"), "w", encoding="utf-8") as file:
            file.write("this is no rule\n")
        self.assert_one_error(self.run_it("--categories", "bad", "snapshot.pickle", code=2), "bad:1:")
        with open(os.path.join(SOURCE, "analyze/state/default.categories"), encoding="utf-8") as file:
            rules = file.read()
        self.assertIn("Attention", rules)
        with open(self.at("mine"), "w", encoding="utf-8") as file:
            file.write(rules.replace("Attention", "Looking"))
        names = [c["name"] for c in self.analysis("--categories", "mine", "snapshot.pickle")["categories"]]
        self.assertIn("Looking", names)
        self.assertNotIn("Attention", names)


class Checks(Case):
    def test_fail_above(self):
        """Peak reserved of the fixture is 72 MiB, by hand."""
        self.run_it("--fail-above", "72MiB", "snapshot.pickle")
        done = self.run_it("--fail-above", str(72 * MIB - 1), "snapshot.pickle", code=1)
        self.assert_one_error(done, "snapshot.pickle", "72.00 MiB", "device 0")
        self.assert_complete(self.latest())
        self.assertEqual(len(done.stdout.splitlines()), 6)

    def test_fail_above_looks_at_the_peak(self):
        """A segment that was given back still counts: 72 + 100 MiB."""
        snapshot = small_snapshot()
        trace = snapshot["device_traces"][0]
        gone = {"addr": 1 << 46, "size": 100 * MIB, "stream": 0, "time_us": 1}
        snapshot["device_traces"][0] = [dict(gone, action="segment_alloc"), *trace, dict(gone, action="segment_free")]
        write(self.at("peak.pickle"), snapshot)
        self.run_it("-q", "--fail-above", "172M", "peak.pickle")
        self.run_it("-q", "--fail-above", "171M", "peak.pickle", code=1)

    def test_fail_above_without_a_trace(self):
        write(self.at("bare.pickle"), small_snapshot()["segments"])
        self.run_it("-q", "--fail-above", "72m", "bare.pickle")
        self.run_it("-q", "--fail-above", "71.9mb", "bare.pickle", code=1)

    def test_fail_above_is_for_each_device(self):
        write(self.at("two.pickle"), small_snapshot(devices=2))
        self.run_it("-q", "--fail-above", "80M", "two.pickle")

    def test_fail_below_efficiency(self):
        """(30 MiB + 1024) / 72 MiB is 41.66802 %, by hand."""
        self.run_it("-q", "--fail-below-efficiency", "41.668", "snapshot.pickle")
        self.run_it("-q", "--fail-below-efficiency", "41.6681", "snapshot.pickle", code=1)
        self.run_it("-q", "--fail-below-efficiency", "50%", "snapshot.pickle", code=1)
        self.assertTrue(all(self.assert_complete(run) for run in self.runs()))

    def test_nothing_reserved_is_not_inefficient(self):
        write(self.at("empty.pickle"), {"segments": [], "device_traces": [[]]})
        self.run_it("-q", "--fail-below-efficiency", "100", "--fail-above", "0", "empty.pickle")

    def test_the_largest_code_is_returned(self):
        self.run_it("-q", "--fail-above", "1M", "snapshot.pickle", "missing.pickle", code=3)
        self.run_it("-q", "--fail-above", "1M", "missing.pickle", "snapshot.pickle", code=3)
        write(self.at("big.pickle"), small_snapshot(megabytes=80))
        self.run_it("-q", "--fail-above", "100M", "big.pickle", "snapshot.pickle", code=1)


if __name__ == "__main__":
    main()
