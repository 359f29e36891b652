# SPDX-License-Identifier: Apache-2.0
"""--format: what the programs say to a CI, read again by readers that are not ours. GM_SARIF_SCHEMA may name the
schema of SARIF 2.1.0, which is looked at where jsonschema is installed."""
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

from harness import BINARY, MIB, SOURCE, Case, Recorded, frame, main, write

GMDIFF = os.environ["GMDIFF"]
GMREPLAY = os.environ["GMREPLAY"]
EVIL = "a%b:c,d\n<x>&\"]]>\x1b\ufffe"
COMMAND = re.compile(r"^::(notice|warning|error) (?:([a-zA-Z]+=[^,:\n]*(?:,[a-zA-Z]+=[^,:\n]*)*))?::([^\r\n]*)$")


def snapshot(*sites):
    """(MiB, function, file, line) each."""
    allocator = Recorded()
    for megabytes, name, file, line in sites:
        allocator.alloc(megabytes * MIB, [frame(name, file, line), frame("main", "/build/train.py", 3)])
    return allocator.snapshot()


def unescape(text):
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def commands(text):
    """GitHub's runner on our lines: [(level, {property: value}, message)]."""
    found = []
    for line in text.splitlines():
        match = COMMAND.match(line)
        assert match is not None, line
        properties = dict(item.split("=", 1) for item in (match.group(2) or "").split(",") if item)
        found.append((match.group(1), {key: unescape(value) for key, value in properties.items()}, unescape(match.group(3))))
    return found


