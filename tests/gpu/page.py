# SPDX-License-Identifier: Apache-2.0
"""What the parts of the page share: Markdown tables, a list of what is wrong, and the files of a folder of traces."""
import os
import pathlib
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "compute"))

SUFFIXES = (".gmtrace", ".pickle", ".pkl")
GIB = 1 << 30
wrong = []


def gib(size):
    return f"{size / GIB:.3f}"


def table(*columns):
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))


def row(*values):
    print("| " + " | ".join(str(v) for v in values) + " |", flush=True)


def traces(folder):
    """Snapshots and .gmtrace of a folder; of recordings (NAME__SETTING.pickle) too."""
    return [p for p in sorted(pathlib.Path(folder).rglob("*")) if p.name.endswith(SUFFIXES)]


def largest(run):
    """The peak of reserved memory, of the device that has the largest."""
    return max(d["peak_reserved_bytes"] for d in run.json["devices"])
