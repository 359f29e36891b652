# SPDX-License-Identifier: Apache-2.0
"""run.sh on the fake CUDA: that it runs through, says what it should, and notices what is wrong. usage: check_run.py
BUILD"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "compute"))
from traces import MIB, large_trace, small_trace  # noqa: E402


def run(folder, **more):
    out = os.path.join(folder, "out")
    done = subprocess.run(["sh", os.path.join(HERE, "run.sh"), sys.argv[1]], capture_output=True, text=True, check=False,
                          env=dict(os.environ, GM_GPU_FAKE="1", GM_GPU_TRACES=folder, GM_GPU_OUT=out,
                                   FAKE_CUDA_MEMORY=str(2000 * MIB), **more))
    page = os.path.join(out, "README.md")
    text = ""
    if os.path.exists(page):
        with open(page, encoding="utf-8") as file:
            text = file.read()
        os.remove(page)
    return done.returncode, text, done.stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        small_trace().write(folder, "small.pickle")
        large_trace().write(folder, "large.pickle")
        code, text, errors = run(folder)
        rows = [line for line in text.splitlines() if line.startswith("| `small.pickle`")]
        wrong = []
        if code != 0 or "\n0 wrong." not in text or "OUT OF MEMORY" not in text or "| `mlp` |" not in text:
            wrong.append(f"exit {code}\n{text}{errors}")
        if len(rows) != 1 or "| yes | 0 |" not in rows[0]:
            wrong.append(f"the trace's row: {rows}")
        code, text, _ = run(folder, FAKE_CUDA_SPOIL="1:0")
        if code != 1 or "\n0 wrong." in text:
            wrong.append(f"nothing was noticed: exit {code}")
        if run(folder, FAKE_CUDA_DEVICES="0")[0] != 4:
            wrong.append("no GPU is not exit code 4")
    print("\n".join(wrong) or "fine")
    sys.exit(1 if wrong else 0)


main()
