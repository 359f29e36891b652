#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All encodings of one snapshot load to the same model, and that is what Python reads.

usage: check_equal.py DUMP_MODEL              own fixtures
       check_equal.py DUMP_MODEL --real       real snapshots next to the checkout; exit code 77 if there are none
"""
import base64
import json
import math
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from make_fixtures import all_files
from model import expected_lines, shared
from snapshots import snapshot_paths

STACK_AT = {"segment": 9, "host_segment": 9, "block": 5, "host_block": 5, "event": 7}


class Restricted(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"refused {module}.{name}")


def dump(program, path):
    run = subprocess.run([program, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode != 0:
        return None, run.stderr.decode(errors="replace").strip()
    lines = [json.loads(line) for line in run.stdout.decode().split("\n") if line]
    stacks = {line[1]: shared(line[2]) for line in lines if line[0] == "stack"}
    for line in lines:
        if line[0] in STACK_AT:
            line[STACK_AT[line[0]]] = stacks.get(line[STACK_AT[line[0]]])
    return [line for line in lines if line[0] not in ("source", "stack", "warning")], None


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-15)
    return type(a) is type(b) and a == b


def difference(got, want):
    if got == want:
        return None
    for i, (g, w) in enumerate(zip(got, want)):
        if len(g) != len(w) or not all(same(x, y) for x, y in zip(g, w)):
            return f"line {i}:\n  got  {str(g)[:600]}\n  want {str(w)[:600]}"
    return None if len(got) == len(want) else f"{len(got)} lines instead of {len(want)}"


def check(program, path, snapshot, arrive):
    got, error = dump(program, path)
    return error or difference(got, expected_lines(snapshot, arrive))


def own(program):
    count = failures = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "fixture")
        for name, make, snapshot, arrive in all_files():
            path.write_bytes(make())
            error = check(program, path, snapshot, arrive)
            count += 1
            failures += error is not None
            if error:
                print(name, error)
    return count, failures


def read_real(path):
    data = path.read_bytes()
    if data.lstrip()[:1] == b"<":
        match = re.search(rb'"base64": "([^"]*)"', data)
        data = base64.b64decode(match.group(1)) if match else b""
    with tempfile.TemporaryFile() as f:
        f.write(data)
        f.seek(0)
        return Restricted(f).load() if data else None


def real(program):
    count = failures = 0
    for path in snapshot_paths(".pickle", ".pkl", ".html"):
        snapshot = read_real(path)
        if snapshot is None:
            continue
        error = check(program, path, snapshot, "kept")
        count += 1
        failures += error is not None
        if error:
            print(path.name, error)
    return count, failures


def main():
    if sys.argv[2:] != ["--real"]:
        count, failures = own(sys.argv[1])
    else:
        count, failures = real(sys.argv[1])
    print(count, "files,", failures, "failures")
    sys.exit(1 if failures or count == 0 else 0)


if __name__ == "__main__":
    main()
