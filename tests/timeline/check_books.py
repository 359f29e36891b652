# SPDX-License-Identifier: Apache-2.0
"""The books of every real trace: the forward pass must end in the snapshot's blocks, or a contradiction must be stated;
and the peaks of block bytes must be those of a second reconstruction, written here over sorted lists of addresses.

usage: check_books.py GMANALYZE"""
import bisect
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import program, requested_of, snapshots, timelines, with_curves  # noqa: E402

MIB = 1 << 20
EXPECTED = {"free-without-alloc", "size-learnt"}


def round_size(n, settings):
    divisions = settings.get("roundup_power2_divisions") or {}
    if n < 512:
        return 512
    power = n.bit_length() - 1
    d = divisions.get(str(1 << min(max(power - 20, 0), 15)), 0)
    unit = (1 << power) // d if d > 1 and n > 512 * d else 512
    return -(-n // unit) * unit


class Ranges:
    """Mapped memory: sorted, disjoint [start, end, stream, small, expandable]."""

    def __init__(self, segments):
        self.v = sorted([s["address"], s["address"] + s["total_size"], s["stream"],
                         s.get("segment_type") == "small", bool(s.get("is_expandable"))] for s in segments)

    def of(self, address):
        i = bisect.bisect_right(self.v, [address, float("inf")]) - 1
        return i if i >= 0 and address < self.v[i][1] else None

    def add(self, address, size, stream, small, expandable):
        self.v.append([address, address + size, stream, small, expandable])
        self.v.sort()
        i = 0
        while i + 1 < len(self.v):
            a, b = self.v[i], self.v[i + 1]
            if a[1] == b[0] and a[2:] == b[2:] and a[4]:
                self.v[i:i + 2] = [[a[0], b[1]] + a[2:]]
            else:
                i += 1

    def remove(self, address, size):
        a = self.v.pop(self.of(address))
        self.v += [p for p in ([a[0], address] + a[2:], [address + size, a[1]] + a[2:]) if p[0] < p[1]]
        self.v.sort()


def is_small(event):
    return event["size"] % (20 * MIB) != 0 if "map" in event["action"] else event["size"] == 2 * MIB


def peaks(trace, segments, settings):
    """(peak of active, peak of allocated, active at the start) in block bytes. Settings that change on the way, or a
    max_split_size, are not modelled here: None."""
    limit = settings.get("max_split_size", -1)
    if limit not in (-1, None) and limit > 0:
        return None
    ranges = Ranges(segments)
    for e in reversed(trace):
        if e["action"] in ("segment_alloc", "segment_map"):
            ranges.remove(e["addr"], e["size"])
        elif e["action"] in ("segment_free", "segment_unmap"):
            ranges.add(e["addr"], e["size"], e["stream"], is_small(e), e["action"] == "segment_unmap")
    size_at_end, opened, before, pending = {}, set(), {}, set()
    requested_only = set()
    for e in trace:
        if e["action"] == "alloc":
            opened.add(e["addr"])
        elif e["action"] == "free_requested" and e["addr"] not in opened:
            requested_only.add(e["addr"])
        elif e["action"] == "free_completed":
            if e["addr"] not in opened and e["addr"] not in before:
                before[e["addr"]] = (e["size"], None)
                if e["addr"] not in requested_only:
                    pending.add(e["addr"])
            opened.discard(e["addr"])
    for s in segments:
        address = s["address"]
        for b in s["blocks"]:
            if b["state"] != "inactive":
                size_at_end[b.get("address", address)] = b["size"]
                if b.get("address", address) not in opened:
                    before[b.get("address", address)] = (requested_of(b), b["size"])
            address += b["size"]
    live, sizes = sorted(before), {}
    grown = [e["action"] for e in trace if e["action"] in ("segment_alloc", "segment_map")]
    expandable = grown[0] == "segment_map" if grown else bool(settings.get("expandable_segments"))

    def block_size(address, rounded):
        r = ranges.v[ranges.of(address)]
        i = bisect.bisect_right(live, address)
        gap = min(live[i] if i < len(live) else float("inf"), r[1]) - address
        least = 512 if r[3] or r[4] or expandable else MIB + 1
        return rounded if gap - rounded >= least else gap

    for address in live:
        requested, known = before[address]
        sizes[address] = known if known is not None else block_size(address, round_size(requested, settings))
    active = allocated = sum(sizes.values())
    allocated -= sum(sizes[a] for a in pending)
    start = top_active = active
    top_allocated = allocated
    let_go = set(pending)
    for e in trace:
        action, address = e["action"], e.get("addr")
        if action == "alloc":
            sizes[address] = block_size(address, round_size(e["size"], settings))
            bisect.insort(live, address)
            active += sizes[address]
            allocated += sizes[address]
        elif action == "free_requested":
            allocated -= sizes[address]
            let_go.add(address)
        elif action == "free_completed":
            allocated -= 0 if address in let_go else sizes[address]
            let_go.discard(address)
            active -= sizes.pop(address)
            live.pop(bisect.bisect_left(live, address))
        elif action in ("segment_alloc", "segment_map"):
            ranges.add(address, e["size"], e["stream"], is_small(e), action == "segment_map")
            expandable = action == "segment_map"
        elif action in ("segment_free", "segment_unmap"):
            ranges.remove(address, e["size"])
        top_active, top_allocated = max(top_active, active), max(top_allocated, allocated)
    return top_active, top_allocated, start


def check(snapshot, device, books, disagreements, events):
    """What is wrong with one device's books, or None; and how many traces had their peaks compared."""
    segments = [s for s in snapshot["segments"] if s["device"] == device]
    contradictions = disagreements - EXPECTED
    is_exact = (books["reconstructed"] and books["residual_active_bytes"] == books["residual_reserved_bytes"] == 0 and
                books["worst_residual_bytes"] == 0 and books["end_blocks_same"] == books["end_blocks"] and
                books["sizes_from_snapshot"] == 0)
    if not is_exact and not contradictions and books["reconstructed"]:
        return "does not end in the snapshot, and says no reason", 0
    blocks = [b for s in segments for b in s["blocks"] if b["state"] != "inactive"]
    truth = [sum(map(requested_of, blocks)),
             sum(b["size"] for b in blocks if b["state"] == "active_allocated"),
             sum(b["size"] for b in blocks), sum(s["total_size"] for s in segments)]
    if list(books["snapshot"].values()) != truth:
        return f"snapshot's levels {books['snapshot']}, should be {truth}", 0
    if not is_exact or contradictions:
        return None, 0
    wanted = peaks(snapshot["device_traces"][device], segments, snapshot.get("allocator_settings") or {})
    if wanted is None or "size-learnt" in disagreements:
        return None, 0
    start = books["at_start"]
    found = (max(start["active_bytes"], *(e[3] for e in events)),
             max(start["allocated_bytes"], *(e[2] for e in events)), start["active_bytes"])
    return (None if found == wanted else f"peaks {found}, should be {wanted}"), 1


def main():
    binary = program()
    exact = traces = wrong = compared = 0
    for path, snapshot in snapshots():
        analysis, every = with_curves(binary, path, "--csv-full")
        for device, found in timelines(analysis).items():
            books = found["books"]
            disagreements = {d["id"] for d in books["disagreements"]}
            traces += 1
            exact += books["end_blocks_same"] == books["end_blocks"] and not disagreements - EXPECTED
            problem, n = check(snapshot, device, books, disagreements, [e for e in every if e[0] == device])
            compared += n
            if problem:
                wrong += 1
                print(f"{path.name}, device {device}: {problem}")
            elif disagreements - EXPECTED:
                print(f"{path.name}, device {device}: stated: {books['disagreements']}")
    print(f"{traces} traces, {exact} end in the snapshot without a contradiction, {compared} peaks compared, "
          f"{wrong} wrong")
    sys.exit(1 if wrong or not traces else 0)


main()
