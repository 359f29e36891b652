#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A snapshot that was loaded and written again is the same Python object, the same model, and the same bytes once more.

usage: check_written.py REWRITE DUMP_MODEL              own fixtures, in every encoding
       check_written.py REWRITE DUMP_MODEL --real       real snapshots next to the checkout; exit code 77 if there are none

Objects are compared value by value, lists in their order, and the order of the keys of every dictionary. What may
differ is what ALLOWED says and docs/writing.md explains; each allowance that was used is counted and printed.
"""
import collections
import gzip
import itertools
import os
import pathlib
import pickle
import pickletools
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "formats"))
from check_equal import dump, read_real
from make_fixtures import all_files, event, frame, segment, block
from snapshots import RestrictedUnpickler, snapshot_paths

ALLOWED = collections.Counter()
ROWS = ({"action"}, {"total_size"}, {"state", "size"}, {"name", "stage"})  # dictionaries that become rows


def allowed(why):
    ALLOWED[why] += 1
    return None


def text_of(value):
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")


def python_escape(raw):
    """Bytes as a string: UTF-8 and halves of pairs as they are, any other byte 0xNN as U+DCNN."""
    out, i = "", 0
    while i < len(raw):
        for n in (1, 2, 3, 4):
            try:
                out += raw[i:i + n].decode("utf-8", "surrogatepass")
                break
            except UnicodeDecodeError:
                continue
        else:
            out, n = out + chr(0xDC00 + raw[i]), 1
        i += n
    return out


def scalar(path, a, b, lone):
    if type(a) is type(b) and (a == b or a != a):
        return None
    if isinstance(a, (str, bytes)) and isinstance(b, str):
        if isinstance(a, bytes) and python_escape(a) == b:
            return allowed("bytes that are no UTF-8 are written as surrogates")
        if lone == "replaced" and isinstance(a, str) and re.sub("[\ud800-\udfff]", "\ufffd", a) == b:
            return allowed("lone surrogates were replaced when JSON or protocol 0 was read")
    if lone == "cpp" and path.endswith(".stream") and isinstance(b, int) and (a - b) % (1 << 64) == 0:
        return allowed("PyTorch's C++ writer, and its imitation here, store streams signed")
    if isinstance(a, bool) != isinstance(b, bool) and lone == "python2" and a == b:
        return allowed("protocols 0 and 1 of Python 2 know no booleans")
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool) and not isinstance(b, bool):
        if isinstance(a, float) and a == b:
            return allowed("a whole float where an integer belongs")
        key = path.rsplit(".", 1)[-1]
        if isinstance(a, int) and key in ("addr", "address") and a % (1 << 64) == b:
            return allowed("negative addresses are written unsigned")
    return f"{path}: {a!r:.200} became {b!r:.200}"


def is_row(d):
    return any(all(k in d for k in row) for row in ROWS)


def differ(path, a, b, lone, seen):
    """The first difference between the object a that was read and b that was written, or None."""
    if isinstance(a, (dict, list)) and (id(a), id(b)) in seen:
        return None
    if isinstance(a, (dict, list)):
        seen.add((id(a), id(b)))
    if isinstance(a, dict) and isinstance(b, dict):
        if set(a) != set(b):
            return f"{path}: keys {sorted(map(str, set(a) ^ set(b)))} are on one side only"
        if list(a) != list(b):
            allowed("another order of keys than most rows of the file" if is_row(a) or "filename" in a
                    else f"another order of keys in {path}")
        for k in a:
            if (found := differ(f"{path}.{k}", a[k], b[k], lone, seen)) is not None:
                return found
        return None
    if isinstance(a, list) and isinstance(b, tuple) and len(a) == len(b) == 2 and "pool" in path:
        a = allowed("pairs are tuples, lists in JSON") or tuple(a)
    if isinstance(a, (list, tuple)) and type(a) is type(b):
        if len(a) != len(b):
            return f"{path}: {len(a)} items became {len(b)}"
        for i, (x, y) in enumerate(zip(a, b)):
            if (found := differ(f"{path}[{i}]", x, y, lone, seen)) is not None:
                return found
        return None
    if b is None and isinstance(a, dict) and is_row(a):
        return allowed("a row outside of the tables is not kept")
    return scalar(path, a, b, lone)


def frames_are_sound(data):
    """Frames hold whole opcodes and about 64 KiB; longer strings lie outside. Only opcodes that the viewer knows."""
    known = set("PROTO FRAME EMPTY_DICT EMPTY_LIST MARK SETITEMS APPENDS APPEND SHORT_BINUNICODE BINUNICODE MEMOIZE BINPUT "
                "BINGET LONG_BINGET BININT1 BININT2 BININT LONG1 BINFLOAT NEWTRUE NEWFALSE NONE TUPLE2 STOP".split())
    end = start = 0
    for op, arg, pos in pickletools.genops(data):
        if op.name not in known:
            return f"opcode {op.name}"
        if end and pos >= end:
            if pos != end:
                return f"a frame ends inside the opcode before {pos}"
            end = 0
        if op.name == "FRAME":
            start, end = pos + 9, pos + 9 + arg
            if arg > 2 * 65536 + 300:
                return f"a frame of {arg} bytes"
        if op.name in ("BINUNICODE", "SHORT_BINUNICODE") and len(arg.encode("utf-8", "surrogatepass")) >= 65536 and end:
            return f"a long string inside the frame at {start}"
    return None


def run(program, source, target):
    done = subprocess.run([program, str(source), str(target)], capture_output=True, check=False)
    return None if done.returncode == 0 else done.stderr.decode(errors="replace").strip() or f"exit {done.returncode}"


def check(rewrite, dump_model, path, snapshot, lone, folder):
    """Returns (what is wrong or None, size of the written pickle)."""
    one, two = folder / "one.pickle", folder / "two.pickle"
    if (error := run(rewrite, path, one) or run(rewrite, one, two)) is not None:
        return error, 0
    data = one.read_bytes()
    if data != two.read_bytes():
        return "written, read and written again, it is another file", 0
    with open(one, "rb") as f:
        written = RestrictedUnpickler(f).load()
    if (error := differ("", snapshot, written, lone, set()) or frames_are_sound(data)) is not None:
        return error, 0
    before, error = dump(dump_model, path)
    after, error2 = dump(dump_model, one)
    if error or error2:
        return error or error2, 0
    return None if before == after or lone == "raw" else "the model that is read from it differs", len(data)


# ---- own fixtures ------------------------------------------------------------------------------------------------------

def kept():
    """Everything that no column holds: keys that are not analysed or not known, odd values, orders."""
    shared_list = ["shared", {"deep": [1, [2.5, [None, True]]]}]
    fx = {**frame("g", "<eval>.py", 3), "fx_node_op": "call", "fx_node_name": "mm", "fx_original_trace": "File ..."}
    blocks = [block(4096, 512, frames=[fx, frame("f", "a.py", 1)]), {"size": 512, "state": "inactive"},
              {"size": 1024, "state": "odd", "address": None, "frames": None, "extra": shared_list},
              {"state": "active_awaiting_free", "size": 1, "requested_size": -1, "address": 8192}]
    events = [event("alloc", 1, 2, frames=[fx], forward_frames=["x\n", "y\n"]), event("alloc", 2, 3, internal_metadata="m"),
              {"frames": [fx], "action": "free", "addr": 7, "size": 8, "stream": -1}, {"action": "oom", "addr": 5, "size": 6},
              {"action": "oom", "device_free": 9, "addr": 5, "size": 6}, {"action": "alloc", "device_free": 4, "size": 1},
              {"action": "alloc", "device_free": 4, "size": 1, "addr": 3}, {"action": None, "size": 2}, {"action": 5},
              {"action": "brand_new", "user_metadata": {"step": 1, "who": [1, 2]}, "compile_context": None},
              event("alloc", 3, 4, frames={}, new_key=shared_list), event("alloc", 3, 4, frames=None, pool_id=(1, 2)),
              event("alloc", (1 << 64) - 2, 1 << 63, time_us=-5), event("alloc", 3, 4, stream="seven", category=3),
              event("alloc", 3, 4, pool_id=[1, -2]), {"action": "snapshot"},
              event("alloc", (1 << 64) - 1, (1 << 64) - 1, time_us=-(1 << 63), stream=(1 << 64) - 1),
              event("alloc", 1, 2, time_us=(1 << 63) + 5, stream=1 << 63, frames=[frame("minus", "one", (1 << 64) - 1)])]
    return {"before": {"a": 1, "nested": {"b": [(1, 2), -7, 1 << 63, -(1 << 63)], "": {}}, "none": None},
            "segments": [segment(0, 4096, blocks, frames=[fx]), {"address": 1 << 20, "total_size": 4096},
                         segment(1, 1 << 21, [block(1 << 21, 4096)], registration_counter=-1, segment_type="huge"),
                         {"total_size": 1, "address": 0, "blocks": [], "is_expandable": None, "stream": None, "x": 0.5}],
            "between": shared_list, "device_traces": [events, [], events[:1]], "trace_alloc_max_entries": [5, None],
            "allocator_settings": {"a.b": 1, "list": [1, 2], "big": (1 << 63) + 1, "empty": {}, "roundup": {"1": 0, "2": 4},
                                   "k" * 300: 1, "real": 0.25, "three": {"two": {"one": 0}}},
            "external_annotations": [{"stage": "START", "name": "n", "device": 0, "time_us": 1, "user": shared_list},
                                     {"name": "n", "stage": "other"}, {"time_us": 5, "stage": None, "name": None}],
            "trace_alloc_overflowed": True, "host_segments": None, "after": float("inf")}


def no_lists():
    return {"segments": [], "device_traces": None, "allocator_settings": [], "external_annotations": {"a": 1}}


def both_traces():
    return {"traces": [[event("alloc", 1, 2)]], "segments": [], "device_traces": [[event("alloc", 3, 4)]]}


def deep():
    """Deeper than any recursion would go, by way of the memo."""
    value = ["bottom"]
    for _ in range(150):
        value = [value, {"v": value}]
    return {"segments": [], "unknown": value}


def order_of_keys():
    reverse = [dict(reversed(event("alloc", i, i, frames=[frame("f", "g", 1)]).items())) for i in range(3)]
    return {"device_traces": [reverse], "segments": [dict(reversed(segment(0, 0, [dict(reversed(block(0, 512).items()))]).items()))]}


def cases():
    extra = {"kept": kept(), "no_lists": no_lists(), "both": both_traces(), "deep": deep(), "order": order_of_keys()}
    for name, snapshot in extra.items():
        for protocol in range(2, 6):
            yield f"{name}.p{protocol}", lambda: pickle.dumps(snapshot, protocol), snapshot, "kept"
    for name, make, snapshot, arrive in all_files():
        lone = "raw" if name.startswith("raw.") else "cpp" if ".cpp." in name else "python2" if "python2" in name and arrive == "kept" else arrive
        yield name, make, snapshot, lone


def own(rewrite, dump_model, folder):
    count = failures = 0
    path = folder / "fixture"
    for name, make, snapshot, lone in itertools.islice(cases(), 0, None, int(os.environ.get("GM_SAMPLE", "1"))):
        path.write_bytes(make())
        error, _ = check(rewrite, dump_model, path, snapshot, lone, folder)
        count += 1
        failures += error is not None
        if error:
            print(name, error)
    for suffix in (".gz", ".zst"):  # the same pickle, compressed
        plain, packed = folder / "one.pickle", folder / f"one.pickle{suffix}"
        error = run(rewrite, path, plain) or run(rewrite, path, packed)
        if not error:
            data = packed.read_bytes()
            tool = ["zstd", "-dqc", str(packed)]
            data = gzip.decompress(data) if suffix == ".gz" else subprocess.run(tool, stdout=subprocess.PIPE, check=True).stdout
            error = None if data == plain.read_bytes() else "is not the compressed pickle"
        count += 1
        failures += error is not None
        if error:
            print(suffix, error)
    return count, failures


def real(rewrite, dump_model, folder):
    count = failures = 0
    for path in snapshot_paths(".pickle", ".pkl", ".html"):
        snapshot = read_real(path)
        if snapshot is None:
            continue
        error, size = check(rewrite, dump_model, path, snapshot, "kept", folder)
        count += 1
        failures += error is not None
        ratio = size / (len(pickle.dumps(snapshot, 4)) if path.suffix == ".html" else path.stat().st_size)
        print(f"{size:9} bytes, {ratio:.3f} of the original: {path.name}" if not error else f"{path.name}: {error}")
    return count, failures


def main():
    rewrite, dump_model = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if sys.argv[3:] != ["--real"]:
            count, failures = own(rewrite, dump_model, folder)
        else:
            count, failures = real(rewrite, dump_model, folder)
    for why, times in sorted(ALLOWED.items()):
        print(f"allowed {times} times: {why}")
    print(count, "files,", failures, "failures")
    sys.exit(1 if failures or count == 0 else 0)


main()
