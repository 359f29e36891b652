#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Enforces the table in docs/architecture.md: which folder may include which. The table itself is the rule. And no circle of
files (a source and its header are one) goes through several folders."""
import collections
import functools
import os
import re
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRIVATE = re.compile(r"Private to (?:the files of )?([a-z]+/[a-z/]*[a-z])?")
INCLUDE = re.compile(r'(?m)^[ \t]*#[ \t]*include[ \t]+"([^"]+)"')


def allowed():
    """{folder: set of folders it may include} from the rows | `folder` | what it is | may include |."""
    with open(os.path.join(SOURCE, "docs", "architecture.md"), encoding="utf-8") as file:
        rows = re.findall(r"(?m)^\| (`[^|]+) \|[^|]*\| ([^|]+) \|$", file.read())
    table, by_name = {}, {}
    for folders, _ in rows:
        by_name.update((folder.split("/")[-1], folder) for folder in re.findall(r"`([^`]+)`", folders))
    for folders, may in rows:
        if may == "may include":
            continue
        words = re.findall(r"[a-z]+", may)
        if may.startswith("nothing"):
            targets = set()
        elif may.startswith("all of the above"):
            targets = set(table) | {by_name[word] for word in words[words.index("above") + 1:]}
        elif may.startswith("everything"):
            targets = None
        else:
            targets = {by_name.get(word, word) for word in words if word in by_name or word in ("replay", "kernels")}
        for folder in re.findall(r"`([^`]+)`", folders):
            table[folder] = targets
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


@functools.lru_cache(maxsize=None)
def private_to(header):
    """The folder that the header says it is private to, its own if it names none; "" if it is not private."""
    path = os.path.join(SOURCE, header)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        found = PRIVATE.search(file.read(2000))
    return "" if found is None else found.group(1) or os.path.dirname(header)


def find_circle(graph):
    """The modules of one circle between files of different folders; [] if there is none."""
    def reached(start):
        seen, todo = set(), [start]
        while todo:
            new = graph[todo.pop()] - seen
            seen |= new
            todo += new
        return seen

    reach = {module: reached(module) for module in list(graph)}
    for module, others in reach.items():
        circle = {other for other in others if module in reach.get(other, ())}
        if len({os.path.dirname(other) for other in circle}) > 1:
            return sorted(circle)
    return []


def main():
    graph = collections.defaultdict(set)
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
            if own != "tests":
                graph[os.path.splitext(path)[0]].add(os.path.splitext(include)[0])
            if include.endswith(".inc") and not include.startswith("replay/") and \
                    not os.path.exists(os.path.join(SOURCE, include)):
                include = "analyze/" + include  # made by the build, for the folder that it is named after
            other = folder_of(include, table)
            if include.startswith(".") or other is None:
                # A file beside a test may be named without its folder; nobody else's may.
                if own != "tests" or not os.path.exists(os.path.join(SOURCE, os.path.dirname(path), include)):
                    wrong.append(f'{path}: "{include}" is not named from the top of the source')
            elif own != "tests" and private_to(include) and not path.startswith(private_to(include) + "/"):
                wrong.append(f"{path}: {include} is private to {private_to(include)}")
            elif table[own] is not None and other != own and other not in table[own]:
                wrong.append(f"{path}: {own} may not include {include}")
    wrong += [f"{path}: is in a circle between folders" for path in find_circle(graph)]
    print(f"{edges} includes, {len(wrong)} wrong")
    sys.exit("\n".join(wrong) or 0)


main()
