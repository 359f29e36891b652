# SPDX-License-Identifier: Apache-2.0
"""Recordings of PyTorch's own allocator, versions 2.10 to 2.15, in tests/data/torch (programs.py there made them, on a
machine without a GPU, with stand-ins for the CUDA libraries): every address, and the counts and peaks that PyTorch's
memory_stats() had then. Under another version's rules the recordings with ties do not verify.
usage: check_torch.py GMREPLAY"""
import csv
import json
import os
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "torch")
RULES = {"2.10.0": "2.10", "2.12.1": "2.12", "2.13.0": "2.13", "2.15.0": "2.13"}


def verify(path, *options):
    done = subprocess.run([sys.argv[1], "--json", "-", "--verify", *options, path], capture_output=True, check=False)
    if done.returncode > 1:
        sys.exit(f"{path}: exit {done.returncode}: {done.stderr.decode()}")
    found = json.loads(done.stdout)
    return found["verdict"], found["devices"][0]


def main():
    wrong, allocs, told_apart = [], 0, {}
    with open(os.path.join(FOLDER, "memory_stats.tsv"), encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        name, path = row["recording"], os.path.join(FOLDER, row["recording"] + ".gmtrace")
        verdict, device = verify(path)
        is_ = [device["allocs"], device["num_alloc_retries"], device["num_ooms"], device["peak_reserved_bytes"],
               device["peak_allocated_bytes"]]
        allocs += device["allocs"]
        if verdict != "PASS" or is_ != [int(value) for value in list(row.values())[1:]]:
            wrong.append(f"{name}: {verdict}, {is_}, should be {row}, {device['first_mismatch']}")
        program, version = name.rsplit("_", 1)
        for other in ("2.10", "2.12", "2.13") if program.startswith("ties") else ():
            if other != RULES[version]:
                told_apart.setdefault((version, other), 0)
                told_apart[version, other] += verify(path, "--torch", other)[0] == "FAIL"
    for (version, other), count in told_apart.items():
        if count == 0:
            wrong.append(f"no recording of {version} contradicts the rules of {other}")
    print(f"{len(rows)} recordings, {allocs} allocations, {len(wrong)} wrong")
    sys.exit("\n".join(wrong) or 0)


main()
