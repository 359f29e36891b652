# SPDX-License-Identifier: Apache-2.0
"""Compares the JSON of two builds on real snapshots: the same keys with the same values, and keys that are new listed.
Not a test that ctest runs: it needs the other build.
usage: same_json.py BEFORE AFTER SNAPSHOTS [PROGRAM] (folders with gmanalyze, gmdiff, gmfleet and gmreplay in them; a
folder; only that program)"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

BEFORE, AFTER, SNAPSHOTS = sys.argv[1:4]
SUFFIXES = (".pickle", ".pkl", ".html", ".gmtrace", ".json", ".gz", ".zst")
VOLATILE = {"created", "events_per_second"}
# Categories were named after code since: the names before, and what they are now.
RENAMED = {"Parameters/loading": "Model loading", "Data loading/input": "Data loading",
           "Optimizer State": "Optimizer step", "KV cache": "KV cache code", "Gradient/backward": "Backward pass",
           "Activation": "Activation function"}


def output(folder, program, operands):
    """The JSON that a program writes; None if it wrote none."""
    with tempfile.TemporaryDirectory() as results:
        if program == "gmreplay":
            found = os.path.join(results, "latest")
            command = [os.path.join(folder, program), "-q", "--json", os.path.join(found, "a.json"), *operands]
            os.mkdir(found)
        else:
            command = [os.path.join(folder, program), "-q", "-n", "same", "-o", results, "--no-charts", *operands]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode not in (0, 1, 3):
            raise RuntimeError(f"{command}: exit {done.returncode}: {done.stderr.decode()}")
        found = sorted(pathlib.Path(results).glob("latest/*.json"))
        return json.loads(found[0].read_bytes()) if found else None


def differences(before, after, where, added):
    if type(before) is not type(after) and not (isinstance(before, (int, float)) and isinstance(after, (int, float))):
        yield f"{where}: {before!r:.80} is now {after!r:.80}"
    elif isinstance(before, dict):
        for key in before.keys() - VOLATILE:
            if key not in after:
                yield f"{where}.{key} is gone"
            else:
                yield from differences(before[key], after[key], f"{where}.{key}", added)
        added.update(f"{where}.{key}" for key in after.keys() - before.keys())
    elif isinstance(before, list):
        if len(before) != len(after):
            yield f"{where}: {len(before)} entries are now {len(after)}"
        for one, other in zip(before, after):
            yield from differences(one, other, f"{where}[]", added)
    elif before != after and RENAMED.get(before if isinstance(before, str) else None) != after:
        yield f"{where}: {before!r:.80} is now {after!r:.80}"


def runs():
    paths = [str(p) for p in sorted(pathlib.Path(SNAPSHOTS).rglob("*")) if p.suffix in SUFFIXES]
    for path in paths:
        yield "gmanalyze", [path]
    for base, new in zip(paths, paths[1:]):
        yield "gmdiff", [base, new]
    for i in range(0, len(paths) - 5, 5):
        yield "gmdiff", paths[i:i + 5]
    yield "gmfleet", [SNAPSHOTS]
    for path in paths:
        yield "gmreplay", ["--verify", path]
        yield "gmreplay", ["--limit", "4GiB", path]
        yield "gmreplay", ["--gpu", "rtx-4090", "--drop", "Activation", "--members", "3", path]
    for path in (p for p in paths if os.path.getsize(p) < 1 << 20):
        yield "gmreplay", ["--sweep", "--fit", "--budget", "0", "-j", "1", path]


def compare(run):
    program, operands = run
    before, after = output(BEFORE, program, operands), output(AFTER, program, operands)
    added = set()
    if before is None or after is None:
        return run, [] if before is after else ["only one of them wrote JSON"], added
    return run, list(differences(before, after, program, added)), added


def main():
    added, wrong, count = set(), 0, 0
    wanted = [r for r in runs() if len(sys.argv) < 5 or r[0] == sys.argv[4]]
    with ThreadPoolExecutor(2) as pool:
        for run, found, new in pool.map(compare, wanted):
            count += 1
            added |= new
            wrong += len(found) > 0
            for line in found[:10]:
                print(f"{' '.join(map(os.path.basename, run[1]))}: {line}")
    print(f"{count} outputs compared, {wrong} differ; added: {', '.join(sorted(added)) or 'nothing'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
