#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stranger's first minutes: a fresh copy of the checkout, ./dev demo, then gmanalyze on a snapshot of his own.

The copy is `git clone` of a clean checkout; of a changed one, what would be committed now. Nothing is installed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES = {"memory_overview.png", "top_consumers.png", "category_breakdown.png", "size_distribution.png",
         "memory_efficiency.png", "analysis_report.txt", "README.md", "analysis.json"}


def run(*command, cwd, code=0):
    environment = dict(os.environ, GM_NO_INSTALL="1", GM_BUILD_TYPE="Debug")  # quicker to compile
    done = subprocess.run(command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if "these packages are missing" in done.stdout:
        print("skipped:", done.stdout.strip())
        sys.exit(77)
    if done.returncode != code:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def copy_to(clone):
    if subprocess.run(["git", "-C", SOURCE, "rev-parse", "HEAD"], capture_output=True).returncode != 0:
        print("skipped: not a git checkout")
        sys.exit(77)
    if run("git", "status", "--porcelain", cwd=SOURCE) == "":
        run("git", "clone", "-q", SOURCE, clone, cwd="/")
        return
    for path in run("git", "ls-files", "-co", "--exclude-standard", cwd=SOURCE).splitlines():
        if os.path.lexists(os.path.join(SOURCE, path)):
            os.makedirs(os.path.dirname(os.path.join(clone, path)), exist_ok=True)
            shutil.copy2(os.path.join(SOURCE, path), os.path.join(clone, path))
    run("git", "init", "-q", cwd=clone)
    run("git", "add", "-A", cwd=clone)


def expect(condition, what):
    if not condition:
        sys.exit("wrong: " + what)


def main():
    with tempfile.TemporaryDirectory(prefix="gmanalyze-clone-") as folder:
        clone = os.path.join(folder, "clone")
        copy_to(clone)
        before = run("git", "status", "--porcelain", cwd=clone)
        said = run("./dev", "demo", cwd=clone)
        shown = re.search(r"results/\d{8}_\d{6}_demo\S*", said)
        expect(shown, "./dev demo does not say where its report is:\n" + said[-2000:])
        expect(set(os.listdir(os.path.join(clone, shown.group()))) >= FILES, "files are missing from the demo's report")
        run("./dev", "demo", cwd=clone)
        run(os.path.join(clone, "build/bin/gmanalyze"), os.path.join(clone, "build/demo/expandable.pickle"), "mine",
            cwd=folder)
        expect(set(os.listdir(os.path.join(folder, "results/latest"))) >= FILES, "files are missing from the report")
        run("cmake", "--install", "build", "--prefix", os.path.join(folder, "usr"), cwd=clone)
        run(os.path.join(folder, "usr/bin/gmanalyze"), "--version", cwd=folder)
        expect(run("git", "status", "--porcelain", cwd=clone) == before, "the demo changed the checkout")
        print("fine")


main()
