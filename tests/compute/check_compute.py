# SPDX-License-Identifier: Apache-2.0
"""gmreplay --backend cuda and cuda-async on the fake CUDA, with traces made here: the decisions of the simulated device,
kernels that find what was changed, the failure of every single call, out of memory, and nothing left behind.
With GM_SAMPLE=N over 3, only one call in N fails in turn, of each way others. usage: check_compute.py GMREPLAY_FAKE"""
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time

from runs import Run, compare, decisions, load
from traces import MIB, Trace, large_trace, small_trace

GPU = sys.argv[1]
GIB = 1 << 30
MISSING = -4  # GM_FAKE_MISSING
BROKEN = 719  # cudaErrorLaunchFailure: no answer that anybody expects
SAMPLE = int(os.environ.get("GM_SAMPLE", "1"))
EVERY = SAMPLE if SAMPLE > 3 else 1
wrong = []


def expect(condition, what):
    if not condition:
        wrong.append(what)
        print("wrong:", what)


def check_same(folder, name, t, memory, computes):
    """The simulated device and the GPU decide alike; `computes` are (--compute, late streams)."""
    path, ours, theirs = t.write(folder, name), os.path.join(folder, "sim.pickle"), os.path.join(folder, "gpu.pickle")
    for conf in ("", "expandable_segments:True", "max_split_size_mb:21,roundup_power2_divisions:4"):
        sim = Run(GPU, path, "--memory", memory, "--alloc-conf", conf, "-o", ours, "--summary",
                  os.devnull)
        for compute, late in computes:
            gpu = Run(GPU, path, "--backend", "cuda", "--memory", memory, "--alloc-conf", conf, "-o", theirs, "--compute",
                      compute, late=late)
            where = f"{name}, '{conf}', {compute}, late {late}"
            expect(gpu.code == sim.code == 0 and gpu.errors == "", f"{where}: exit {gpu.code} {gpu.errors}")
            if gpu.code != 0:
                continue
            expect(decisions(gpu.device()) == decisions(sim.device()), f"{where}: other decisions")
            expect(compare(load(ours), load(theirs)) == [], f"{where}: {compare(load(ours), load(theirs))}")
            expect(gpu.held() == {}, f"{where}: left {gpu.held()}")
            check_work(where, t, gpu.device()["gpu"], compute, "small" in name and conf == "")


