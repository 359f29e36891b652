#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What gmanalyze says of operators is what PyTorch's key_averages() says, by operator, by shapes and by stack: each row,
to the byte and the nanosecond; what it says of modules and annotations is what the program measured of them.

    check_averages.py GMANALYZE [FOLDER]

FOLDER (default: this one) has what make_traces.py writes. Rows of Python functions, which some versions have, and of
kernels are left out.

Before 2.4 a trace has whole microseconds: where an operator ends is rounded by itself there, and its length in PyTorch's table, so
these differ by one for each call, and with them who made what was allocated in that microsecond. Calls and times are held
against the table as far as that goes. 1.8 wrote no allocations at all.
"""
import collections
import glob
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

FIELDS = ("count", "cpu_bytes", "self_cpu_bytes", "device_bytes", "self_device_bytes", "cpu_ns", "self_cpu_ns")
OURS = ("calls", "host_bytes", "self_host_bytes", "device_bytes", "self_device_bytes", "time_ns", "self_time_ns")

MODULE_FIELDS = ("count", "device_bytes", "self_device_bytes")
MODULE_OURS = ("calls", "device_bytes", "self_device_bytes")


def is_python(name):
    return "): " in name or name.startswith(("nn.Module: ", "<built-in "))


def summed(rows, fields, key):
    """{key: sums}: versions differ in whether annotations have rows of their own."""
    sums = collections.defaultdict(lambda: [0] * len(fields))
    for row in rows:
        if is_python(row["name"]) or row.get("on_device"):
            continue
        for i, field in enumerate(fields):
            sums[key(row)][i] += row[field]
    return dict(sums)


def without_call_stacks(trace, folder):
    """The trace without the stacks that PyTorch's option `verbose` adds, or None: they can be found by time, too."""
    with gzip.open(trace, "rt") as file:
        text, count = re.subn(r'"Call stack": "[^"]*", ?', "", file.read())
    if count == 0:
        return None
    path = os.path.join(folder, os.path.basename(trace))
    with gzip.open(path, "wt") as file:
        file.write(text)
    return path


def by_time(profile, wanted):
    """Stacks without PyTorch's own: what record_function() called at its beginning is around no annotation by time.
    Before 1.12 a trace has no Python functions to find them by."""
    if "by_stack" not in profile:
        return 0
    annotations = {row["name"] for row in profile["operators"] if row["annotation"]}
    keep = lambda rows: [row for row in rows if row["name"] not in annotations]
    have = summed(keep(profile["by_stack"]), OURS, lambda r: (r["name"], r["stack"]))
    want = summed(keep(wanted["stacks"]), FIELDS, lambda r: (r["name"], ";".join(r["stack"])))
    yield from (f"by time {k}: {have.get(k)} instead of {want.get(k)}"
                for k in sorted(set(have) | set(want), key=str) if have.get(k) != want.get(k))
    return len(want)


def is_coarse(wanted):
    return tuple(map(int, wanted["torch"].split(".")[:2])) < (2, 4)


def is_close(ours, theirs):
    """Calls are equal, and all times but those of the operator alone to a microsecond a call; nothing is known of
    operators that take less."""
    if theirs is not None and theirs[-2] < 1000 * theirs[0]:
        return True
    return ours is not None and theirs is not None and ours[0] == theirs[0] and \
        abs(ours[-2] - theirs[-2]) <= 1000 * ours[0]


def differences(profile, wanted):
    """Lines of what differs; the number of rows compared is what it returns."""
    has_stacks = any(row["stack"] for row in wanted["stacks"])
    tables = [("operators", "operators", lambda r: r["name"], lambda r: r["name"])]
    if "by_shapes" in profile:
        tables.append(("by_shapes", "shapes", *2 * [lambda r: (r["name"], r["shapes"])]))
    if has_stacks:
        tables.append(("by_stack", "stacks", lambda r: (r["name"], r["stack"]),
                       lambda r: (r["name"], ";".join(r["stack"]))))
    compared = 0
    for ours, theirs, our_key, their_key in tables:
        have = summed(profile[ours], OURS, our_key)
        want = summed(wanted[theirs], FIELDS, their_key)
        compared += len(want)
        for name in sorted(set(have) | set(want), key=str):
            if have.get(name) != want.get(name) and not (
                    is_coarse(wanted) and is_close(have.get(name), want.get(name))):
                yield f"{theirs} {name}: {have.get(name)} instead of {want.get(name)}"
    measured = wanted.get("annotations" if profile["modules_are_annotations"] else "modules") or []
    have = {row["name"]: row for row in profile["modules"]}
    for row in measured:
        compared += 1
        ours = have.get(row["name"])
        for key, field in zip(MODULE_OURS, MODULE_FIELDS):
            if ours is None or ours[key] != row[field]:
                yield f"{row['name']} {field}: {ours and ours[key]} instead of {row[field]}"
    return compared


def collect(generator):
    lines = []
    while True:
        try:
            lines.append(next(generator))
        except StopIteration as end:
            return lines, end.value


def analyzed(program, trace, folder):
    out = subprocess.run([program, "-q", "--no-charts", "--no-page", "-o", folder, "--json", "-", trace],
                         stdout=subprocess.PIPE, check=True)
    return json.loads(out.stdout)["profile"]


def check(program, folder):
    failed = rows = 0
    traces = sorted(glob.glob(os.path.join(folder, "*.trace.json.gz")))
    for trace in traces:
        with gzip.open(trace.replace(".trace.", ".averages.")) as file:
            wanted = json.load(file)
        with tempfile.TemporaryDirectory() as there:
            wrong, compared = collect(differences(analyzed(program, trace, there), wanted))
            # of a thread of autograd PyTorch takes the first backward() for all of them
            bare = None if "_nested" in trace else without_call_stacks(trace, there)
            more, again = collect(by_time(analyzed(program, bare, there), wanted)) if bare else ([], 0)
        wrong += more
        rows += compared + again
        failed += bool(wrong)
        for line in wrong[:10]:
            print(f"{os.path.basename(trace)}: {line[:300]}")
        if len(wrong) > 10:
            print(f"{os.path.basename(trace)}: {len(wrong) - 10} more")
    print(f"{len(traces)} traces, {rows} rows, {failed} traces with differences")
    return 1 if failed or not traces else 0


if __name__ == "__main__":
    sys.exit(check(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(os.path.abspath(__file__))))
