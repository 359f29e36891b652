#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone, and twice in a row. usage: check_headers.py COMPILER"""
import os
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def headers():
    for top in ("analyze", "kernels", "render", "replay"):
        for folder, _, names in os.walk(os.path.join(SOURCE, top)):
            for name in sorted(names):
                if name.endswith(".h"):
                    yield os.path.relpath(os.path.join(folder, name), SOURCE)


def main():
    paths = list(headers())
    wrong = []
    # Headers of the drawing libraries live in folders of their own.
    found = subprocess.run(["pkg-config", "--cflags", "pangocairo", "libpng"], capture_output=True, text=True)
    for path in paths:
        text = f'#include "{path}"\n#include "{path}"\nextern int nothing_else;\n'
        done = subprocess.run([sys.argv[1], "-std=c17", "-D_GNU_SOURCE", "-I", SOURCE, *found.stdout.split(), "-Wall",
                               "-Werror", "-fsyntax-only", "-x", "c", "-"], input=text, capture_output=True, text=True)
        if done.returncode != 0:
            wrong.append(path + "\n" + done.stderr)
    print(f"{len(paths)} headers, {len(wrong)} do not stand alone")
    sys.exit("\n".join(wrong) or (0 if paths else "no headers"))


main()
