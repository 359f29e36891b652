# SPDX-License-Identifier: Apache-2.0
"""The module for Python holds what its types say: mypy --strict, where it is."""
import importlib.util
import os
import subprocess
import sys

if importlib.util.find_spec("mypy") is None:
    print("skipped: mypy is not here")
    sys.exit(77)
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.exit(subprocess.run([sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", os.devnull, "gmanalyze"],
                        cwd=os.path.join(SOURCE, "analyze", "lib", "python")).returncode)
