#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/tutorial.md quotes is what the programs print, and each size in its sentences stands in a quoted output. `update`
as argument makes its pictures."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(SOURCE, "docs", "tutorial.md")
IMAGES = os.path.join(SOURCE, "docs", "images")
PROGRAMS = {name: os.environ.get(name.upper(), os.path.join(SOURCE, "build", "bin", name))
            for name in ("gmanalyze", "gmdiff", "gmreplay")}
QUOTED = re.compile(r"(?ms)^```console\n(.*?)^```$")
# Each picture, and which run directory it is of.
PICTURES = {"fragmentation_map.png": "*_before", "plan.png": "*_plan", "diff_timeline.png": "*_demo_vs_after"}


def calls(text):
    """(command, the lines quoted below it), in the page's order."""
    for block in QUOTED.findall(text):
        for call in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, said = call.partition("\n")
            yield command, said


def agree(quoted, printed):
    """Whether the quoted lines are the printed ones, but for "..." in place of some or none of them."""
    return re.fullmatch(re.escape(quoted).replace(re.escape("...\n"), "(?s:.*\n|)"), printed)


class Tutorial(unittest.TestCase):
    def setUp(self):
        with open(PAGE, encoding="utf-8") as file:
            self.text = file.read()
        folder = tempfile.TemporaryDirectory(prefix="gmanalyze-tutorial-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.makedirs(os.path.join(self.folder, "build", "bin"))
        os.symlink(os.path.join(SOURCE, "tests"), os.path.join(self.folder, "tests"))
        for name, program in PROGRAMS.items():
            os.symlink(os.path.abspath(program), os.path.join(self.folder, "build", "bin", name))

    def test_what_is_quoted_is_printed(self):
        there = list(calls(self.text))
        self.assertGreater(len(there), 5)
        for command, quoted in there:
            done = subprocess.run(["bash", "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=300)
            with self.subTest(command=command):
                self.assertTrue(agree(quoted, done.stdout), f"{done.stdout}\n{done.stderr}\nis not what is quoted:\n{quoted}")
        if UPDATE:
            for picture, run in PICTURES.items():
                made, = glob.glob(os.path.join(self.folder, "results", run, picture))
                shutil.copy(made, os.path.join(IMAGES, picture))

    def test_sizes_in_sentences_are_quoted(self):
        quoted = " ".join("\n".join(QUOTED.findall(self.text)).split())
        sentences = " ".join(QUOTED.sub("", self.text).split())
        for size in set(re.findall(r"[\d,]*\d\.\d+ [GMK]iB", sentences)):
            self.assertIn(size, quoted)

    def test_pictures_are_there(self):
        for image in re.findall(r"!\[[^\]]+\]\(images/(\S+)\)", self.text):
            self.assertIn(image, {*PICTURES, "memory_timeline.png"})
            self.assertTrue(os.path.exists(os.path.join(IMAGES, image)), image)

    def test_another_figure_is_found(self):
        self.assertTrue(agree("one\n...\nthree\n", "one\ntwo\nthree\n"))
        self.assertTrue(agree("one\n...\nthree\n", "one\nthree\n"))
        self.assertFalse(agree("one\n...\nthree\n", "one\ntwo\n3\n"))
        self.assertFalse(agree("one\n", "one\ntwo\n"))


UPDATE = sys.argv[1:] == ["update"]
if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
