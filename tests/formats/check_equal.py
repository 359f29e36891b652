#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All encodings of one snapshot load to the same model, and that is what Python reads.

usage: check_equal.py DUMP_MODEL FOLDER       own fixtures, which make_fixtures.py wrote there
       check_equal.py DUMP_MODEL --real       real snapshots next to the checkout; exit code 77 if there are none
"""
import base64
import json
import math
import os
import pathlib
import pickle
import pickletools
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from make_fixtures import all_files
from model import expected_lines, shared
from snapshots import RestrictedUnpickler, snapshot_paths

STACK_AT = {"segment": 9, "host_segment": 9, "block": 5, "host_block": 5, "event": 7}


def dump(program, path):
    run = subprocess.run([program, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode != 0:
        return None, run.stderr.decode(errors="replace").strip()
    lines = [json.loads(line) for line in run.stdout.decode().split("\n") if line]
    stacks = {line[1]: shared(line[2]) for line in lines if line[0] == "stack"}
    for line in lines:
        if line[0] in STACK_AT:
            line[STACK_AT[line[0]]] = stacks.get(line[STACK_AT[line[0]]])
    return [line for line in lines if line[0] not in ("source", "stack", "warning")], None


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-15)
    return type(a) is type(b) and a == b


def difference(got, want):
    if got == want:
        return None
    for i, (g, w) in enumerate(zip(got, want)):
        if len(g) != len(w) or not all(same(x, y) for x, y in zip(g, w)):
            return f"line {i}:\n  got  {str(g)[:600]}\n  want {str(w)[:600]}"
    return None if len(got) == len(want) else f"{len(got)} lines instead of {len(want)}"


def check(program, path, wanted):
    got, error = dump(program, path)
    return error or difference(got, wanted)


def some_rows(seed):
    """A snapshot whose events, blocks and frames are alike, but for odd ones: what is read at once stands beside what is
    not."""
    r = random.Random(seed)
    frames = [{"name": f"f{i}", "filename": f"/{i % 5}.py", "line": i} for i in range(40)]
    stacks = [[r.choice(frames) for _ in range(r.choice([1, 2, 30, 255, 256, 257, 600]))] for _ in range(8)] + [[]]
    context = "shared by all"

    def event(i):
        e = {"action": r.choice(["alloc", "free_requested", "free_completed", "segment_alloc"]),
             "addr": 0x7F0000000000 + 512 * r.randrange(1 << r.randrange(1, 40)),
             "size": r.choice([0, 1, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32, 2**63 - 1, r.randrange(1 << 40)]),
             "stream": r.choice([0, 0, 0, 7, 2**40, -1]), "time_us": 1700000000000000 + 1000 * i,
             "compile_context": r.choice([context, context, "N/" + "A"[:r.randrange(2)], "x" * r.randrange(250, 260)]),
             "frames": r.choice([lambda: r.choice(stacks), lambda: list(stacks[i // 2 % 5]), lambda: list(r.choice(stacks)),
                                 lambda: [r.choice(frames) for _ in range(r.randrange(4))]])()}
        if seed % 2:
            e["pool_id"] = r.choice([(0, 0), (0, 1), (2**40, 7), (0, i % 3)])
        if seed % 4 == 1 and e["action"].startswith("free"):
            del e["frames"]
        if seed % 3 == 0:
            e["user_metadata"] = r.choice(["", context, str(i)])
        return e

    def odd(e):
        kind = r.randrange(14)
        if kind < 5:
            e[r.choice(list(e))] = r.choice([None, -5, 2**64 - 1, 2**63, 1.5, "text", [], {}, (1, 2), True, [frames[0], 3]])
        elif kind == 5:
            del e[r.choice([key for key in e if key != "action"])]
        elif kind == 6:
            e["new_key"] = r.choice([1, "a", [1], frames[0]])
        elif kind == 7:
            e.update(action="oom", device_free=r.randrange(1 << 36))
        elif kind == 8:
            e["frames"] = [{"name": "new", "filename": "new.py", "line": r.randrange(100)}]
        elif kind == 9:
            e = dict(reversed(e.items()))
        elif kind == 10:
            e["action"] = "unheard of"
        elif kind == 11:
            e.update(addr=-e["addr"], device_free=5)
        elif kind == 12:
            e["category"] = "new"
        return e

    events = [event(i) if r.random() < 0.9 else odd(event(i)) for i in range(1200)]
    events += events[-3:]  # the same ones again

    def block(i):
        b = {"address": 0x7F0000000000 + 512 * i, "size": 512 * (1 << r.randrange(40)),
             "requested_size": r.randrange(1 << 20), "state": r.choice(["active_allocated", "active_pending_free", "inactive"]),
             "frames": r.choice([[], stacks[i % 5], list(stacks[i // 2 % 5]),
                                 [{"name": f"n{i}", "filename": r.choice(["b.py", "/" + "x" * 300]), "line": i}]])}
        kind = r.randrange(60)
        if kind < 4:
            key = r.choice([key for key in b if key != "size"])
            b[key] = r.choice([None, -5, 2**64 - 1, 1.5, "text", [], {}, (1, 2), True, [frames[0], 3]])
        elif kind == 4:
            del b[r.choice([key for key in b if key not in ("size", "state")])]
        elif kind == 5:
            b["state"] = r.choice(["active_awaiting_free", "unheard of"])
        elif kind == 6:
            b["history"] = [{"addr": 1, "real_size": 7, "frames": stacks[0]}]
        elif kind == 7:
            b = dict(reversed(b.items()))
        elif kind == 8:
            b["frames"] = [{"name": None, "filename": "c.py", "line": 1}, {"name": "a", "filename": "c.py"},
                           {"filename": "c.py", "line": -1, "name": "back"},
                           {"name": "more", "filename": "c.py", "line": 2, "fx_node_op": "call"}]
        return b

    segments = [{"device": 0, "address": 0x7F0000000000 + 512 * i, "total_size": 1 << 20, "stream": 0,
                 "segment_type": "large", "blocks": [block(i + k) for k in range(8)]} for i in range(0, 800, 8)]
    return {"segments": segments, "device_traces": [events[:700], [], events[700:]]}


def at_once(program):
    """Rows are read at once from protocol 4 on only (pickle_row.c): before, the plain way is the oracle."""
    count = failures = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "events")
        for seed in range(24):
            said, rows = [], some_rows(seed)
            for protocol in (2, 4, 5):
                path.write_bytes(pickle.dumps(rows, protocol))
                lines = subprocess.run([program, str(path)], stdout=subprocess.PIPE, check=True).stdout.split(b"\n")
                said.append([line for line in lines if not line.startswith(b'["source"')])
            count += 1
            failures += said[0] != said[1] or said[0] != said[2]
            for plain, other in zip(said[0] * 2, said[1] + said[2]):
                if plain != other:
                    print(f"rows of seed {seed}:\n  at once {other[:600]}\n  plain   {plain[:600]}")
                    break
    return count, failures


def changed_slots(program):
    """Lists of frames are known again by their bytes, but not once a slot of the memo has another value."""
    frames = [{"name": f"f{i}", "filename": "a.py", "line": i} for i in range(3)]
    events = [{"action": "alloc", "addr": 512 * i, "size": 512, "stream": 0, "time_us": i,
               "frames": [frames[k] for k in ((0, 1), (1, 0, 2), (2, 1))[i % 3]]} for i in range(60)]
    data = pickle.dumps({"segments": [], "device_traces": [events]}, 4)
    ops = list(pickletools.genops(data))
    ends = [ops[i + 1][2] for i in range(len(ops) - 1) if ops[i][0].name == "SETITEMS" and ops[i + 1][0].name == "EMPTY_DICT"]
    lists = [i for i in range(len(ops)) if [op.name for op, _, _ in ops[i:i + 4]] == ["EMPTY_LIST", "MEMOIZE", "MARK", "BINGET"]]
    slots = sorted({arg for op, arg, _ in ops[lists[-1]:lists[-1] + 8] if op.name == "BINGET"})[:2]
    count = failures = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "changed")
        for end in ends[20:40]:
            path.write_bytes(data[:end] + bytes([0x68, slots[0], 0x71, slots[1], 0x30]) + data[end:])
            error = check(program, path, expected_lines(pickle.loads(path.read_bytes())))
            count += 1
            failures += error is not None
            if error:
                print("changed slots", error)
    return count, failures


def own(program, folder):
    count = failures = 0
    wanted = {}  # the lines of a snapshot, which are the same for most of its encodings; it stays, and so its id is its own
    for name, _, snapshot, arrive in all_files():
        if (id(snapshot), arrive) not in wanted:
            wanted[id(snapshot), arrive] = expected_lines(snapshot, arrive), snapshot
        error = check(program, pathlib.Path(folder, name), wanted[id(snapshot), arrive][0])
        count += 1
        failures += error is not None
        if error:
            print(name, error)
    return count, failures


def read_real(path):
    data = path.read_bytes()
    if data.lstrip()[:1] == b"<":
        match = re.search(rb'"base64": "([^"]*)"', data)
        data = base64.b64decode(match.group(1)) if match else b""
    with tempfile.TemporaryFile() as f:
        f.write(data)
        f.seek(0)
        return RestrictedUnpickler(f).load() if data else None


def real(program):
    count = failures = 0
    for path in snapshot_paths(".pickle", ".pkl", ".html"):
        snapshot = read_real(path)
        if snapshot is None:
            continue
        error = check(program, path, expected_lines(snapshot))
        count += 1
        failures += error is not None
        if error:
            print(path.name, error)
    return count, failures


def main():
    if sys.argv[2:] != ["--real"]:
        count, failures = map(sum, zip(own(*sys.argv[1:3]), at_once(sys.argv[1]), changed_slots(sys.argv[1])))
    else:
        count, failures = real(sys.argv[1])
    print(count, "files,", failures, "failures")
    sys.exit(1 if failures or count == 0 else 0)


if __name__ == "__main__":
    main()