class Formats(Case):
    def setUp(self):
        super().setUp()
        write(self.at("base.pickle"), snapshot((100, "forward", "/build/model/attention.py", 3), (10, "forward", "/build/model/mlp.py", 2)))
        write(self.at("new.pickle"), snapshot((150, "forward", "/build/model/attention.py", 4), (10, "forward", "/build/model/mlp.py", 2),
                                              (30, "helper", "/x/site-packages/lib/a.py", 3), (20, EVIL, "/build/far.py", 99)))
        for name, lines in (("model/attention.py", 10), ("model/mlp.py", 2), ("far.py", 5)):
            path = self.at("checkout", *name.split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as file:
                file.write("pass\n" * lines)

    def call(self, program, *words, code=0):
        done = subprocess.run([program, "--no-charts", "--no-page", *words], cwd=self.folder, capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def diff(self, form, *words, code=1):
        return self.call(GMDIFF, "--fail-growth", "2%", "--source", "checkout", "--format", form, *words,
                         "base.pickle", "new.pickle", code=code)

    def check_github(self, text):
        found = commands(text)
        self.assertEqual([(level, about.get("file"), about.get("line"), about["title"]) for level, about, _ in found],
                         [("error", None, None, "fail-growth"), ("error", None, None, "fail-growth"),
                          ("warning", "checkout/model/attention.py", "4", "grown-call-site"),
                          ("warning", None, None, "grown-call-site"),
                          ("warning", "checkout/far.py", None, "grown-call-site")])  # it has no line 99
        self.assertIn("peak reserved of device 0 was 110.0 MiB and is 210.0 MiB, which is over the limit of 2%", found[0][2])
        self.assertIn("holds 150.0 MiB and held 100.0 MiB before", found[2][2])
        self.assertIn("holds 30.00 MiB and held nothing before", found[3][2])
        self.assertIn("a%b:c,d", found[4][2])

    def test_github(self):
        self.check_github(self.diff("github"))

    def test_gitlab(self):
        found = json.loads(self.diff("gitlab"))
        places = [(one["severity"], one["check_name"], one["location"]["path"], one["location"]["lines"]["begin"]) for one in found]
        self.assertEqual(places, [("blocker", "fail-growth", "new.pickle", 1), ("blocker", "fail-growth", "new.pickle", 1),
                                  ("major", "grown-call-site", "checkout/model/attention.py", 4),
                                  ("major", "grown-call-site", "new.pickle", 1),
                                  ("major", "grown-call-site", "checkout/far.py", 1)])
        for one in found:
            self.assertEqual(set(one), {"description", "check_name", "fingerprint", "severity", "location"})
            self.assertRegex(one["fingerprint"], "^[0-9a-f]{32}$")
        prints = [one["fingerprint"] for one in found]
        self.assertEqual(len(set(prints)), len(prints))
        write(self.at("new.pickle"), snapshot((170, "forward", "/build/model/attention.py", 9)))  # it moved and grew: the same
        self.assertIn(prints[2], [one["fingerprint"] for one in json.loads(self.diff("gitlab"))])

    def check_suite(self, suite, tests, failures, errors):
        """The XSD's order and attributes, as Jenkins has them."""
        self.assertEqual((suite.tag, suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped")),
                         ("testsuite", str(tests), str(failures), str(errors), "0"))
        self.assertEqual(len(suite), tests)
        for case in suite:
            self.assertEqual((case.tag, set(case.attrib)), ("testcase", {"classname", "name", "time"}))
            self.assertEqual(len(case), 1)
            self.assertIn(case[0].tag, ("failure", "error", "system-out"))
            self.assertLessEqual(set(case[0].attrib), {"type", "message"})
        self.assertEqual((len(suite.findall("testcase/failure")), len(suite.findall("testcase/error"))), (failures, errors))

    def test_junit(self):
        root = ElementTree.fromstring(self.diff("junit"))
        self.assertEqual((root.tag, dict(root.attrib)), ("testsuites", {"name": "gmdiff", "tests": "5", "failures": "2", "errors": "0"}))
        self.check_suite(root[0], 5, 2, 0)
        self.assertIn("checkout/model/attention.py:4", root[0][2][0].text)
        self.assertIn('<x>&"]]>', root[0][4][0].text)

    def test_junit_of_several(self):
        with open(self.at("bad.pickle"), "wb") as file:
            file.write(b"\x80\x04}\x94(")
        text = self.call(BINARY, "--fail-above", "200MiB", "--fail-below-efficiency", "1", "--format", "junit",
                         "base.pickle", "bad.pickle", "new.pickle", code=3)
        root = ElementTree.fromstring(text)
        self.assertEqual([suite.get("name") for suite in root], ["base.pickle", "bad.pickle", "new.pickle"])
        cases = [{case.get("name"): case[0].tag for case in suite} for suite in root]
        self.assertEqual((cases[0]["readable"], cases[0]["fail-above"], cases[0]["fail-below-efficiency"]), ("system-out",) * 3)
        self.assertEqual(cases[1], {"unreadable": "error"})
        self.assertEqual((cases[2]["fail-above"], cases[2]["fail-below-efficiency"]), ("failure", "system-out"))
        self.check_suite(root[1], 1, 0, 1)

    def test_sarif(self):
        log = json.loads(self.diff("sarif"))
        self.assertEqual((log["version"], len(log["runs"])), ("2.1.0", 1))
        driver, results = log["runs"][0]["tool"]["driver"], log["runs"][0]["results"]
        self.assertEqual([rule["id"] for rule in driver["rules"]], ["fail-growth", "grown-call-site"])
        self.assertEqual([one["level"] for one in results], ["error", "error", "warning", "warning", "warning"])
        for one in results:
            self.assertEqual(driver["rules"][one["ruleIndex"]]["id"], one["ruleId"])
            self.assertTrue(one["message"]["text"])
        places = [one["locations"][0]["physicalLocation"] for one in results]
        self.assertEqual(places[2], {"artifactLocation": {"uri": "checkout/model/attention.py"}, "region": {"startLine": 4}})
        self.assertEqual(places[3], {"artifactLocation": {"uri": "new.pickle"}})
        self.validate(log)
        self.validate(json.loads(self.call(BINARY, "--format", "sarif", "new.pickle")))

    def validate(self, log):
        try:
            import jsonschema
        except ImportError:
            return
        if os.environ.get("GM_SARIF_SCHEMA"):
            with open(os.environ["GM_SARIF_SCHEMA"], encoding="utf-8") as file:
                jsonschema.validate(log, json.load(file))

    def test_files_and_the_summary(self):
        out = self.diff("sarif=a.sarif", "--format", "github=b.txt", "--format=junit=c.xml")
        self.assertIn("results/", out)
        with open(self.at("b.txt"), encoding="utf-8") as file:
            self.check_github(file.read())
        with open(self.at("a.sarif"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["runs"][0]["results"]), 5)
        self.assertEqual(ElementTree.parse(self.at("c.xml")).getroot().tag, "testsuites")

    def test_without_growth(self):
        for form in ("github", "gitlab", "sarif", "junit"):
            text = self.call(GMDIFF, "--fail-growth", "2%", "--format", form, "base.pickle", "base.pickle")
            if form == "github":
                self.assertEqual(text, "")
            elif form == "junit":
                self.check_suite(ElementTree.fromstring(text)[0], 1, 0, 0)
            elif form == "gitlab":
                self.assertEqual(json.loads(text), [])
            else:
                log = json.loads(text)
                self.assertEqual(log["runs"][0]["results"], [])
                self.validate(log)

    def test_base_is_missing(self):
        found = commands(self.call(GMDIFF, "--format", "github", "nowhere.pickle", "new.pickle", code=3))
        self.assertEqual([(level, about["title"]) for level, about, _ in found], [("error", "unreadable")])

    def test_findings_that_fail(self):
        text = self.call(BINARY, "--fail-on", "info", "--format", "github", "new.pickle", code=1)
        self.assertTrue(all(level == "error" for level, _, _ in commands(text)), text)
        self.assertIn("title=fail-on", text)

    def test_fleet(self):
        for rank in range(4):
            sites = [(100, "forward", "/build/model/attention.py", 3)] + [(60, "forward", "/build/model/mlp.py", 2)] * (rank == 2)
            os.makedirs(self.at("job"), exist_ok=True)
            write(self.at("job", f"rank{rank}_memory_snapshot.pickle"), snapshot(*sites))
        with open(self.at("job", "rank4_memory_snapshot.pickle"), "wb") as file:
            file.write(b"\x80\x04}\x94(")
        found = commands(self.call(os.environ["GMFLEET"], "--source", "checkout", "--format", "github", "--format", "junit=f.xml",
                                   "job", code=3))
        self.assertEqual([(level, about.get("file"), about["title"]) for level, about, _ in found],
                         [("error", None, "unreadable"), ("warning", "checkout/model/mlp.py", "odd-rank")])
        self.assertIn("rank2 is unlike the others: against rank", found[1][2])
        self.assertIn("held +60.00 MiB", found[1][2])
        root = ElementTree.parse(self.at("f.xml")).getroot()
        self.assertEqual((root.get("tests"), root.get("errors"), root.get("failures")), ("6", "1", "0"))
        self.assertEqual([suite.get("tests") for suite in root], ["1", "1", "2", "1", "1"])

    def replayed(self, *words, code=1):
        done = subprocess.run([GMREPLAY, *words, "new.pickle"], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def test_replay(self):
        for words, title, about in ((("--limit", "209MiB"), "limit", "peak reserved is 210.0 MiB, the limit 209.0 MiB"),
                                    (("--memory", "180MiB"), "memory", "on device 0 at event 5, for a request of 30.00 MiB: ")):
            ((level, place, text),) = commands(self.replayed(*words, "--format", "github"))
            self.assertEqual((level, place["title"]), ("error", title))
            self.assertIn(about, text)
        ((_, place, _),) = commands(self.replayed("--memory", "140MiB", "--format", "github", "--source", "checkout"))
        self.assertEqual((place["file"], place["line"]), ("checkout/model/attention.py", "4"))
        done = subprocess.run([GMREPLAY, "--memory", "100MiB", "--format", "github", os.path.join(SOURCE, "tests", "data", "demo.gmtrace")],
                              capture_output=True, text=True, check=False)
        self.assertIn("out of memory on device 0, for 2.00 KiB, live since before the trace: ", done.stdout)
        self.assertEqual(self.replayed("--limit", "210MiB", "--format", "github", code=0), "")
        self.check_suite(ElementTree.fromstring(self.replayed("--verify", "--format", "junit", code=0))[0], 1, 0, 0)
        self.assertIn("verdict: PASS", self.replayed("--limit", "1GiB", "--format", "sarif=a.sarif", code=0))
        with open(self.at("a.sarif"), encoding="utf-8") as file:
            self.validate(json.load(file))
        done = subprocess.run([GMREPLAY, "--format", "github", "/dev/null"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout.split("::")[1]), (3, "error title=unreadable"))
        for words, why in ((("--format", "github", "--json", "-"), "only one output"), (("--format", "sarif=new.pickle"), "overwrite")):
            done = subprocess.run([GMREPLAY, *words, "new.pickle"], cwd=self.folder, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)

    def test_usage(self):
        for words, why in ((("--format", "html"), "github, gitlab, junit or sarif"), (("--format", "sarif="), "sarif"),
                           (("--format", "github", "--json", "-"), "--json - and --format github both want standard output"),
                           (("--format", "github", "--format", "sarif"), "both want standard output"),
                           (("--format", "github", "--explain"), "--explain and --format github")):
            done = subprocess.run([BINARY, *words, "new.pickle"], cwd=self.folder, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(why, done.stderr)


main()
