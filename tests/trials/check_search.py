# SPDX-License-Identifier: Apache-2.0
"""--sweep and --fit on every real snapshot. Rows of the sweep are what gmreplay --alloc-conf says of them; the fitted
memory runs and two MiB less do not; bounds are those of an independent computation; the number of threads changes
nothing. usage: check_search.py GMREPLAY GMANALYZE"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import SKIPPED, analysis, snapshots  # noqa: E402

MIB = 1 << 20
ROOM = 1 << 42  # of a device that is never full; said, so that every run starts from an empty allocator
SMALL = 300_000  # bytes of a file of which every row is checked


def run(path, *options):
    done = subprocess.run([sys.argv[1], *options, str(path)], capture_output=True, check=False)
    if done.returncode > 1:
        raise AssertionError(f"{path.name} {options}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.returncode, done.stdout


def numbers(path, *options):
    code, text = run(path, "--json", "-", *options)
    return code, json.loads(text)


def outcome(found):
    """What a row of the sweep says, of one run."""
    devices = found["devices"]
    failed = [(d["device"], d["oom"]["event"]) for d in devices if d["oom"] is not None]
    if not failed and found["verdict"] == "FAIL":
        failed = ["floor"]
    return {"runs": not failed, "peak_reserved_bytes": max(d["peak_reserved_bytes"] for d in devices),
            "num_device_alloc": sum(d["memory_stats"]["num_device_alloc"] for d in devices),
            "num_alloc_retries": sum(d["num_alloc_retries"] for d in devices), "oom": failed[0] if failed else None}


def failure(oom):
    """Of a row or a fit. Less than the floor: no request failed."""
    if oom is None:
        return None
    return "floor" if oom["requested_bytes"] is None else (oom["device"], oom["event"])


def of_row(row):
    return {"runs": row["runs"], "peak_reserved_bytes": row["peak_reserved_bytes"],
            "num_device_alloc": row["num_device_alloc"], "num_alloc_retries": row["num_alloc_retries"],
            "oom": failure(row["oom"])}


def is_open(found):
    """The recording ended out of memory: what gets there has no verdict."""
    return any(d["recorded_end"] for d in found["devices"])


def hangs(found):
    """Some placements of segments run out of memory, others do not: no verdict."""
    return any((d["oom"] is None) + d["other_placements_run"] not in (0, 1 + d["other_placements"])
               for d in found["devices"])


def conf(row, baseline):
    return [] if baseline else ["--alloc-conf", row["alloc_conf"]]


def check_rows(path, memory, step):
    """Every `step`th row against a run of its own, and the order of the rows."""
    wrong = []
    code, found = numbers(path, "--sweep", "--memory", str(memory))
    sweep = found["sweep"]
    if not 60 <= len(sweep["rows"]) <= 128 or sum(r["is_baseline"] for r in sweep["rows"]) != 1:
        wrong.append(f"{len(sweep['rows'])} rows")
    for i, row in enumerate(sweep["rows"]):
        if i % step and not row["is_baseline"]:
            continue
        alone_code, alone = numbers(path, "--memory", str(memory), *conf(row, row["is_baseline"]))
        is_sure = row["runs"] and not is_open(alone) and not hangs(alone)
        if outcome(alone) != of_row(row) or alone_code != (0 if is_sure else 1):
            wrong.append(f"{row['alloc_conf']}: {of_row(row)}, alone {outcome(alone)}, exit {alone_code}")
        if row["is_baseline"] and alone_code != code:
            wrong.append(f"exit {code}, without --sweep {alone_code}")
    ran = [r for r in sweep["rows"] if r["runs"]]
    keys = [(r["peak_reserved_bytes"], r["num_device_alloc"], r["num_alloc_retries"], not r["is_baseline"],
             len(r["alloc_conf"]), r["alloc_conf"]) for r in ran]
    if sweep["rows"][:len(ran)] != ran or keys != sorted(keys):
        wrong.append("the rows are not in order")
    base = sweep["baseline"]
    worth = [r for r in ran if not r["is_baseline"] and
             (not base["runs"] or (base["peak_reserved_bytes"] - r["peak_reserved_bytes"]) * 100
              >= max(base["peak_reserved_bytes"], 1))]
    best = "PYTORCH_ALLOC_CONF=" + worth[0]["alloc_conf"] if worth else None
    if (sweep["winner"] or {"line": None})["line"] != best:
        wrong.append(f"the winner is {sweep['winner']}, should be {best}")
    return wrong, base["peak_reserved_bytes"]


def check_fit(path):
    wrong, seen = [], set()
    _, found = numbers(path, "--fit")
    floor = max((d["reserved_bytes"] for d in found["untraced_devices"]), default=0)
    verdict = (1, None) if is_open(found) else (0, "PASS")
    for fit in found["fit"]["settings"]:
        seen.add(fit["of"])
        where = f"fit of {fit['of']} {fit['alloc_conf']}"
        options = conf(fit, fit["of"] == "baseline")
        found_bytes = fit["at_least_bytes"]
        if fit["capacity_bytes"] != (None if is_open(found) else found_bytes):
            wrong.append(f"{where}: {fit['capacity_bytes']} bytes are said to be enough")
        if found_bytes is None:
            wrong.append(f"{where}: none found")
            continue
        code, alone = numbers(path, "--memory", str(found_bytes), *options)
        everywhere = fit["capacity_everywhere_bytes"]
        if (code, alone["verdict"]) != ((1, None) if everywhere != found_bytes else verdict) or outcome(alone)["oom"]:
            wrong.append(f"{where}: {found_bytes} bytes do not run")
        if everywhere is not None and numbers(path, "--memory", str(everywhere), *options)[0] != 0:
            wrong.append(f"{where}: {everywhere} bytes do not run everywhere")
        less = fit["next_lower"]
        if less["capacity_bytes"] != found_bytes - 2 * MIB:
            wrong.append(f"{where}: next lower is {less['capacity_bytes']}")
        code, alone = numbers(path, "--memory", str(less["capacity_bytes"]), *options)
        if code != 1 or outcome(alone)["oom"] != failure(less["oom"]):
            wrong.append(f"{where}: with 2 MiB less {outcome(alone)}, it says {less['oom']}")
        if not fit["lower_bound_bytes"] <= found_bytes:
            wrong.append(f"{where}: {found_bytes} is less than the bound")
        if found_bytes - 2 * MIB >= max(fit["peak_reserved_unlimited_bytes"], floor) and not is_open(found):
            wrong.append(f"{where}: {found_bytes} is more than the unlimited peak")
        if fit["gpu"] is not None and run(path, "--gpu", fit["gpu"], *options)[0] != 0:
            wrong.append(f"{where}: does not run on {fit['gpu']}")
    if "baseline" not in seen:
        wrong.append("no fit of the baseline")
    return wrong


def lifetimes(snapshot, device):
    """[born, let go, freed, requested bytes, stream] of each allocation, in moments; None: never."""
    made, open_ones = [], {}
    trace = snapshot["device_traces"][device]
    has_requested, lacks_requested = any(e["action"] == "free_requested" for e in trace), False
    for i, e in enumerate(trace):
        address = e.get("addr")
        if e["action"] == "alloc":
            open_ones[address] = [i + 1, None, None, e["size"], e.get("stream", 0)]
            made.append(open_ones[address])
        elif e["action"] in ("free_requested", "free_completed"):
            if address not in open_ones:
                open_ones[address] = [0, None, None, e["size"], e.get("stream", 0)]
                made.append(open_ones[address])
                if e["action"] == "free_completed":
                    open_ones[address][1] = 0  # it was pending when the trace began
            if open_ones[address][1] is None:
                lacks_requested |= e["action"] == "free_completed" and open_ones[address][0] > 0
                open_ones[address][1] = i + 1
            if e["action"] == "free_completed":
                open_ones.pop(address)[2] = i + 1
    for segment in snapshot["segments"]:
        address = segment["address"]
        for block in segment["blocks"]:
            at = block.get("address", address)
            address += block["size"]
            if segment["device"] != device or block["state"] == "inactive" or at in open_ones:
                continue
            history = block.get("history") or [{}]
            size = block.get("requested_size", history[0].get("real_size", block["size"]))
            made.append([0, None if block["state"] == "active_allocated" else 0, None, size, segment["stream"]])
    if lacks_requested and not has_requested:  # the recorder leaves them out: then nothing is known to be pending
        for m in made:
            m[1] = m[2] if m[0] == 0 and m[1] == 0 and m[2] is not None else m[1]
    return made


def peak(blocks, end):
    change = {}
    for b in blocks:
        size = max(512, (b[3] + 511) // 512 * 512) if b[3] else 0
        last = b[end] if end == 2 or b[2] is None or (b[1] is not None and b[1] < b[2]) else b[2]
        if last is not None and last <= b[0]:
            continue
        change[b[0]] = change.get(b[0], 0) + size
        if last is not None:
            change[last] = change.get(last, 0) - size
    most = now = 0
    for moment in sorted(change):
        now += change[moment]
        most = max(most, now)
    return most


def has_one_pool(snapshot):
    return all(tuple(s.get("segment_pool_id", (0, 0))) == (0, 0) for s in snapshot["segments"]) and not any(
        "pool_id" in e for t in snapshot["device_traces"] for e in t)


def is_whole(snapshot, device):
    """Nothing but events of blocks that come and go, and what is open at the end is in the snapshot."""
    live = set()
    for e in snapshot["device_traces"][device]:
        if e["action"] == "free" or (e["action"] == "alloc" and e["addr"] in live):
            return False
        if e["action"] == "alloc":
            live.add(e["addr"])
        elif e["action"] == "free_completed":
            live.discard(e["addr"])
    held = set()
    for segment in snapshot["segments"]:
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                held.add(block.get("address", address))
            address += block["size"]
    return live <= held


def check_bounds(path, snapshot, found, totals):
    wrong = []
    known = {d["device"]: d for d in analysis(sys.argv[2], path)["timeline"]["devices"]}
    for b in found["bounds"]:
        device = b["device"]
        if not is_whole(snapshot, device):
            continue
        made = lifetimes(snapshot, device)
        should = {"live_bytes": peak(made, 1), "active_bytes": peak(made, 2),
                  "recorded_peak_reserved_bytes": known[device]["peak_reserved_bytes"]}
        if has_one_pool(snapshot):
            groups = {}
            for m in made:
                groups.setdefault((m[4], m[3] <= MIB), []).append(m)
            should["separate_active_bytes"] = sum(peak(g, 2) for g in groups.values())
            totals["groups"] += len(groups)
        wrong += [f"device {device}: {k} is {b[k]}, should be {v}" for k, v in should.items() if b[k] != v]
        chain = [b["live_bytes"], b["active_bytes"], b["plan_bytes"]]
        apart = [b["active_bytes"], b["separate_active_bytes"], b["separate_plan_bytes"]]
        for numbers_ in (chain, apart):
            there = [n for n in numbers_ if n is not None]
            if there != sorted(there):
                wrong.append(f"device {device}: bounds in disorder {b}")
        totals["bounds"] += 1
        totals["planned"] += b["plan_bytes"] is not None
    return wrong


def main():
    if len(sys.argv) < 3 or not all(os.access(path, os.X_OK) for path in sys.argv[1:3]):
        print("skipped: no gmreplay and gmanalyze to test")
        sys.exit(SKIPPED)
    totals = dict.fromkeys(("snapshots", "bounds", "planned", "groups"), 0)
    bad = 0
    for path, snapshot in snapshots():
        if not any(snapshot.get("device_traces", [])):
            continue
        totals["snapshots"] += 1
        step = 1 if path.stat().st_size < SMALL else 19
        wrong, top = check_rows(path, ROOM, step)
        # some rows fail with less memory
        wrong += check_rows(path, max(top - top // 50, 2 * MIB), step)[0]
        wrong += check_fit(path)
        _, found = numbers(path, "--sweep", "-j", "1")
        wrong += check_bounds(path, snapshot, found, totals)
        if run(path, "--sweep", "-j", "1") != run(path, "--sweep", "-j", "3"):
            wrong.append("another number of threads, another result")
        bad += len(wrong)
        for complaint in wrong:
            print(f"{path.name}: {complaint}", flush=True)
    print(", ".join(f"{v} {k}" for k, v in totals.items()) + f", {bad} complaints")
    sys.exit(1 if bad or not totals["snapshots"] else 0)


main()
