# SPDX-License-Identifier: Apache-2.0
"""gmreplay --verify -o on every real snapshot: where the model agrees with the recording, the regenerated file is the
recorded one, compared as Python objects. A line per file: equal, the allowances that were used, or what differs.
usage: check_regenerated.py GMREPLAY"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import SKIPPED, load, snapshots  # noqa: E402

# What a file does not determine; docs/replay.md lists the same.
STALE = "requested_size of an inactive block: that of some earlier allocation"
SEGMENT_STACK = "frames of an expandable segment, of which pages were given back"


def differences(path, a, b, parents, seen):
    """(path, recorded, regenerated, the dictionaries that hold it in the recording)."""
    if isinstance(a, (list, dict)) and isinstance(b, (list, dict)):
        if (id(a), id(b)) in seen:
            return
        seen.add((id(a), id(b)))
    if type(a) is not type(b):
        yield path, a, b, parents
    elif isinstance(a, dict):
        for key in sorted(set(a) | set(b), key=str):
            if key in a and key in b:
                yield from differences(f"{path}.{key}", a[key], b[key], [*parents, a], seen)
            else:
                yield f"{path}.{key}", a.get(key, "nothing"), b.get(key, "nothing"), [*parents, a]
    elif isinstance(a, (list, tuple)):
        if len(a) != len(b):
            yield path, f"{len(a)} items", f"{len(b)} items", parents
            return
        for i, (x, y) in enumerate(zip(a, b)):
            yield from differences(f"{path}[{i}]", x, y, parents, seen)
    elif a != b and not (a != a and b != b):
        yield path, a, b, parents


def allowance(path, parents, unmapped):
    """Why this difference says nothing, or None."""
    kind = re.sub(r"\[\d+\]", "", path)
    if kind == ".segments.blocks.requested_size" and parents[-1].get("state") == "inactive":
        return STALE
    segment = next((p for p in parents if "total_size" in p), {})
    if kind.startswith(".segments.frames") and segment.get("is_expandable"):
        first, end = segment["address"], segment["address"] + segment["total_size"]
        if any(device == segment.get("device") and first <= at <= end for device, at in unmapped):
            return SEGMENT_STACK
    return None


def regenerate(program, path, folder):
    out = folder / "regenerated.pickle"
    done = subprocess.run([program, "-q", "--verify", "-o", str(out), str(path)], capture_output=True, check=False)
    if done.returncode > 1:
        raise AssertionError(f"{path.name}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.returncode == 0, load(out)


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else ""
    if not os.access(program, os.X_OK):
        print("skipped: no gmreplay to test")
        sys.exit(SKIPPED)
    equal = bad = others = 0
    used = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        for path, recorded in snapshots():
            if not any(recorded.get("device_traces") or []):
                continue
            passes, made = regenerate(program, path, pathlib.Path(name))
            if not passes:
                others += 1
                print(f"{path.name}: not PyTorch's CUDA allocator, or torn: regenerated otherwise, and loads")
                continue
            unmapped = [(d, e["addr"]) for d, t in enumerate(recorded["device_traces"]) for e in t
                        if e["action"] == "segment_unmap"]
            wrong, allowed = [], collections.Counter()
            for where, a, b, parents in differences("", recorded, made, [], set()):
                why = allowance(where, parents, unmapped)
                if why:
                    allowed[why] += 1
                else:
                    wrong.append(f"{where}: {a!r:.100} became {b!r:.100}")
            used.update(allowed)
            bad += bool(wrong)
            equal += not wrong and not allowed
            what = wrong[0] + f" and {len(wrong) - 1} more" if wrong else \
                "; ".join(f"{n} x {why}" for why, n in allowed.items()) or "equal"
            print(f"{path.name}: {what}")
    print(f"{equal} equal, {bad} different, {others} not followed exactly; allowances: {dict(used)}")
    sys.exit(1 if bad or not equal else 0)


main()
