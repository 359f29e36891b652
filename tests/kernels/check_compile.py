#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every .cu compiles for every architecture, with warnings as errors. usage: check_compile.py NVCC [FLAGS...]

Without GM_CUDA_ALL_ARCHS in the environment: the oldest and the newest only. What NVCC does not know is left out.
"""
import glob
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARCHS = ["75", "80", "86", "89", "90", "100", "120"]


def main():
    if len(sys.argv) < 2 or not os.path.exists(sys.argv[1]):
        print("skipped: no nvcc")
        sys.exit(77)
    nvcc, flags = sys.argv[1], sys.argv[2:]
    known = subprocess.run([nvcc, "--list-gpu-code"], capture_output=True, text=True, check=True).stdout.split()
    archs = [arch for arch in ARCHS if "sm_" + arch in known]
    if not os.environ.get("GM_CUDA_ALL_ARCHS"):
        archs = [archs[0], archs[-1]]
    codes = [f"-gencode=arch=compute_{arch},code=sm_{arch}" for arch in archs]
    sources = sorted(glob.glob(os.path.join(SOURCE, "**", "*.cu"), recursive=True))
    sources = [path for path in sources if f"{os.sep}build" not in path[len(SOURCE):]]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for path in sources:
            done = subprocess.run([nvcc, *flags, *codes, "-c", path, "-o", os.path.join(folder, "x.o")],
                                  capture_output=True, text=True)
            if done.returncode != 0 or done.stderr.strip():
                wrong.append(f"{path}:\n{done.stdout}{done.stderr}")
    print(f"{len(sources)} files for {', '.join('sm_' + arch for arch in archs)}, {len(wrong)} with errors or warnings")
    sys.exit("\n".join(wrong) or (0 if sources else "there is no .cu"))


main()
