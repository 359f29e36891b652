#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds to a trace what a GPU would have run: for each aten::copy_ between host and device a call of cudaMemcpyAsync
and, later on a stream, the copy. The stand-in that the traces beside this file were made with runs none.

    with_copies.py TRACE.json[.gz] OUT.json
"""
import gzip
import json
import sys


def with_copies(trace, device=0):
    events, made = trace["traceEvents"], []
    inside = lambda e, o: e["tid"] == o["tid"] and o["ts"] <= e["ts"] and e["ts"] + e["dur"] <= o["ts"] + o["dur"]
    spans = [e for e in events if e["ph"] == "X"]
    marks = [e for e in spans if e["name"] in ("offload", "reload")]
    for e in spans:
        mark = next((m for m in marks if e["name"] == "aten::copy_" and inside(e, m)), None)
        if mark is None:
            continue
        to_host = mark["name"] == "offload"
        number = len(made) + 1
        external = e["args"]["External id"]
        dims = e["args"]["Input Dims"][0]
        made.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": e["pid"], "tid": e["tid"],
                     "ts": e["ts"], "dur": e["dur"] / 2, "args": {"External id": external, "correlation": number}})
        made.append({"ph": "X", "cat": "gpu_memcpy", "pid": device, "tid": 7 if to_host else 20,
                     "name": "Memcpy DtoH (Device -> Pageable)" if to_host else "Memcpy HtoD (Pageable -> Device)",
                     "ts": e["ts"] + e["dur"] / 4, "dur": e["dur"] / 4,
                     "args": {"External id": external, "device": device, "context": 1, "stream": 7 if to_host else 20,
                              "correlation": number, "bytes": 4 * dims[0], "memory bandwidth (GB/s)": 1.0}})
    events.extend(made)
    return trace


if __name__ == "__main__":
    with gzip.open(sys.argv[1]) if sys.argv[1].endswith(".gz") else open(sys.argv[1], "rb") as file:
        data = json.load(file)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(with_copies(data), file)
