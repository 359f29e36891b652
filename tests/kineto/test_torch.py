#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every program of make_traces.py on the PyTorch of GM_TORCH_PYTHON, on the CPU and on gmdry's stand-in: what gmanalyze
says of the traces is what key_averages() said, and what the program measured of its modules.

    test_torch.py GMANALYZE GMDRY
"""
import os
import subprocess
import sys
import tempfile

import check_averages

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    python = os.environ.get("GM_TORCH_PYTHON")
    if not python:
        print("skipped: GM_TORCH_PYTHON is not set")
        return 77
    program, gmdry = sys.argv[1:]
    with tempfile.TemporaryDirectory() as there:
        traces = os.path.join(there, "traces")
        for device in ("cpu", "cuda"):
            # the stand-in on the CPU, too: a CUDA build without the drivers' libraries cannot be imported
            out = subprocess.run([gmdry, "-q", "--no-charts", "--devices", "2", "-o", there, "--",
                                  python,
                                  os.path.join(HERE, "make_traces.py"), "--device", device, traces],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if out.returncode != 0:
                print(out.stdout)
                return 1
        return check_averages.check(program, traces)


if __name__ == "__main__":
    sys.exit(main())
