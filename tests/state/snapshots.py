# SPDX-License-Identifier: Apache-2.0
"""The real snapshots beside the checkout, read by Python without executing anything, and what gmanalyze says of them.

GM_SHARED names the folder that has them. With GM_SAMPLE=N a test takes every Nth only, and each test others; of random
runs every (N / 3)rd: sanitizers every second."""
import base64
import csv
import io
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import zlib

SKIPPED = 77


class RestrictedUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"refused: {module}.{name}")


def load(path):
    data = path.read_bytes()
    if path.suffix == ".html":
        texts = re.findall(rb'"base64": *"([A-Za-z0-9+/=]+)"', data)
        if not texts:
            return None
        data = base64.b64decode(max(texts, key=len))
    found = RestrictedUnpickler(io.BytesIO(data)).load()
    return {"segments": found} if isinstance(found, list) else found


def shared_folder():
    given = os.environ.get("GM_SHARED")
    return pathlib.Path(given) if given else pathlib.Path(__file__).resolve().parents[3] / "shared"


def snapshot_paths(*suffixes):
    """Sorted; ends the test as skipped if there is none."""
    paths = [p for p in sorted((shared_folder() / "snapshots").rglob("*")) if p.suffix in suffixes]
    if not paths:
        print("skipped: no snapshots beside the checkout")
        sys.exit(SKIPPED)
    every = int(os.environ.get("GM_SAMPLE", "1"))
    return paths[zlib.crc32(os.path.abspath(sys.argv[0]).rpartition("tests")[2].encode()) % min(every, len(paths))::every]


def snapshots():
    """(path, object) for every snapshot."""
    for path in snapshot_paths(".pickle", ".pkl", ".html"):
        found = load(path)
        if found is not None:
            yield path, found


def random_runs(count):
    return range(0, count, max(1, int(os.environ.get("GM_SAMPLE", "1")) // 3))


def program():
    path = sys.argv[1] if len(sys.argv) > 1 else ""
    if not os.access(path, os.X_OK):
        print("skipped: no gmanalyze to test")
        sys.exit(SKIPPED)
    return path


def with_curves(binary, path, *options):
    """analysis.json, and of timeline.csv the states after events as (device, requested, allocated, active, reserved)."""
    with tempfile.TemporaryDirectory() as results:
        command = [binary, "-q", "--no-charts", "--no-page", *options, "--json", "-", "-o", results, str(path)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{path}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
        rows = []
        for curve in pathlib.Path(results).glob("latest/timeline.csv"):
            for row in csv.DictReader(curve.read_text(encoding="ascii").splitlines()):
                if row["event"]:
                    rows.append(tuple(int(row[key]) if row[key] else None
                                      for key in ("device", "requested", "allocated", "active", "reserved")))
        return json.loads(done.stdout), rows


def analysis(binary, path, *options):
    return with_curves(binary, path, *options)[0]


def timelines(found):
    """{number: device} of an analysis, of those whose trace was looked at."""
    return {d["device"]: d for d in (found.get("timeline") or {}).get("devices", []) if "books" in d}


def frames_of(block):
    if "frames" in block:
        return block["frames"] or []
    history = block.get("history")
    return (history[0].get("frames") or []) if history else []


def requested_of(block):
    if "requested_size" in block:
        return block["requested_size"]
    history = block.get("history")
    if history and "real_size" in history[0]:
        return history[0]["real_size"]
    return block["size"]
