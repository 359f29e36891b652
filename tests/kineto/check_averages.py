#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What gmanalyze says of operators is what PyTorch's key_averages() says: each row, to the byte and the nanosecond.

    check_averages.py GMANALYZE [FOLDER]

FOLDER (default: this one) has what make_traces.py writes. Rows of Python functions, which some versions have, and of
kernels are left out.
"""
import collections
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile

FIELDS = ("count", "cpu_bytes", "self_cpu_bytes", "device_bytes", "self_device_bytes", "cpu_ns", "self_cpu_ns")
OURS = ("calls", "host_bytes", "self_host_bytes", "device_bytes", "self_device_bytes", "time_ns", "self_time_ns")


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


def differences(analysis, wanted):
    profile = analysis["profile"]
    for ours, theirs in (("operators", "operators"), ("by_shapes", "shapes")):
        if ours not in profile:
            continue
        by_shapes = theirs == "shapes"
        key = (lambda r: (r["name"], r["shapes"])) if by_shapes else (lambda r: r["name"])
        have = summed(profile[ours], OURS, key)
        want = summed(wanted[theirs], FIELDS, key)
        for name in sorted(set(have) | set(want), key=str):
            if have.get(name) != want.get(name):
                yield f"{theirs} {name}: {have.get(name)} instead of {want.get(name)}"


def main():
    program = sys.argv[1]
    folder = sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(os.path.abspath(__file__))
    failed = rows = 0
    traces = sorted(glob.glob(os.path.join(folder, "*.trace.json.gz")))
    for trace in traces:
        with gzip.open(trace.replace(".trace.", ".averages.")) as file:
            wanted = json.load(file)
        with tempfile.TemporaryDirectory() as there:
            out = subprocess.run([program, "-q", "--no-charts", "--no-page", "-o", there, "--json", "-", trace],
                                 stdout=subprocess.PIPE, check=True)
        wrong = list(differences(json.loads(out.stdout), wanted))
        rows += len(wanted["operators"]) + len(wanted["shapes"])
        failed += bool(wrong)
        for line in wrong[:10]:
            print(f"{os.path.basename(trace)}: {line}")
        if len(wrong) > 10:
            print(f"{os.path.basename(trace)}: {len(wrong) - 10} more")
    print(f"{len(traces)} traces, {rows} rows, {failed} traces with differences")
    return 1 if failed or not traces else 0


if __name__ == "__main__":
    sys.exit(main())
