# SPDX-License-Identifier: Apache-2.0
"""gmanalyze's numbers for every real snapshot against a recomputation from the contract's definitions."""
import re
import sys

from snapshots import analysis, program, requested_of, snapshots

MIB = 1 << 20
ACTIVE = ("active_allocated", "active_pending_free", "active_awaiting_free")


def totals(segments):
    blocks = [b for s in segments for b in s["blocks"]]
    allocated = sum(b["size"] for b in blocks if b["state"] == "active_allocated")
    active = sum(b["size"] for b in blocks if b["state"] in ACTIVE)
    requested = sum(requested_of(b) for b in blocks if b["state"] in ACTIVE)
    reserved = sum(s["total_size"] for s in segments)
    return {
        "reserved_bytes": reserved,
        "allocated_bytes": allocated,
        "active_bytes": active,
        "requested_bytes": requested,
        "inactive_bytes": sum(b["size"] for b in blocks if b["state"] not in ACTIVE),
        "rounding_bytes": max(0, active - requested),
        "efficiency_percent": round(100 * allocated / reserved, 4) if reserved else None,
    }


def reservation_start(segment, trace):
    """The lowest address of the chain of mapped and unmapped ranges of the segment's stream that reaches it."""
    ranges = [(e["addr"], e["addr"] + e["size"]) for e in trace
              if e["action"] in ("segment_map", "segment_unmap") and e["stream"] == segment["stream"]]
    start = segment["address"]
    moved = True
    while moved:
        moved = False
        for low, high in ranges:
            if low < start <= high:
                start, moved = low, True
    return start


