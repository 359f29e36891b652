# SPDX-License-Identifier: Apache-2.0
"""Versions of PyTorch to try: virtual environments, one for each, in a folder that is kept: vVERSION/bin/python."""
import os
import shutil
import subprocess
import sys

SMALL = ["filelock", "typing_extensions", "sympy", "networkx", "jinja2", "fsspec", "numpy", "setuptools"]
NEEDS_GIB = 2.2  # of each: the wheel, unpacked
INTERPRETERS = ["python3.12", "python3.11", "python3.10", "python3", "python3.13"]


def python_of(folder, version):
    path = os.path.join(folder, "v" + version, "bin", "python")
    return path if os.path.exists(path) and os.path.exists(os.path.join(folder, "v" + version, ".ready")) else None


def make(folder, version):
    """The Python of a new environment; None, and a word on stderr, if there can be none."""
    place = os.path.join(folder, "v" + version)
    for interpreter in filter(shutil.which, INTERPRETERS):
        shutil.rmtree(place, ignore_errors=True)
        print(f"oracle: torch {version} for {interpreter}, in {place}", file=sys.stderr, flush=True)
        pip = [os.path.join(place, "bin", "pip"), "install", "-q", "--disable-pip-version-check"]
        steps = ([interpreter, "-m", "venv", place], [*pip, "--no-deps", f"torch=={version}"], [*pip, *SMALL])
        failed = next((step for step in steps if subprocess.run(step, check=False).returncode), None)
        if failed is None:
            with open(os.path.join(place, ".ready"), "w", encoding="utf-8"):
                pass
            return python_of(folder, version)
        print(f"oracle: failed: {' '.join(failed)}", file=sys.stderr)
    shutil.rmtree(place, ignore_errors=True)
    return None


def find(folder, versions, is_to_make):
    """{version: its Python}, of those that are there or could be made."""
    found = {version: python_of(folder, version) for version in versions}
    missing = [version for version, python in found.items() if python is None]
    if missing and is_to_make:
        os.makedirs(folder, exist_ok=True)
        free = shutil.disk_usage(folder).free / (1 << 30)
        wanted = NEEDS_GIB * len(missing)
        print(f"oracle: {', '.join(missing)} will take {wanted:.1f} GiB of {free:.1f} GiB free in {folder}", file=sys.stderr)
        if free < wanted + 1:
            sys.exit("oracle: that is not enough; GM_TORCH_VENVS=FOLDER names another place")
        for version in missing:
            found[version] = make(folder, version)
    return {version: python for version, python in found.items() if python}
