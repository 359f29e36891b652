#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Enforces the table in docs/architecture.md: which folder may include which. The table itself is the rule."""
import os
import re
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = re.compile(r'(?m)^[ \t]*#[ \t]*include[ \t]+"([^"]+)"')


def allowed():
    """{folder: set of folders it may include} from the rows | `folder` | what it is | may include |."""
    with open(os.path.join(SOURCE, "docs", "architecture.md"), encoding="utf-8") as file:
        rows = re.findall(r"(?m)^\| (`[^|]+) \|[^|]*\| ([^|]+) \|$", file.read())
    table, by_name = {}, {}
    for folders, may in rows:
        if may == "may include":
            continue
        words = re.findall(r"[a-z]+", may)
        if may.startswith("nothing"):
            targets = set()
        elif may.startswith("all of the above"):
            targets = set(table)
        elif may.startswith("everything"):
            targets = None
        else:
            targets = {by_name.get(word, word) for word in words if word in by_name or word in ("replay", "kernels")}
        for folder in re.findall(r"`([^`]+)`", folders):
            table[folder] = targets
            by_name[folder.split("/")[-1]] = folder
    return table


def folder_of(path, table):
    fitting = [folder for folder in table if path.startswith(folder + "/")]
    return max(fitting, key=len) if fitting else None


def sources():
    for top in ("analyze", "render", "replay", "kernels", "tests"):
        for folder, _, names in os.walk(os.path.join(SOURCE, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".cu", ".cuh")):
                    yield os.path.relpath(os.path.join(folder, name), SOURCE)


def main():
    table, wrong, edges = allowed(), [], 0
    if len(table) < 11:
        sys.exit(f"the table in docs/architecture.md was not understood: {sorted(table)}")
    for path in sources():
        own = folder_of(path, table)
        if own is None:
            wrong.append(f"{path}: its folder is not in the table")
            continue
        with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
            includes = INCLUDE.findall(file.read())
        for include in includes:
            edges += 1
            if include.endswith(".inc") and not include.startswith("replay/") and \
                    not os.path.exists(os.path.join(SOURCE, include)):
                include = "analyze/" + include  # made by the build, for the folder that it is named after
            other = folder_of(include, table)
            if include.startswith(".") or other is None:
                # A file beside a test may be named without its folder; nobody else's may.
                if own != "tests" or not os.path.exists(os.path.join(SOURCE, os.path.dirname(path), include)):
                    wrong.append(f'{path}: "{include}" is not named from the top of the source')
            elif table[own] is not None and other != own and other not in table[own]:
                wrong.append(f"{path}: {own} may not include {include}")
    print(f"{edges} includes, {len(wrong)} wrong")
    sys.exit("\n".join(wrong) or 0)


main()