def free_pages(segment, page, base, is_free):
    """Bytes of whole pages in which every byte belongs to blocks that is_free accepts: page by page."""
    end = segment["address"] + sum(b["size"] for b in segment["blocks"])
    taken, at = set(), segment["address"]
    for block in segment["blocks"]:
        if not is_free(block) and block["size"] > 0:
            taken.update(range((at - base) // page, (at + block["size"] - 1 - base) // page + 1))
        at += block["size"]
    first, last = -((base - segment["address"]) // page), (end - base) // page
    return page * sum(1 for p in range(first, last) if p not in taken)


def fragmentation(snapshot, segments):
    conf = (snapshot.get("allocator_settings") or {}).get("PYTORCH_CUDA_ALLOC_CONF", "")
    stated = re.search(r"large_segment_size_mb\s*:\s*(\d+)", conf)
    large = int(stated.group(1)) * MIB if stated else 20 * MIB
    out = {"inactive_blocks": 0, "largest_inactive_bytes": 0, "releasable_bytes": 0, "empty_cache_bytes": 0,
           "stranded_bytes": 0}
    over = {"blocks": 0, "bytes": 0}
    for s in segments:
        inactive = [b["size"] for b in s["blocks"] if b["state"] not in ACTIVE]
        out["inactive_blocks"] += len(inactive)
        out["largest_inactive_bytes"] = max([out["largest_inactive_bytes"]] + inactive)
        over["blocks"] += sum(1 for n in inactive if n > 100 * MIB)
        over["bytes"] += sum(n for n in inactive if n > 100 * MIB)
        if s.get("is_expandable"):
            traces = snapshot.get("device_traces") or []
            trace = traces[s["device"]] if s["device"] < len(traces) else []
            page = 2 * MIB if s.get("segment_type") == "small" else large
            base = reservation_start(s, trace)
            releasable = free_pages(s, page, base, lambda b: b["state"] not in ACTIVE)
            returned = free_pages(s, page, base, lambda b: b["state"] != "active_allocated")
        else:
            releasable = sum(inactive) if all(b["state"] not in ACTIVE for b in s["blocks"]) else 0
            is_unused = all(b["state"] != "active_allocated" for b in s["blocks"])
            returned = sum(b["size"] for b in s["blocks"]) if is_unused else 0
        out["releasable_bytes"] += releasable
        out["stranded_bytes"] += sum(inactive) - releasable
        if tuple(s.get("segment_pool_id", (0, 0))) == (0, 0):
            out["empty_cache_bytes"] += returned
    return dict(out, unused_over_100MiB=over)


def peak_reserved(trace, reserved):
    peak = reserved
    for e in reversed(trace):
        if e["action"] in ("segment_alloc", "segment_map"):
            reserved -= e["size"]
        elif e["action"] in ("segment_free", "segment_unmap"):
            reserved += e["size"]
        peak = max(peak, reserved)
    return peak


def counts(trace):
    actions = [e["action"] for e in trace]
    words = {"allocs": "alloc", "frees": "free_completed", "ooms": "oom", "segment_allocs": "segment_alloc",
             "segment_frees": "segment_free", "segment_maps": "segment_map", "segment_unmaps": "segment_unmap"}
    return dict({key: actions.count(word) for key, word in words.items()}, events=len(trace))


def check_oom(name, segments, traces, findings):
    """The finding names what was live at the first failure of the first device that has one (to 1 %)."""
    for device, trace in enumerate(traces):
        at = next((i for i, e in enumerate(trace) if e["action"] == "oom"), None)
        if at is None:
            continue
        after = {word: sum(e["size"] for e in trace[at:] if e["action"] == word)
                 for word in ("alloc", "free_completed")}
        end = totals([s for s in segments if s["device"] == device])["requested_bytes"]
        live = end - after["alloc"] + after["free_completed"]
        detail = next(f["detail"] for f in findings if f["id"] == "out-of-memory")
        shown = [re.search(r"([\d.]+) ([MG])iB " + words, detail) for words in ("was live", "was freed afterwards")]
        for m, expected in zip(shown, (live, live - end)):
            found = float(m.group(1)) * (MIB << 10 if m.group(2) == "G" else MIB) if m else None
            if found is None or abs(found - expected) > 0.01 * expected:
                print(f"{name}: out-of-memory: {found}, not {expected}")
                return 1
        return 0
    return int(any(f["id"] == "out-of-memory" for f in findings))


def compare(name, what, expected, found):
    bad = [f"{name}: {what} {key}: {found.get(key)!r}, not {value!r}" for key, value in expected.items()
           if found.get(key) != value]
    for line in bad:
        print(line)
    return len(bad)


def check(path, snapshot, found):
    segments, traces = snapshot["segments"], snapshot.get("device_traces") or []
    name = path.name
    bad = compare(name, "totals", totals(segments), found["totals"])
    bad += compare(name, "fragmentation", fragmentation(snapshot, segments), found["fragmentation"])
    devices = sorted({s["device"] for s in segments} | {d for d, t in enumerate(traces) if t})
    if [d["device"] for d in found["devices"]] != devices:
        print(f"{name}: devices {[d['device'] for d in found['devices']]}, not {devices}")
        return bad + 1
    timelines = {t["device"]: t for t in (found.get("timeline") or {}).get("devices", [])}
    for d in found["devices"]:
        mine = [s for s in segments if s["device"] == d["device"]]
        bad += compare(name, f"device {d['device']}", totals(mine), d)
        trace = traces[d["device"]] if d["device"] < len(traces) else []
        if trace and d["device"] in timelines:
            reserved = sum(s["total_size"] for s in mine)
            expected = dict(counts(trace), peak_reserved_bytes=peak_reserved(trace, reserved))
            bad += compare(name, f"trace {d['device']}", expected, timelines[d["device"]])
    bad += check_oom(name, segments, traces, found["findings"])
    live = [(b["size"], s["device"]) for s in segments for b in s["blocks"] if b["state"] == "active_allocated"]
    top = sorted(live, key=lambda x: (-x[0], x[1]))[:50]
    if [(b["bytes"], b["device"]) for b in found["top_blocks"]] != top:
        print(f"{name}: top_blocks differ")
        bad += 1
    return bad


def main():
    binary, bad, n = program(), 0, 0
    for path, snapshot in snapshots():
        bad += check(path, snapshot, analysis(binary, path))
        n += 1
    print(f"{n} snapshots, {bad} differences")
    sys.exit(1 if bad else 0)


main()
