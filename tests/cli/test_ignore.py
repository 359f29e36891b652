#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--ignore, --ignore-file and --fail-on: what is left out, what is counted, what is refused."""
import os
import subprocess
import sys

from harness import Case, Run, main, write

REPLAY = os.environ.get("GMREPLAY") or sys.exit("GMREPLAY names the binary to test")
LIST, STALE = "tensors-in-a-list", "stale-reference"


def two_mistakes(times=1):
    """80 MiB of every round are kept in a list; logits of 300 MiB live into the next round; or so many times that."""
    run, logits = Run(), None
    for _ in range(8):
        hidden = run.forward()
        run.alloc(80 * times, 11, ("features", 9))
        new = run.alloc(300 * times, 12, ("head", 33))
        if logits:
            run.free(logits)
        logits = new
        run.free(hidden)
    run.free(logits)
    return run.snapshot()


def out_of_memory():
    run = Run()
    run.alloc(400, 11, ("head", 9))
    run.allocator.trace.append({"action": "oom", "addr": 0, "device_free": 0, "size": 900 << 20, "stream": 0,
                                "time_us": run.allocator.clock(), "frames": run.stack(12, ("head", 9))})
    return run.snapshot()


class Ignore(Case):
    def setUp(self):
        super().setUp()
        write(self.snapshot, two_mistakes())

    def found(self, *arguments, **options):
        return self.analysis(*arguments, self.snapshot, **options)

    def ids(self, report, key):
        return [row["id"] for row in report[key]]

    def test_without(self):
        report = self.found()
        self.assertEqual(self.ids(report, "to_do")[:2], [LIST, STALE])
        self.assertEqual((report["ignored"], report["ignore_rules"]), ([], []))

    def test_one(self):
        """The other one moves up, in the list and in the headline; what was left out stands apart."""
        report = self.found("--ignore", LIST)
        self.assertNotIn(LIST, self.ids(report, "findings") + self.ids(report, "to_do"))
        self.assertEqual(self.ids(report, "to_do")[0], STALE)
        self.assertIn("head", report["headline"][4]["text"])
        row = report["ignored"][0]
        self.assertEqual((row["id"], row["rule"], row["severity"]), (LIST, LIST, "warning"))
        self.assertGreaterEqual(row["bytes"], 560 << 20)
        self.assertIn("features", row["site"])
        self.assertEqual(report["ignore_rules"], [{"rule": LIST, "place": "--ignore", "findings": 1}])

    def test_a_site_of_two_places(self):
        """Cut for its line, it keeps the file where it was made, not the last one with the first one's function."""
        demo = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "demo.gmtrace")
        self.run_it("-q", "--no-charts", "--ignore", "variable-shapes", demo)
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r"\nIGNORED\n(.*\n)+? +(to_device.*)?loader\.py:77, used in train_step")

    def test_all(self):
        """Nothing is guessed in their place, nothing is healthy, and all say how many were left out."""
        rules = ("--ignore", LIST, f"--ignore={STALE}", "--ignore", "replayed-settings")
        done = self.run_it("--no-charts", *rules, self.snapshot)
        self.assertIn(b"Do this nothing but what is ignored (3 findings)", done.stdout)
        self.assertIn("snapshot.pickle: 3 findings ignored by 3 rules\n", done.stderr.decode())
        run = self.at("results", self.latest())
        for name in ("analysis_report.txt", "README.md"):
            with open(os.path.join(run, name), encoding="utf-8") as file:
                self.assertIn("3 findings ignored by 3 rules.", file.read())
        report = self.found(*rules)
        self.assertNotIn("healthy", self.ids(report, "findings"))
        self.assertFalse([row for row in report["to_do"] if row["site"] is not None])
        self.assertEqual(self.run_it("-q", "--no-charts", "--ignore", LIST, self.snapshot).stderr, b"")

    def test_site(self):
        """Whole words of the site; blanks count once."""
        for site, falls in (("model.py:9", True), ("model.py", True), ("features", True), ("app/model.py:9", True),
                            ("features app/model.py:9", True), ("model.py:90", False), ("model.py:", True),
                            ("del.py", False), ("feature", False), ("train.py:12", False), ("nowhere.py", False)):
            with self.subTest(site=site):
                report = self.found("--ignore", f"{LIST}:{site}")
                self.assertEqual(LIST in self.ids(report, "ignored"), falls)
                self.assertEqual(LIST in self.ids(report, "findings"), not falls)
        self.assertEqual(self.ids(self.found("--ignore", f"{STALE}:model.py:3"), "ignored"), [])

    def test_first_rule_counts(self):
        rules = self.found("--ignore", f"{LIST}:features", "--ignore", LIST)["ignore_rules"]
        self.assertEqual([rule["findings"] for rule in rules], [1, 0])

    def test_file(self):
        path = self.at("rules.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"# known since 3.2\n\n  {LIST}:features   # see #12\r\n\t\n{STALE}\nslow-leak")
        done = self.run_it("--no-charts", "--ignore-file", path, self.snapshot)
        self.assertIn("2 findings ignored by 2 rules, nothing fell under 1 more", done.stderr.decode())
        self.assertIn(f"{path}:6: warning: nothing fell under the rule 'slow-leak'", done.stderr.decode())
        report = self.found("--ignore-file", path)
        self.assertEqual([rule["place"] for rule in report["ignore_rules"]], [f"{path}:3", f"{path}:5", f"{path}:6"])

    def test_unused_in_all(self):
        """A rule that one of two snapshots needs is of use."""
        other = write(self.at("other.pickle"))
        done = self.run_it("--no-charts", "--ignore", LIST, "--ignore", "slow-leak", self.snapshot, other)
        self.assertEqual(done.stderr.count(b"warning"), 1)
        self.assertIn(b"--ignore: warning: nothing fell under the rule 'slow-leak'", done.stderr)

    def test_refused(self):
        path = self.at("rules.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\ntensor-in-a-lists\n")
        self.assert_one_error(self.run_it("--ignore", "tensor-in-list", self.snapshot, code=2), "--ignore: ",
                              f"did you mean '{LIST}'?")
        self.assert_one_error(self.run_it("--ignore-file", path, self.snapshot, code=2), f"{path}:2: ",
                              f"did you mean '{LIST}'?")
        self.assert_one_error(self.run_it("--ignore", f"{LIST}: ", self.snapshot, code=2), "names no site")
        self.assert_one_error(self.run_it("--ignore", "", self.snapshot, code=2))
        self.assert_one_error(self.run_it("--ignore-file", self.at("none"), self.snapshot, code=3), "cannot open")
        self.assert_one_error(self.run_it(*["--ignore", LIST] * 65, self.snapshot, code=2), "--ignore: more than 64")
        self.assertEqual(self.runs(), [])

    def test_out_of_memory(self):
        write(self.snapshot, out_of_memory())
        self.assertIn("ran out of memory", self.found()["headline"][2]["text"])
        report = self.found("--ignore", "out-of-memory")
        self.assertNotIn("memory", report["headline"][2]["text"])
        self.assertEqual(self.ids(report, "ignored"), ["out-of-memory"])

    def test_fail_on(self):
        quiet = ("-q", "--no-charts", self.snapshot)
        done = self.run_it("--fail-on", "warning", *quiet, code=1)
        self.assert_one_error(done, "check failed: 2 findings of severity warning or more, the first is " + LIST)
        self.assertEqual(len(self.runs()), 1)
        self.run_it("--fail-on", "warning", "--ignore", LIST, *quiet, code=1)
        self.run_it("--fail-on", "warning", "--ignore", LIST, "--ignore", STALE, *quiet)
        self.run_it("--fail-on", "critical", *quiet)
        self.run_it("--fail-on", "fatal", *quiet, code=2)

    def test_plan(self):
        """A finding that is left out is no fix of gmreplay's plan."""
        def replay(*arguments, code=0):
            done = subprocess.run([REPLAY, *arguments, self.snapshot], capture_output=True, check=False, timeout=60)
            self.assertEqual(done.returncode, code, done.stderr)
            return done
        write(self.snapshot, two_mistakes(16))
        plan = ("--plan", "rtx-4060")
        self.assertIn(b"append tensor.c", replay(*plan).stdout)
        left = replay(*plan, "--ignore", LIST, "--ignore", "slow-leak")
        self.assertNotIn(b"append tensor.c", left.stdout)
        self.assertIn(b"nothing fell under the rule 'slow-leak'", left.stderr)
        self.assertIn(b"did you mean", replay(*plan, "--ignore", "slow-leaks", code=2).stderr)
        replay("--ignore", LIST, code=2)


main()
