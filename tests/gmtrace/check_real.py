#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real snapshots as .gmtrace: the same model when loaded again, and small.

usage: check_real.py GMTRACE_CONVERT DUMP_MODEL             exit code 77 if there are no snapshots beside the checkout
       check_real.py GMTRACE_CONVERT DUMP_MODEL --sizes     also a table, with what zstd -19 makes of the same files
"""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import snapshot_paths  # noqa: E402

SMALL = 1000  # events: below that, sizes are those of a few names


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, check=False)


def model(dump_model, path):
    """The lines of dump_model without the one that tells what kind of file it was."""
    done = run(dump_model, path)
    if done.returncode != 0:
        return done.stderr
    return [line for line in done.stdout.split(b"\n") if not line.startswith(b'["source"')]


def zstd_size(path):
    return len(subprocess.run(["zstd", "-19", "-c", str(path)], capture_output=True, check=True).stdout)


def main():
    convert, dump_model, with_table = sys.argv[1], sys.argv[2], "--sizes" in sys.argv
    count, failures, total, small, zstd = 0, 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch, "out.gmtrace")
        for path in snapshot_paths(".pickle", ".pkl", ".html"):
            done = run(convert, path, out)
            if done.returncode == 3 and b"plot data but no pickle" in done.stderr:
                continue
            count += 1
            if done.returncode != 0 or model(dump_model, path) != model(dump_model, out):
                print(path.name, done.stderr.decode(errors="replace").strip() or "another model")
                failures += 1
                continue
            events, before, after = (int(word) for word in done.stdout.split()[:3])
            if events < SMALL:
                continue
            total, small = total + before, small + after
            if with_table:
                packed = zstd_size(path)
                zstd += packed
                print(f"{events:7} {before:9} {packed:8} {after:8} {before / after:6.1f} {packed / after:5.2f}  {path.name}")
    print(f"{count} files, {failures} failures; from {SMALL} events on {total} bytes became {small}: "
          f"{total / max(small, 1):.1f} times smaller" + (f", {zstd / small:.2f} times smaller than zstd -19" if zstd else ""))
    sys.exit(1 if failures or small * 10 > total else 0)


main()
