#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cmake --install into a folder: what is there; that it works where the folder is moved to; and that `uninstall` leaves
nothing. usage: test_install.py CMAKE BUILD [SANITIZERS]"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD = sys.argv[1], os.path.abspath(sys.argv[2])
IS_SANITIZED = len(sys.argv) > 3  # no Python loads such a library by itself
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MANIFEST = os.path.join(BUILD, "install_manifest.txt")
PROGRAMS = ["gmanalyze", "gmdiff", "gmdry", "gmfleet", "gmreplay", "gmtrace"]
FILES = ["lib/gmanalyze/gmpaint.so", "lib/gmanalyze/gmtext.so", "lib/gmanalyze/libgmdry.so", "lib/gmanalyze/gmdry-cudnn",
         "share/gmanalyze/default.categories",
         "share/gmanalyze/default.roles", "share/gmanalyze/gm_record.py", "share/gmanalyze/demo.gmtrace",
         "share/man/man1/gm_record.1", "share/doc/gmanalyze/copyright", "share/doc/gmanalyze/LICENSE", "share/doc/gmanalyze/README.md",
         "share/doc/gmanalyze/docs/cli.md", "share/gmanalyze/python/gmanalyze/__init__.py"]
# What is built only where its tools are.
PERHAPS = {"lib/gmanalyze/libgmrecord.so": "libgmrecord.so", "lib/gmanalyze/gmsqlite.so": "gmsqlite.so",
           "share/gmanalyze/memory.html": "memory.html"}


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def files_in(folder):
    return sorted(os.path.relpath(os.path.join(root, name), folder)
                  for root, _, names in os.walk(folder) for name in names)


class Install(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.work = holder.name
        self.prefix = os.path.join(self.work, "first place")
        # A user's own list of what he installed stays.
        if os.path.exists(MANIFEST):
            shutil.copy(MANIFEST, os.path.join(self.work, "manifest"))
            self.addCleanup(shutil.copy, os.path.join(self.work, "manifest"), MANIFEST)
        run(CMAKE, "--install", BUILD, "--prefix", self.prefix)

    def test_files(self):
        there = files_in(self.prefix)
        for name in FILES + ["bin/" + program for program in PROGRAMS]:
            self.assertIn(name, there)
        for name, built in PERHAPS.items():
            where = [os.path.join(BUILD, built), os.path.join(BUILD, "lib", "gmanalyze", built)]
            self.assertEqual(name in there, any(map(os.path.exists, where)), name)

    def test_moved(self):
        moved = os.path.join(self.work, "second place")
        os.rename(self.prefix, moved)
        for program in PROGRAMS:
            self.assertIn(program, run(os.path.join(moved, "bin", program), "--version"))
        trace, results = os.path.join(moved, "share/gmanalyze/demo.gmtrace"), os.path.join(self.work, "results")
        run(os.path.join(moved, "bin", "gmanalyze"), "-o", results, trace, "moved")
        self.assertIn("memory_timeline.png", os.listdir(os.path.join(results, "latest")))
        if not IS_SANITIZED:
            told = run(sys.executable, "-B", "-c", "import gmanalyze; print(gmanalyze.library_path)", cwd=self.work,
                       env={"PYTHONPATH": os.path.join(moved, "share", "gmanalyze", "python")})
            self.assertTrue(os.path.samefile(told.strip(), os.path.join(moved, "lib", "libgm.so.1")), told)
        # The command has the stand-in of this place.
        told = subprocess.run([os.path.join(moved, "bin", "gmdry"), "-q", "--", "cat", "/proc/self/maps"],
                              capture_output=True, text=True, cwd=self.work)
        self.assertIn(os.path.join(moved, "lib", "gmanalyze", "libgmdry.so"), told.stdout, told.stderr)

    def test_no_configuration_of_fonts(self):
        path = os.path.join(self.work, "chinese.json")
        block = {"size": 2 << 20, "address": 4096, "requested_size": 2 << 20, "state": "active_allocated",
                 "frames": [{"filename": "a.py", "name": "\u8bad\u7ec3", "line": 1}]}  # which the usual font lacks
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"segments": [{"device": 0, "address": 4096, "total_size": 2 << 20, "segment_type": "small",
                                     "stream": 0, "allocated_size": 2 << 20, "active_size": 2 << 20,
                                     "requested_size": 2 << 20, "blocks": [block]}], "device_traces": []}, file)
        told = subprocess.run([os.path.join(self.prefix, "bin", "gmanalyze"), "-q", "-o", self.work, path], text=True,
                              capture_output=True, env={"FONTCONFIG_FILE": "/nowhere/fonts.conf"})
        self.assertEqual((told.returncode, told.stderr), (0, ""))

    def test_uninstall(self):
        theirs = os.path.join(self.prefix, "bin", "theirs")
        with open(theirs, "w", encoding="utf-8"):
            pass
        run(CMAKE, "-DMANIFEST=" + MANIFEST, "-P", os.path.join(SOURCE, "analyze", "install", "uninstall.cmake"))
        self.assertEqual(files_in(self.prefix), ["bin/theirs"])
        self.assertFalse(os.path.exists(os.path.join(self.prefix, "share", "gmanalyze")))
        self.assertFalse(os.path.exists(MANIFEST))


unittest.main(argv=sys.argv[:1])
