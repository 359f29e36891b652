# SPDX-License-Identifier: Apache-2.0
"""Compares the JSON of two builds on real snapshots: the same keys with the same values, and keys that are new listed.
Not a test that ctest runs: it needs the other build.

usage: same_json.py [--program NAME] [--kinds] [--jobs N] BEFORE AFTER SNAPSHOTS
  BEFORE, AFTER  folders with gmanalyze, gmdiff, gmfleet and gmreplay in them (DIR/bin of a build)
  SNAPSHOTS      a folder: every snapshot in it by gmanalyze, every two neighbours and every five by gmdiff, all of them
                 and every five by gmfleet, each by gmreplay: --verify, --limit, a card, a fit
  --program      only that one
  --kinds        a line for each place where something differs, with how often and one example, instead of all of them

What PURPOSE below has is counted, and no difference. Exit code 0: the same values, keys only added; 1: something
differs."""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

SUFFIXES = (".pickle", ".pkl", ".html", ".gmtrace", ".json", ".gz", ".zst")
VOLATILE = {"created", "events_per_second"}
# Categories were named after code since: the names before, and what they are now.
RENAMED = {"Parameters/loading": "Model loading", "Data loading/input": "Data loading",
           "Optimizer State": "Optimizer step", "KV cache": "KV cache code", "Gradient/backward": "Backward pass",
           "Activation": "Activation function"}
# Rows of lists are the same if these say so together: one that is new, gone or elsewhere moves no other.
NAMES = ("id", "key", "site", "via", "label", "name", "category", "what", "path", "event", "address",
         "device", "settings")
# What has changed on purpose since the commits that builds are compared with, and why.
PURPOSE = {
    r"(role|\.roles?)[_.\[]|\.role\b|\.roles\b|_roles\b":
        "roles: more evidence was found for them, and they are judged by docs/roles.md's score",
    r"\.(findings|to_do|headline|headline_at_end|reliability)\b":
        "the diagnosis: new findings, their words, order and severity (docs/findings.md)",
    r"\.settings_advice\b": "settings: the model follows more recordings, and more candidates are tried",
    r"gmreplay\.limit\b|gmreplay\.notes|--members|\.repetition\b":
        "gmreplay: recordings that ended out of memory go on, members repeat whole steps, cards that are tight are named",
    r"gmdiff\.(.*\.)?(kind|sums\..*\.(new|gone)|call_sites(_at_peak)?\[\](\.twin)?): ":
        "gmdiff: a call site that moved is one row, and those that only look alike are told apart by their packages",
    r"categories(_at_peak)?\[\]: another order": "among equal bytes the name decides, and categories were renamed",
    r"num_oom_rejections": "gmreplay: memory_stats has the keys of PyTorch only",
    r"gmdiff\.(.*\.)?scaling": "laws are in N unless a word names the number",
}


def output(folder, program, operands):
    """The JSON that a program writes, None if it wrote none; and how it ended."""
    with tempfile.TemporaryDirectory() as results:
        if program == "gmreplay":
            found = os.path.join(results, "latest")
            command = [os.path.join(folder, program), "-q", "--json", os.path.join(found, "a.json"), *operands]
            os.mkdir(found)
        else:
            command = [os.path.join(folder, program), "-q", "-n", "same", "-o", results, "--no-charts", *operands]
        done = subprocess.run(command, capture_output=True, check=False)
        found = sorted(pathlib.Path(results).glob("latest/*.json"))
        return json.loads(found[0].read_bytes()) if found else None, done.returncode


def short(text):
    """A string with what was renamed under its new name, and of a call site only its file and line: since, packages and
    folders are told from the package on."""
    name, gap, path = text.partition("  ")
    return name + gap + path.rsplit("/", 1)[-1] if gap and "/" in path else RENAMED.get(text, text)


def name_of(row):
    """What tells a row of a list from the others; None if nothing does."""
    if not isinstance(row, dict):
        return None
    names = tuple(short(row[k]) if isinstance(row[k], str) else row[k] for k in NAMES
                  if isinstance(row.get(k), (str, int)))
    return names or None


def figures(row):
    """The numbers of a row, to tell alike ones apart."""
    return [(key, value) for key, value in sorted(row.items()) if isinstance(value, (int, float)) and key != "twin"]


