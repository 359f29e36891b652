#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small snapshots of every shape, in every encoding.

usage: make_fixtures.py DIRECTORY     writes NAME.ENCODING files there and prints their names
"""
import base64
import gzip
import io
import json
import pathlib
import pickle
import pickletools
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from writers import cpp_dumps, python2_dumps

MIB = 1 << 20


def frame(name, filename, line):
    return {"name": name, "filename": filename, "line": line}


FRAMES = [frame("forward", "/venv/torch/nn/modules/linear.py", 125), frame("train", "train.py", 10),
          frame("at::_ops::addmm::call(at::Tensor const&)", "??", 0)]


def segment(device, address, blocks, **more):
    sums = {s: sum(b["size"] for b in blocks if b["state"] == s)
            for s in ("active_allocated", "active_pending_free", "inactive")}
    active = sums["active_allocated"] + sums["active_pending_free"]
    return {"device": device, "address": address, "total_size": active + sums["inactive"],
            "allocated_size": sums["active_allocated"], "active_size": active,
            "requested_size": sum(b.get("requested_size", b["size"]) for b in blocks if b["state"] != "inactive"),
            "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
            "blocks": blocks, **more}


def block(address, size, state="active_allocated", requested=None, frames=None):
    return {"address": address, "size": size, "requested_size": size if requested is None else requested,
            "state": state, "frames": [] if frames is None else frames}


def event(action, addr, size, **more):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": 1700000000000000,
            "compile_context": "N/A", "user_metadata": "", **more}


def full():
    base, other = 0x7F0000000000, 0xFFFF800000000000
    segments = [
        segment(0, base, [block(base, 4 * MIB, requested=4 * MIB - 100, frames=FRAMES[:2]),
                          block(base + 4 * MIB, 16 * MIB, "inactive", 7)]),
        segment(0, base + 64 * MIB, [block(base + 64 * MIB, 512, "active_pending_free", 400, FRAMES),
                                     block(base + 64 * MIB + 512, 2 * MIB - 512, "inactive", 0)],
                segment_type="small", stream=94206411, segment_pool_id=(0, 3), frames=FRAMES[1:]),
        segment(1, other, [block(other, 20 * MIB, frames=FRAMES[:1])], is_expandable=True, segment_pool_id=(1, 0),
                stream=-5),
        segment(1, other + 64 * MIB, [block(other + 64 * MIB, 2 * MIB, "active_awaiting_free")],
                stream=(1 << 64) - 7, registration_counter=-1, brand_new_key="x"),
    ]
    trace = [event("segment_alloc", base, 20 * MIB, frames=FRAMES), event("alloc", base, 4 * MIB - 100, frames=FRAMES[:2]),
             event("free_requested", base, 1), event("free_completed", base, 1, frames=[]),
             event("segment_map", other, 2 * MIB, stream=-5, pool_id=(1, 0)), event("segment_unmap", other, 2 * MIB),
             event("segment_free", base, MIB, time_us=1700000000000001), event("snapshot", 0, 12345),
             {"action": "oom", "device_free": 77 * MIB, "size": 1 << 40, "stream": 0, "time_us": 1700000000000002},
             event("user_defined", 0, 0, frames=[frame("START", "my range", 0)]),
             event("annotate", base, 3, internal_metadata="m", forward_frames=["a\n", "b\n"]),
             event("teleport", base, 5, user_metadata="step 3"), event("alloc", None, 8.0, category="parameter"),
             event("alloc", 1.5, "many", time_us=None), event("free", other, 1, compile_context=None)]
    return {"segments": segments, "device_traces": [trace, [], [event("alloc", 1, 2)]],
            "allocator_settings": {
                "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "max_split_size": -1,
                "garbage_collection_threshold": 0.8, "expandable_segments": True, "release_lock_on_cudamalloc": False,
                "pinned_num_register_threads": 1, "nothing": None,
                "roundup_power2_divisions": {"1": 0, "2": 4, "32768": 8}},
            "external_annotations": [{"stage": "START", "name": "ProfilerStep#1", "device": 0, "time_us": 5},
                                     {"name": "ProfilerStep#1", "stage": "END", "device": -1, "time_us": 6, "k": 1},
                                     {"name": "odd", "stage": "MIDDLE"}],
            "trace_alloc_max_entries": [100, 200, 300], "trace_alloc_overflowed": [True, False, False],
            "what_is_this": {"deep": [[[{"er": 1}]]]}}


def names():
    """Names with anything in them: controls, quotes, markup, other planes, halves of pairs, very long."""
    odd = ["", "\0", "a\"b\\c/d", "line\nfeed\ttab", "\x7f\x80\u2028", "naïve café", "模型.py", "🚀 rocket", "\ud83d alone",
           "\ude00", "</script><b>|`", "x" * 255, "y" * 256, "é" * 40000, "z" * 70000]
    stack = [frame(n, m, i) for i, (n, m) in enumerate(zip(odd, reversed(odd)))]
    return {"segments": [segment(0, 1 << 40, [block(1 << 40, MIB, frames=stack)])],
            "device_traces": [[event("alloc", i, i, user_metadata=n, frames=[stack[i]]) for i, n in enumerate(odd)]]}


def legacy():
    def old(size, state, history):
        return {"size": size, "state": state, "history": history}

    past = {"addr": 5, "real_size": 1000, "frames": FRAMES[:1]}
    return [{"device": 0, "address": 1 << 33, "total_size": 2 * MIB, "allocated_size": 1024, "active_size": 1024, "stream": 0,
             "segment_type": "small", "blocks": [old(1024, "active_allocated", [past, {"addr": 6, "real_size": 24}]),
                                                 old(2 * MIB - 1024, "inactive", []),
                                                 {"size": 0, "state": "inactive"}]}]


def many():
    """Lists and dictionaries around the batch sizes of picklers, more than 256 and 65536 memo entries, shared stacks."""
    stacks = [[FRAMES[0], frame(f"f{i}", f"file{i % 7}.py", i)] for i in range(1001)]
    trace = [event("alloc" if i % 2 == 0 else "free_completed", i * 512, 512, time_us=i, frames=stacks[i % 1001])
             for i in range(3001)]
    settings = {f"key{i}": i for i in range(1000)}
    return {"segments": [segment(0, i << 21, [block(i << 21, MIB), block((i << 21) + MIB, MIB, "inactive")])
                         for i in range(1000)],
            "device_traces": [trace, [trace[0]], list(trace[:2000])], "allocator_settings": settings}


def snapshots():
    host = {"segments": [], "device_traces": [[]], "host_segments": [segment(0, 4096, [block(4096, 8192, frames=FRAMES)])],
            "host_traces": [[event("alloc", 4096, 8192)]]}
    return {"full": full(), "names": names(), "legacy": legacy(), "many": many(), "host": host,
            "bare": full()["segments"], "empty": {"segments": [], "device_traces": []},
            "wrapped": {"segments": legacy(), "traces": [[]]}, "notrace": {"segments": full()["segments"]},
            "nosegments": {"device_traces": [[event("alloc", 1, 2)]]}}


def raw_names():
    """Bytes that are no UTF-8; no pickler of Python 3 writes these."""
    odd = [b"\xff\xfe", b"caf\xe9", b"\xed\xa0\x80", b"\xc0\xaf", b"cut \xe6\xa8", b"ok"]
    return {"segments": [segment(0, 1 << 40, [block(1 << 40, MIB, frames=[frame(n, n, 1) for n in odd])])],
            "device_traces": [[event("alloc", 1, 1, user_metadata=n) for n in odd]]}


def pickle_without_memo(snapshot, protocol):
    out = io.BytesIO()
    pickler = pickle.Pickler(out, protocol)
    pickler.fast = True
    pickler.dump(snapshot)
    return out.getvalue()


def page(data, padding):
    """As _memory_viz.py writes it: the pickle padded with zero bytes, base64, inside a script."""
    encoded = base64.b64encode(data + b"\0" * padding).decode()
    files = json.dumps([{"name": "snapshot.pickle", "base64": encoded}])
    return ("<!DOCTYPE html>\n<html>\n<head>\n</head>\n<body>\n<script type=\"module\">\n"
            f"const local_files = {files}\nadd_local_files(local_files, 'Active Memory Timeline')\n</script>\n</body>\n").encode()


def encodings(snapshot):
    """(suffix, what makes the bytes, how lone surrogates arrive) of every encoding; to be called before the next."""
    for protocol in range(6):
        arrive = "replaced" if protocol == 0 else "kept"
        yield f"p{protocol}.pickle", lambda: pickle.dumps(snapshot, protocol), arrive
        yield f"p{protocol}-python.pickle", lambda: pickle._dumps(snapshot, protocol), arrive
        yield f"p{protocol}-fast.pickle", lambda: pickle_without_memo(snapshot, protocol), arrive
        yield f"p{protocol}-optimized.pickle", lambda: pickletools.optimize(pickle.dumps(snapshot, protocol)), arrive
    data = pickle.dumps(snapshot, 4)
    yield "cpp.pickle", lambda: cpp_dumps(snapshot), "kept"
    yield "python2-0.pickle", lambda: python2_dumps(snapshot, True), "kept"
    yield "python2-1.pickle", lambda: python2_dumps(snapshot, False), "kept"
    yield "rest.pickle", lambda: data + b"\0\0\0rest after STOP", "kept"
    text = json.dumps(snapshot)
    yield "json", lambda: text.encode(), "replaced"
    yield "indented.json", lambda: ("\ufeff \n" + json.dumps(snapshot, indent=2, ensure_ascii=False)).encode("utf-8", "surrogatepass"), "kept"
    yield "compact.json", lambda: json.dumps(snapshot, separators=(",", ":")).encode() + b"\n\n", "replaced"
    yield "pickle.gz", lambda: gzip.compress(data), "kept"
    cut = len(data) // 3
    yield "members.gz", lambda: gzip.compress(data[:cut]) + gzip.compress(data[cut:], 1) + b"trailing", "kept"
    yield "twice.gz", lambda: gzip.compress(gzip.compress(data)), "kept"
    yield "json.gz", lambda: gzip.compress(text.encode()), "replaced"
    for padding in range(4):
        yield f"{padding}.html", lambda: page(data, padding), "kept"
    yield "html.gz", lambda: gzip.compress(page(data, 3 - len(data) % 3)), "kept"
    if shutil.which("zstd"):
        def zstd(*options, data=data):
            return subprocess.run(["zstd", "-q", "-c", *options], input=data, stdout=subprocess.PIPE, check=True).stdout

        skippable = b"\x5a\x2a\x4d\x18\x05\0\0\0hello"
        yield "pickle.zst", lambda: zstd("-19", "--long"), "kept"
        yield "frames.zst", lambda: skippable + zstd(data=data[:cut]) + skippable + zstd("--no-check", data=data[cut:]) + b"rest", "kept"
        yield "json.zst", lambda: zstd(data=text.encode()), "replaced"
        yield "gz.zst", lambda: zstd(data=gzip.compress(data)), "kept"


def all_files():
    """(file name, what makes its bytes, snapshot object, how lone surrogates arrive)"""
    for name, snapshot in snapshots().items():
        for suffix, make, arrive in encodings(snapshot):
            yield f"{name}.{suffix}", make, snapshot, arrive
    raw = raw_names()
    yield "raw.cpp.pickle", lambda: cpp_dumps(raw), raw, "kept"
    yield "raw.python2-0.pickle", lambda: python2_dumps(raw, True), raw, "kept"
    yield "raw.python2-1.pickle", lambda: python2_dumps(raw, False), raw, "kept"


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name, make, _, _ in all_files():
        (out / name).write_bytes(make())
        print(name)


if __name__ == "__main__":
    main()
