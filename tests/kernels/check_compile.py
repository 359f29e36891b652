#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every .cu compiles for every major architecture, with warnings as errors. usage: check_compile.py NVCC BUILT [FLAGS...]

BUILT, as in 75,80: the build has done those. What NVCC does not know is left out. All files are one translation unit, since most of the time goes into CUDA's own
headers; if that has errors, each is compiled by itself, and that counts. (The build compiles each by itself, too.)
"""
import glob
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARCHS = ["75", "80", "86", "89", "90", "100", "120"]


def complaints(command, path, folder):
    done = subprocess.run([*command, "-c", path, "-o", os.path.join(folder, "x.o")], capture_output=True, text=True,
                          check=False)
    return f"{path}:\n{done.stdout}{done.stderr}" if done.returncode != 0 or done.stderr.strip() else ""


def main():
    if len(sys.argv) < 3 or not os.path.exists(sys.argv[1]):
        print("skipped: no nvcc")
        sys.exit(77)
    nvcc, built, flags = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]
    known = subprocess.run([nvcc, "--list-gpu-code"], capture_output=True, text=True, check=True).stdout.split()
    archs = [arch for arch in ARCHS if "sm_" + arch in known and arch not in built]
    codes = [f"-gencode=arch=compute_{arch},code=sm_{arch}" for arch in archs]
    command = [nvcc, *flags, *codes, "--threads", str(os.cpu_count() or 1)]
    sources = sorted(glob.glob(os.path.join(SOURCE, "**", "*.cu"), recursive=True))
    sources = [path for path in sources if f"{os.sep}build" not in path[len(SOURCE):]]
    with tempfile.TemporaryDirectory() as folder:
        together = os.path.join(folder, "all.cu")
        with open(together, "w", encoding="utf-8") as file:
            file.writelines(f'#include "{path}"\n' for path in sources)
        wrong = [complaints(command, together, folder)] if sources else []
        if any(wrong):
            wrong = [complaints(command, path, folder) for path in sources]
    wrong = [text for text in wrong if text]
    print(f"{len(sources)} files for {', '.join('sm_' + arch for arch in archs)}, {len(wrong)} with errors or warnings")
    sys.exit("\n".join(wrong) or (0 if sources and known else "there is no .cu, or no architecture"))


main()
