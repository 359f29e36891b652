#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""demo.gmtrace is what its generator makes, can be followed exactly, and shows what a demo should show."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SHIPPED = os.path.join(HERE, "demo.gmtrace")
GMANALYZE = os.environ.get("GMANALYZE") or sys.exit("GMANALYZE names the binary to test with")
GMREPLAY = os.environ.get("GMREPLAY") or sys.exit("GMREPLAY names the binary to test with")


class DemoTrace(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.made = os.path.join(self.folder.name, "made.pickle")
        subprocess.run([sys.executable, "-B", os.path.join(HERE, "make_demo_trace.py"), self.made], check=True,
                       env=dict(os.environ, PYTHONHASHSEED="77"))

    def packed(self, trace):
        """Packed anew, so that the version of zstd does not matter."""
        out = os.path.join(self.folder.name, "packed.gmtrace")
        subprocess.run([GMREPLAY, "-q", "--trace-out", out, trace], check=True)
        with open(out, "rb") as file:
            return file.read()

    def replay(self, *options):
        done = subprocess.run([GMREPLAY, "--json", "-", *options, SHIPPED], check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)["devices"][0]

    def test_the_generator_still_makes_it(self):
        self.assertEqual(self.packed(self.made), self.packed(SHIPPED))
        self.assertLess(os.path.getsize(SHIPPED), 100_000)

    def test_the_allocator_could_have_written_it(self):
        subprocess.run([sys.executable, "-B", os.path.join(HERE, "check_snapshot.py"), self.made], check=True,
                       stdout=subprocess.DEVNULL)

    def test_it_is_followed_exactly_and_expandable_segments_save_a_quarter(self):
        followed, expandable = self.replay("--verify"), self.replay("--alloc-conf", "expandable_segments:True")
        self.assertEqual(followed["exact_addresses_uninferred"], followed["allocs"])
        self.assertGreater(followed["allocs"], 5000)
        self.assertLess(expandable["peak_reserved_bytes"], 0.75 * followed["peak_reserved_bytes"])

    def test_the_report_advises_them(self):
        done = subprocess.run([GMANALYZE, "--no-charts", "-o", self.folder.name, SHIPPED], check=True,
                              stdout=subprocess.PIPE, encoding="utf-8")
        self.assertRegex(done.stdout, r"(?m)^Do this expandable_segments:True, or pad to few lengths, saves 3\.67 GiB, then 10\.36 GiB reserved$")
        with open(os.path.join(self.folder.name, "latest", "analysis_report.txt"), encoding="utf-8") as file:
            self.assertIn("or set PYTORCH_ALLOC_CONF=expandable_segments:True", " ".join(file.read().split()))


unittest.main()
