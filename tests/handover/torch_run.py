# SPDX-License-Identifier: Apache-2.0
"""What the tests of gmtrace against PyTorch share: PyTorch is $GM_TORCH_PYTHON's (else exit code 77), on gmdry. Binaries:
$GMTRACE, $GMREPLAY, $GMDRY."""
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

PYTHON = os.environ.get("GM_TORCH_PYTHON")
if not PYTHON:
    print("skipped: no GM_TORCH_PYTHON")
    sys.exit(77)
GMTRACE, GMREPLAY, GMDRY = (os.environ[name] for name in ("GMTRACE", "GMREPLAY", "GMDRY"))


def load(path):
    with open(path, "rb") as f:
        return pickle.load(f)  # our own


def run(folder, *command, code=0, **environment):
    """code None: whatever it is."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})
    assert code in (None, done.returncode), (command, done.returncode, done.stdout, done.stderr[-2000:])
    return done


def gmdry(folder, *args, **how):
    return run(folder, GMDRY, "-q", "--no-charts", "--no-page", *args, **how)


def cases(program, settings):
    """Each of them with a folder of its own that holds program.py."""
    for case in settings:
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "program.py").write_text(program)
            yield case, pathlib.Path(folder)
