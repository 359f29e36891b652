# SPDX-License-Identifier: Apache-2.0
"""run.sh on the fake CUDA: that it runs through, says what it should, and notices what is wrong. usage: check_run.py
BUILD"""
import csv
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "compute"))
from traces import MIB, large_trace, small_trace  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
REPLAY = os.path.join(BUILD, "tests", "gmreplay_fake")
wrong = []

# Stands for record_truth.py: the model plays PyTorch, so every prediction must be exact.
RECORD = """
import json, os, subprocess, sys
os.makedirs(sys.argv[1])
for setting, conf, fraction in (("default", "", None), ("round4", "roundup_power2_divisions:4", None),
                                ("expandable", "expandable_segments:True", None), ("capped", "max_split_size_mb:64", 0.2)):
    base = os.path.join(sys.argv[1], "toy__" + setting)
    cap = ["--memory", str(int(2000 * fraction) << 20)] if fraction else []
    subprocess.run([os.environ["REPLAY"], "-q", "--alloc-conf", conf, *cap, "-o", base + ".pickle", os.environ["TRACE"]],
                   check=True)
    with open(base + ".json", "w") as file:
        json.dump({"torch": "none", "alloc_conf": conf, "memory_fraction": fraction,
                   "mem_get_info": [0, 2000 << 20]}, file)
"""


def expect(condition, what):
    if not condition:
        wrong.append(what)


def run(folder, out, **more):
    done = subprocess.run(["sh", os.path.join(HERE, "run.sh"), BUILD], capture_output=True, text=True, check=False,
                          env=dict(os.environ, GM_GPU_FAKE="1", GM_GPU_TRACES=folder, GM_GPU_OUT=out, REPLAY=REPLAY,
                                   TRACE=os.path.join(folder, "large.gmtrace"), FAKE_CUDA_MEMORY=str(2000 * MIB), **more))
    page = os.path.join(out, "README.md")
    text = ""
    if os.path.exists(page):
        with open(page, encoding="utf-8") as file:
            text = file.read()
        os.remove(page)
    return done.returncode, text, done.stderr


def rows(text, first):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith(first)]


def check_page(folder, out):
    record = os.path.join(folder, "record.py")
    with open(record, "w", encoding="utf-8") as file:
        file.write(RECORD)
    code, text, errors = run(folder, out, GM_GPU_RECORD_TRUTH=record)
    expect(code == 0 and "\n0 wrong." in text, f"exit {code}\n{text}{errors}")
    for words in ("| `mlp` |", "bandwidth, measured in the same run: not judged", "2 traces."):
        expect(words in text, f"'{words}' is missing:\n{text}")
    expect(text.count("OUT OF MEMORY") == 2, f"out of memory under a cap, and of all there is:\n{text}")
    found = rows(text, "| `small.gmtrace` |")
    expect(len(found) == 1 and found[0][2:4] == ["yes", "0"] and len(found[0]) == 11 and float(found[0][10]) > 0,
           f"the trace's row: {found}")
    if os.path.exists(os.path.join(BUILD, "lib", "gmanalyze", "libgmrecord.so")):
        for words in ("- `attention`", "- `softmax_kernel`", "gmanalyze: 4 allocations, 2 frees, peak 0.146 GiB"):
            expect(words in text, f"recorder: '{words}' is missing:\n{text}")
    found = rows(text, "| toy |")
    expect(sorted(row[1] for row in found) == ["capped", "default", "expandable", "round4"], f"predictions: {found}")
    for row in found:
        of, n = row[2].split(" of ")
        expect(of == n and row[4:] == ["3 of 3", "+0.00 % to +0.00 %", "100.00 % to 100.00 %"], f"predictions: {row}")
    with open(os.path.join(out, "predictions.csv"), encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    expect(len(table) == 12 and all(r["recorded_bytes"] == r["predicted_bytes"] and r["requests"] == r["addresses_exact"]
                                    for r in table), f"predictions.csv: {table}")
    kept = sorted(os.listdir(os.path.join(out, "recorded")))
    expect([name for name in kept if name.endswith(".gmtrace")] ==
           [f"toy__{s}.gmtrace" for s in ("capped", "default", "expandable", "round4")], f"recordings kept: {kept}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        snapshots, traces, out = (os.path.join(folder, name) for name in ("snapshots", "traces", "out"))
        os.makedirs(os.path.join(snapshots, "deeper"))
        small_trace().write(os.path.join(snapshots), "small.pickle")
        large_trace().write(os.path.join(snapshots, "deeper"), "large.pickle")
        with open(os.path.join(snapshots, "other.pickle"), "wb") as file:
            file.write(b"no snapshot")
        packed = subprocess.run(["sh", os.path.join(HERE, "pack.sh"), REPLAY, snapshots, traces], capture_output=True,
                                text=True, check=False)
        expect(packed.returncode == 0 and sorted(os.listdir(traces)) == ["deeper_large.gmtrace", "small.gmtrace"] and
               "other.pickle" in packed.stderr, f"pack.sh: {packed}, {os.listdir(traces)}")
        os.rename(os.path.join(traces, "deeper_large.gmtrace"), os.path.join(traces, "large.gmtrace"))
        check_page(traces, out)
        os.remove(os.path.join(traces, "large.gmtrace"))  # the small one is enough
        code, text, _ = run(traces, out, FAKE_CUDA_SPOIL="2:0")
        expect(code == 1 and "\n0 wrong." not in text, f"nothing was noticed: exit {code}")
        expect(run(traces, out, FAKE_CUDA_DEVICES="0")[0] == 4, "no GPU is not exit code 4")
    print("\n".join(wrong) or "fine")
    sys.exit(1 if wrong else 0)


main()