def lists(before, after, where, added):
    """Differences of two lists: by the rows' names if all have one of their own, else row by row."""
    names = [[name_of(row) for row in side] for side in (before, after)]
    if None not in names[0] + names[1] and len(set(names[0])) < len(names[0]) == len(after):  # alike ones in any order
        before, after = (sorted(side, key=lambda row: (repr(name_of(row)), figures(row))) for side in (before, after))
        names = [[name_of(row) for row in side] for side in (before, after)]
    if all(len(set(side)) == len(side) and None not in side for side in names):
        news = dict(zip(names[1], after))
        for name in [n for n in names[0] if n not in news]:
            yield f"{where}[]: a row is gone", name
        for name in [n for n in names[1] if n not in set(names[0])]:
            yield f"{where}[]: a row is new", name
        if [n for n in names[0] if n in news] != [n for n in names[1] if n in set(names[0])]:
            yield f"{where}[]: another order", names[1]
        pairs = [(row, news[name]) for name, row in zip(names[0], before) if name in news]
    else:
        if len(before) != len(after):
            yield f"{where}[]: another number of rows", (len(before), len(after))
        pairs = zip(before, after)
    for one, other in pairs:
        yield from differences(one, other, f"{where}[]", added)


def differences(before, after, where, added):
    """(kind, example) for each."""
    if type(before) is not type(after) and not (isinstance(before, (int, float)) and isinstance(after, (int, float))):
        yield f"{where}: of another type", (before, after)
    elif isinstance(before, dict):
        for key in before.keys() - VOLATILE:
            if key not in after:
                yield f"{where}.{key} is gone", before[key]
            else:
                yield from differences(before[key], after[key], f"{where}.{key}", added)
        added.update(f"{where}.{key}" for key in after.keys() - before.keys())
    elif isinstance(before, list):
        yield from lists(before, after, where, added)
    elif before != after and not (isinstance(before, str) and short(before) == short(after)):
        yield f"{where}: another value", (before, after)


def runs(snapshots):
    """(program, operands) of everything that is compared."""
    paths = [str(p) for p in sorted(pathlib.Path(snapshots).rglob("*")) if p.suffix in SUFFIXES]
    fives = [paths[i:i + 5] for i in range(0, len(paths) - 5, 5)]
    for path in paths:
        yield "gmanalyze", [path]
    for base, new in zip(paths, paths[1:]):
        yield "gmdiff", [base, new]
    for five in fives:
        yield "gmdiff", five
        yield "gmfleet", five
    yield "gmfleet", [snapshots]
    for path in paths:
        yield "gmreplay", ["--verify", path]
        yield "gmreplay", ["--limit", "4GiB", path]
        yield "gmreplay", ["--gpu", "rtx-4090", "--members", "3", path]
    for path in (p for p in paths if os.path.getsize(p) < 1 << 20):
        yield "gmreplay", ["--sweep", "--fit", "--budget", "0", "-j", "1", path]


def compare(folders, run):
    """What differs between the two builds' outputs of one run, and the keys that are new."""
    (before, code), (after, other_code) = (output(folder, *run) for folder in folders)
    added = set()
    if code == 2:  # before, there was no such option
        return [], added
    found = [(f"{run[0]}: another exit code", (code, other_code))] if code != other_code else []
    if before is None or after is None:
        return found + ([] if before is after else [(f"{run[0]}: only one wrote JSON", (code, other_code))]), added
    return found + list(differences(before, after, run[0], added)), added


def purpose_of(kind, operands):
    return next((why for pattern, why in PURPOSE.items() if re.search(pattern, f"{kind} {operands}")), None)


def main():
    usage = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    usage.add_argument("before")
    usage.add_argument("after")
    usage.add_argument("snapshots")
    usage.add_argument("--program")
    usage.add_argument("--kinds", action="store_true")
    usage.add_argument("--jobs", type=int, default=2)
    o = usage.parse_args()
    added, kinds, wrong, count, purposes = set(), collections.defaultdict(list), 0, 0, collections.Counter()
    wanted = [r for r in runs(o.snapshots) if o.program in (None, r[0])]
    with ThreadPoolExecutor(o.jobs) as pool:
        for run, (found, new) in zip(wanted, pool.map(lambda r: compare((o.before, o.after), r), wanted)):
            count += 1
            added |= new
            operands = " ".join(map(os.path.basename, run[1]))
            told = [f for f in found if purpose_of(f[0], operands) is None]
            purposes.update(purpose_of(f[0], operands) for f in found if f not in told)
            wrong += len(told) > 0
            for kind, example in told:
                kinds[kind].append(operands)
                if not o.kinds or len(kinds[kind]) == 1:
                    print(f"{kind}: {example!r:.200} ({operands})", flush=True)
    for kind, operands in sorted(kinds.items() if o.kinds else []):
        print(f"{len(operands):6} times in {len(set(operands)):3} outputs: {kind}")
    for why, times in purposes.items():
        print(f"{times:6} on purpose: {why}")
    print(f"{count} outputs compared, {wrong} differ; added: {', '.join(sorted(added)) or 'nothing'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