def check_work(where, t, found, compute, sizes_known):
    allocs = sum(e["action"] == "alloc" for e in t.events)
    kernels = {k["name"]: k for k in found["kernels"]}
    expect(found["mismatches"] == 0 and found["first_mismatches"] == [], f"{where}: mismatches")
    if compute == "none":
        expect(kernels == {} and found["memory_after"]["scratch_bytes"] == 0, f"{where}: work without being asked for")
        return
    expect(kernels["verify"]["launches"] == kernels["verify"]["verified"] == allocs,
           f"{where}: {kernels['verify']} of {allocs}")
    others = sum(k["launches"] for n, k in kernels.items() if n not in ("fill", "verify"))
    expect((others == 0) == (compute == "touch"), f"{where}: {others} other kernels")
    expect(kernels["fill"]["launches"] == allocs + others, f"{where}: fills: {kernels['fill']}")
    if sizes_known:
        rounded = sum((e["size"] + 511) // 512 * 512 for e in t.events if e["action"] == "alloc")
        expect(kernels["verify"]["bytes"] == rounded, f"{where}: {kernels['verify']['bytes']} bytes, not {rounded}")
    for key in ("launches", "bytes", "verified", "mismatches"):
        sums = [sum(row[key] for row in found[table]) for table in ("categories", "kernels")]
        expect(sums[0] == sums[1], f"{where}: {key}: {sums}")
    for row in found["kernels"]:
        expect(row["gpu_time_us"] >= 1000 * row["launches"], f"{where}: a fake launch takes a millisecond: {row}")
        speed = row["bytes"] * 1e6 / row["gpu_time_us"]
        expect(abs(row["bytes_per_second"] - speed) <= 1 + 1e-9 * speed, f"{where}: bandwidth: {row}")
    expect(found["memory_after"]["scratch_bytes"] > 0, f"{where}: scratch memory is not accounted for")
    for when in ("memory_before", "memory_at_peak", "memory_after"):
        m = found[when]
        expect(m["used_bytes"] == m["replay_bytes"] + m["scratch_bytes"] + m["others_bytes"] and
               500 * MIB <= m["others_bytes"] <= 502 * MIB, f"{where}: {when}: {m}")


def check_kernels_of_classes(folder):
    t = small_trace()
    found = Run(GPU, t.write(folder, "classes.pickle"), "--backend", "cuda", "--compute", "full").device()["gpu"]
    names = {k["name"] for k in found["kernels"]}
    expect({"attention", "embedding", "layernorm", "mlp", "softmax"} <= names, f"kernels of the categories: {names}")


def check_spoilt(folder):
    """Every verify of the trace in turn finds what was changed under it, and says where."""
    t = small_trace()
    path = t.write(folder, "spoilt.pickle")
    allocs = [e for e in t.events if e["action"] == "alloc"]
    for nth in range(1, len(allocs) + 1):
        at_end = nth > len(t.frees)
        event, address = (None, None) if at_end else t.frees[nth - 1]
        offset = 512 if at_end else t.sizes[address] // 3
        # Of the verifies the first is not the trace's: every kernel is launched once before it.
        run = Run(GPU, path, "--backend", "cuda", "--compute", "touch", spoil=f"{nth + 1}:{offset}")
        where = f"verify {nth} spoilt"
        expect(run.code == 1 and run.json["verdict"] == "FAIL" and run.held() == {}, f"{where}: exit {run.code}")
        found = run.device()["gpu"]
        first = found["first_mismatches"][0]
        expect(found["mismatches"] == len(found["first_mismatches"]) == 1, f"{where}: {found['mismatches']}")
        expect(first["event"] == event and first["is_at_end"] == at_end, f"{where}: {first}, not event {event}")
        expect(first["first_offset"] == offset // 4 * 4 and first["wrong_words"] == 1, f"{where}: {first}")
        if not at_end:
            expect(first["bytes"] == (t.sizes[address] + 511) // 512 * 512, f"{where}: {first['bytes']} bytes")
            site = next(e["frames"][0]["name"] for e in allocs if e["addr"] == address)
            expect(site in first["site"], f"{where}: {first['site']}, not {site}")
        expect("MEMORY WAS CHANGED: 1 block is" in run.text and (at_end or f"  event {event} " in run.text), run.text)


def check_failures(folder):
    """Every call of a replay fails once: one line that names it, the documented code, and nothing left but what the
    failing call itself should have given back."""
    t = Trace()
    first = t.alloc(3000)
    second, third = t.alloc(2 * MIB, 5, "embedding"), t.alloc(3000, 0, "layer_norm")
    t.request(second)
    t.free(first)
    t.complete(second)
    t.alloc(5000, 5, "linear")
    path = t.write(folder, "failures.pickle")
    releases = {"cudaFree", "cudaFreeAsync", "cudaEventDestroy", "cudaStreamDestroy", "cudaMemPoolDestroy",
                "cuMemUnmap", "cuMemAddressFree", "cuMemRelease", "cudaDeviceSynchronize"}
    for way, options in enumerate((("cuda", "--compute", "full", "--alloc-conf", ""),
                                   ("cuda", "--compute", "touch", "--alloc-conf", "expandable_segments:True"),
                                   ("cuda-async", "--compute", "full"))):
        calls, seen = Run(GPU, path, "--backend", *options).left["calls"], set()
        for n in range(1 + 2 * way % EVERY, calls + 1, EVERY):
            run = Run(GPU, path, "--backend", *options, fail=f"*:{n}:{BROKEN}")
            name = run.left["failed"]
            seen.add(name)
            where = f"{' '.join(options)}: call {n}, {name}"
            expect(run.code == (4 if name == "cudaGetDeviceCount" else 5), f"{where}: exit {run.code}, {run.errors}")
            expect(name in run.errors and "\n" not in run.errors, f"{where}: {run.errors}")
            expect("unspecified launch failure" in run.errors or name.startswith("cuGetError"), f"{where}: {run.errors}")
            expect(run.text == "" and run.json is None, f"{where}: results all the same")
            expect(run.held() == {} or name in releases, f"{where}: left {run.held()}")
        must = {"cuda-async": {"cudaMallocFromPoolAsync", "cudaFreeAsync", "cudaMemPoolGetAttribute", "cudaMemGetInfo"},
                "cuda": {"cudaMalloc", "cudaFree", "fill", "verify", "cudaEventRecord", "cudaStreamWaitEvent"}}
        needed = must[options[0]] - ({"cudaMalloc"} if "expandable" in options[-1] else set())
        expect(needed <= seen or EVERY > 1, f"{options}: never failed: {needed - seen}")
    told = Run(GPU, path, "--backend", "cuda", "--compute", "touch", fail=f"verify:2:{BROKEN}").errors
    expect(re.search(r"device 0, event 3: launch of .*verify.*unspecified launch failure \(cudaErrorLaunchFailure\)",
                     told), f"the trace event of a failure: {told}")
    del third


def check_missing(folder):
    path = small_trace().write(folder, "missing.pickle")
    for environment, words in (({"driver": 0}, "no CUDA device: "), ({"devices": 0}, "no CUDA device")):
        for backend in ("cuda", "cuda-async"):
            run = Run(GPU, path, "--backend", backend, **environment)
            expect(run.code == 4 and words in run.errors and "\n" not in run.errors and run.text == "",
                   f"{environment}: exit {run.code}: {run.errors}")
    run = Run(GPU, path, "--backend", "cuda", "--alloc-conf", "expandable_segments:True", lacks="cuMemMap")
    expect(run.code == 4 and "cuMemMap" in run.errors and run.held() == {}, f"no cuMemMap: {run.code} {run.errors}")
    # A kernel whose library is not installed: said before the first event; `touch`, which does not need it, runs.
    for backend in ("cuda", "cuda-async"):
        run = Run(GPU, path, "--backend", backend, "--compute", "full", fail=f"mlp:1:{MISSING}")
        expect(run.code == 4 and run.held() == {} and run.json is None and run.errors.endswith(
            "device 0, before the first event: the kernel mlp: its library is not installed"), f"{run.code}: {run.errors}")
        run = Run(GPU, path, "--backend", backend, "--compute", "touch", fail=f"mlp:1:{MISSING}")
        expect(run.code == 0 and run.left["failed"] == "", f"touch without mlp: {run.code}: {run.errors}")
    for options in (("--compute", "touch"), ("--pace",), ("--backend", "cuda", "--sweep"),
                    ("--backend", "cuda", "--fit"), ("--backend", "cuda-async", "-o", os.path.join(folder, "x")),
                    ("--backend", "cuda-async", "--alloc-conf", ""), ("--backend", "cuda", "--verify"),
                    ("--compute", "much")):
        run = Run(GPU, path, *options)
        expect(run.code == 2 and run.errors.count("\n") == 0 and run.left["calls"] == 0, f"{options}: {run.code}")


def check_out_of_memory(folder):
    t = large_trace()
    path, ours, theirs = t.write(folder, "oom.pickle"), os.path.join(folder, "a"), os.path.join(folder, "b")
    # The same cap on both; then a GPU that is really that small, which the simulated one has with the context taken off.
    for memory, options, environment in ((90 * MIB, ("--memory", 90 * MIB), {}),
                                         (90 * MIB, (), {"memory": 590 * MIB, "context": 500 * MIB})):
        sim = Run(GPU, path, "--memory", memory, "-o", ours, "--csv", os.path.join(folder, "csv"))
        gpu = Run(GPU, path, "--backend", "cuda", "-o", theirs, *options, **environment)
        where = f"out of memory, {options}"
        expect(sim.code == gpu.code == 1 and gpu.json["verdict"] == "OOM", f"{where}: exit {gpu.code} {gpu.errors}")
        expect(gpu.held() == {}, f"{where}: left {gpu.held()}")
        for key in ("event", "requested_bytes", "rounded_bytes", "device_free_bytes", "reserved_bytes", "site"):
            expect(sim.device()["oom"][key] == gpu.device()["oom"][key], f"{where}: {key}: {gpu.device()['oom'][key]}")
        expect(sim.device()["num_alloc_retries"] == gpu.device()["num_alloc_retries"] > 0, f"{where}: no retry")
        expect(load(theirs)["device_traces"][0][-1]["action"] == "oom", f"{where}: no oom event in the snapshot")
        expect(compare(load(ours), load(theirs)) == [], f"{where}: {compare(load(ours), load(theirs))}")
        advice = gpu.json["recommendations"]
        expect(advice["memory_bytes"] == memory and not advice["replayed"][0]["runs"], f"{where}: {advice}")
        for row in advice["replayed"]:
            again = Run(GPU, path, "--memory", memory, "--alloc-conf", row["alloc_conf"])
            expect(again.code == (0 if row["runs"] else 1), f"{where}: {row}")
        expect("RECOMMENDATIONS (" in gpu.text and "Hold less" in gpu.text, f"{where}: {gpu.text}")
    gpu = Run(GPU, path, "--backend", "cuda", "--memory", 90 * MIB, "--compute", "full")
    expect(gpu.code == 1 and gpu.device()["gpu"]["mismatches"] == 0 and gpu.held() == {}, f"full: {gpu.code}")
    # A block that was live before the trace.
    events = [e for e in t.events if e["action"] == "free_requested" or e["action"] == "free_completed"]
    start = os.path.join(folder, "start.pickle")
    with open(start, "wb") as file:
        pickle.dump({"segments": [], "device_traces": [events]}, file)
    gpu = Run(GPU, start, "--backend", "cuda", "--memory", 10 * MIB, "--compute", "touch")
    expect(gpu.code == 1 and gpu.device()["oom"]["event"] is None and gpu.held() == {}, f"at the start: {gpu.code}")


def check_async(folder):
    """The fake's pool: pieces rounded to 512 bytes, chunks of 32 MiB that it keeps."""
    t = large_trace()
    path = t.write(folder, "async.pickle")
    used = peak = 0
    for e in t.events:
        if e["action"] in ("alloc", "free_requested"):
            used += (1 if e["action"] == "alloc" else -1) * ((e["size"] + 511) // 512 * 512)
            peak = max(peak, used)
    for compute, late in (("none", 0), ("touch", 1)):
        run = Run(GPU, path, "--backend", "cuda-async", "--compute", compute, "--csv", os.path.join(folder, "csv"), late=late)
        where = f"async, {compute}, late {late}"
        expect(run.code == 0 and run.held() == {}, f"{where}: {run.code} {run.errors} {run.held()}")
        pool, device = run.device()["gpu"]["pool"], run.device()
        expect(pool["used_high_bytes"] == device["peak_allocated_bytes"] == peak, f"{where}: {pool}, used {peak}")
        expect(pool["reserved_high_bytes"] == device["peak_reserved_bytes"] >= peak and
               pool["reserved_high_bytes"] % (32 * MIB) == 0, f"{where}: {pool}")
        sim = Run(GPU, path, "--memory", 60 * GIB).device()
        expect(pool["caching_allocator_reserved_bytes"] == sim["peak_reserved_bytes"], f"{where}: {pool}")
        expect(run.device()["gpu"]["mismatches"] == 0 and device["memory_stats"] is None, where)
        rows = [line.split(",") for line in open(os.path.join(folder, "csv"), encoding="utf-8").read().split()]
        expect(rows[0][-2:] == ["device_used_GB", "not_ours_GB"], f"{where}: {rows[0]}")
        expect(max(float(r[4]) for r in rows[1:]) == round(pool["reserved_high_bytes"] / GIB, 3), f"{where}: {rows}")
        if compute == "none":
            expect(all(r[-1] == "0.488" for r in rows[1:]), f"{where}: 500 MiB of context: {rows}")
    for late in (0, 1):
        run = Run(GPU, path, "--backend", "cuda-async", "--memory", 96 * MIB, "--compute", "touch", late=late)
        expect(run.code == 1 and run.json["verdict"] == "OOM" and run.held() == {}, f"async, no memory: {run.code}")
        held = sum(row["bytes"] for row in run.device()["roles_at_peak"])
        expect(held == run.device()["peak_requested_bytes"] <= 96 * MIB, f"async, no memory: {held} requested")
        expect("memory pool has 96.00 MiB" in run.device()["oom"]["why"] and run.json["recommendations"]["replayed"],
               f"async, no memory: {run.device()['oom']}")
    t = small_trace()
    run = Run(GPU, t.write(folder, "deferred.pickle"), "--backend", "cuda-async", "--compute", "full", late=1)
    expect(run.code == 0 and run.device()["gpu"]["mismatches"] == 0, f"async, deferred: {run.code}")


def check_pace(folder):
    t = Trace()
    for _ in range(150):
        t.free(t.alloc(1000))
    path, recorded = t.write(folder, "pace.pickle"), (len(t.events) - 1) * 2000
    begun = time.monotonic()
    run = Run(GPU, path, "--backend", "cuda", "--pace", "--compute", "touch")
    took = time.monotonic() - begun
    expect(run.code == 0 and took * 1e6 >= recorded and run.device()["gpu"]["duration_us"] >= recorded,
           f"paced: {took} s for {recorded} us")
    for e in t.events:
        del e["time_us"]
    run = Run(GPU, t.write(folder, "timeless.pickle"), "--backend", "cuda", "--pace")
    expect(run.code == 3 and "no times" in run.errors and run.held() == {}, f"without times: {run.code} {run.errors}")


def check_steps(folder):
    """Repeated steps have several blocks of one allocation: each is itself."""
    t = Trace()
    for step in range(4):
        kept = t.alloc(4000, 0, "forward")
        for name in ("forward", "backward", "step"):
            t.free(t.alloc(9000, 0, name))
        if step % 2:
            t.free(kept)
    path = t.write(folder, "steps.pickle")
    for backend in ("cuda", "cuda-async"):
        for late in (0, 1):
            run = Run(GPU, path, "--backend", backend, "--compute", "full", "--members", 2, "--steps", 5, late=late)
            if run.code == 3:  # no step was found in it
                expect("step" in run.errors and run.held() == {}, run.errors)
                continue
            expect(run.code == 0 and run.device()["gpu"]["mismatches"] == 0 and run.held() == {}, f"steps: {run.errors}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_same(folder, "small.pickle", small_trace(), 400 * MIB,
                   (("none", 0), ("touch", 0), ("touch", 1), ("full", 0), ("full", 1)))
        check_same(folder, "large.pickle", large_trace(), 600 * MIB, (("none", 0), ("touch", 1)))
        check_kernels_of_classes(folder)
        check_spoilt(folder)
        check_failures(folder)
        check_missing(folder)
        check_out_of_memory(folder)
        check_async(folder)
        check_pace(folder)
        check_steps(folder)
        done = subprocess.run([GPU, "--help"], capture_output=True, check=True)
        expect(b"--compute" in done.stdout and b"--pace" in done.stdout, "the help")
    print(f"{len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


main()
