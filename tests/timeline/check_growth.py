# SPDX-License-Identifier: Apache-2.0
"""Growths, samples, rounding, churn and out-of-memory rows of the real snapshots against a recomputation that shares
nothing with ours: live blocks are a sorted list, holes are the gaps between them."""
import bisect
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "state"))
import snapshots  # noqa: E402  pylint: disable=wrong-import-position

MIB = 1 << 20
LARGE_PAGE, SMALL_PAGE = 20 * MIB, 2 * MIB
REASONS = ["hole_too_small", "wrong_stream", "wrong_pool", "whole_segment", "fits"]
TOO_SMALL, STREAM, POOL, WHOLE, REFUSED = REASONS
Range = collections.namedtuple("Range", "address size stream pool small expandable")


def rounded(size):
    return max(512, (size + 511) // 512 * 512)


class Odd(Exception):
    """The file has something that this model does not know; it is counted, not compared."""


class Space:
    def __init__(self, segments):
        self.ranges = sorted((Range(s["address"], s["total_size"], s.get("stream", 0),
                                    tuple(s.get("segment_pool_id") or (0, 0)), s["segment_type"] == "small",
                                    bool(s.get("is_expandable"))) for s in segments), key=lambda r: r.address)
        self.finals = list(self.ranges)
        self.live = {}
        self.order = []
        self.pending = set()

    def find(self, address):
        i = bisect.bisect_right([r.address for r in self.ranges], address) - 1
        if i < 0 or address >= self.ranges[i].address + self.ranges[i].size:
            raise Odd("an address outside all segments")
        return i

    def grow(self, e, is_map):
        """The pool is that of the final segment which holds the address, if it can be."""
        small = e["size"] % LARGE_PAGE != 0 if is_map else e["size"] == SMALL_PAGE
        pool = tuple(e.get("pool_id") or (0, 0))
        for f in self.finals:
            if "pool_id" not in e and f.address <= e["addr"] < f.address + f.size \
                    and f.stream == e["stream"] and f.expandable == is_map:
                small, pool = f.small, f.pool
        new = Range(e["addr"], e["size"], e["stream"], pool, small, is_map)
        kept = []
        for r in self.ranges:
            touches = is_map and r.expandable and r[2:] == new[2:] and \
                (r.address + r.size == new.address or new.address + new.size == r.address)
            if touches:
                new = new._replace(address=min(r.address, new.address), size=r.size + new.size)
            else:
                kept.append(r)
        self.ranges = sorted(kept + [new], key=lambda r: r.address)

    def shrink(self, e):
        i = self.find(e["addr"])
        r = self.ranges.pop(i)
        below, above = e["addr"] - r.address, r.address + r.size - e["addr"] - e["size"]
        if above < 0:
            raise Odd("a segment goes back that was never there")
        if below:
            self.ranges.append(r._replace(size=below))
        if above:
            self.ranges.append(r._replace(address=e["addr"] + e["size"], size=above))
        self.ranges.sort(key=lambda r: r.address)

    def size_for(self, address, asked):
        r = self.ranges[self.find(address)]
        i = bisect.bisect_right(self.order, address)
        end = r.address + r.size
        room = min(self.order[i] if i < len(self.order) else end, end) - address
        if room < asked:
            raise Odd("a block does not fit")
        slack = room - asked
        split = slack >= 512 if r.small or r.expandable else slack > MIB
        return asked if split else room

    def take(self, address, size):
        self.live[address] = size
        bisect.insort(self.order, address)

    def release(self, address):
        del self.live[address]
        del self.order[bisect.bisect_left(self.order, address)]
        self.pending.discard(address)

    def holes(self):
        """(range, start, size) of every gap."""
        for r in self.ranges:
            at = r.address
            first = bisect.bisect_left(self.order, r.address)
            last = bisect.bisect_left(self.order, r.address + r.size)
            for address in self.order[first:last]:
                if address > at:
                    yield r, at, address - at
                at = address + self.live[address]
            if r.address + r.size > at:
                yield r, at, r.address + r.size - at

    def releasable(self, r, start, size):
        if not r.expandable:
            return size if size == r.size else 0
        page = SMALL_PAGE if r.small else LARGE_PAGE
        first, end = -(-(start - r.address) // page), (start + size - r.address) // page
        return max(0, end - first) * page

    def reasons(self, asked, stream, pool, small):
        sums, largest, right = dict.fromkeys(REASONS, 0), 0, 0
        for r, start, size in self.holes():
            whole = 0 if r.pool != (0, 0) else self.releasable(r, start, size)
            if (r.pool, r.small) != (pool, small):
                sums[POOL] += size - whole
            elif r.stream != stream:
                sums[STREAM] += size - whole
            else:
                right += size
                largest = max(largest, size)
                if asked is not None and size >= asked:
                    sums[REFUSED] += size
                    continue
                sums[TOO_SMALL] += size - whole
            sums[WHOLE] += whole
        return sums, largest, right


def pair(events, blocks):
    """Allocations as dictionaries, by the contract's rule; files in which events are missing are left out."""
    made, open_at, of_event = [], {}, {}
    for i, e in enumerate(events):
        if e["action"] == "alloc":
            if e["addr"] in open_at:
                raise Odd("a free is missing")
            open_at[e["addr"]] = a = {"born": i + 1, "size": e["size"], "addr": e["addr"], "frames": e.get("frames")}
            made.append(a)
        elif e["action"] == "free_requested":
            a = open_at.get(e["addr"])
            if a is None:
                open_at[e["addr"]] = a = {"born": 0, "size": e["size"], "addr": e["addr"]}
            a["let_go"] = i + 1
        elif e["action"] == "free_completed":
            a = open_at.pop(e["addr"], None)
            if a is None:
                a = {"born": 0, "size": e["size"], "addr": e["addr"]}
            a.setdefault("let_go", i + 1)
            a["freed"] = i + 1
        else:
            continue
        of_event[i] = a
    for b in blocks:
        if b["state"] != "inactive":
            a = open_at.pop(b["address"], None)
            if a is None:
                a = {"born": 0, "size": snapshots.requested_of(b), "addr": b["address"]}
                of_event[len(events) + len(of_event)] = a
            a["final"] = b["size"]
    if open_at:
        raise Odd("a block is neither freed nor in the snapshot")
    return made, of_event


def following(events, i, end):
    """The rounded request behind the growth events[i:end]."""
    start = min(e["addr"] for e in events[i:end])
    stop = max(e["addr"] + e["size"] for e in events[i:end])
    for e in events[end:end + 16]:
        if e.get("stream") != events[i]["stream"]:
            continue
        if e["action"] == "alloc" and e["addr"] < stop and e["addr"] + e["size"] > start:
            return rounded(e["size"])
        if e["action"] == "oom":
            return e["size"]
    return None


class Run:
    """Everything that is compared, of one device."""

    def __init__(self, found, device, sample_events, peak_event):
        self.events = found["device_traces"][device]
        segments = [s for s in found["segments"] if s.get("device", 0) == device]
        for s in segments:
            at = s["address"]
            for b in s["blocks"]:
                b.setdefault("address", at)
                at += b["size"]
        blocks = [b for s in segments for b in s["blocks"]]
        self.made, self.of_event = pair(self.events, blocks)
        self.space = Space(segments)
        self.growths, self.samples, self.ooms = {}, {}, {}
        self.rounding = None
        self.avoided = collections.Counter()
        self.avoidable = [0, 0]
        self.sample_events, self.peak_event = set(sample_events), peak_event
        self.rewind()
        self.follow()

    def rewind(self):
        for e in reversed(self.events):
            if e["action"] in ("segment_alloc", "segment_map"):
                self.space.shrink(e)
            elif e["action"] in ("segment_free", "segment_unmap"):
                self.space.grow(e, e["action"] == "segment_unmap")
        start = {id(a): a for a in self.of_event.values() if a["born"] == 0}
        for a in sorted(start.values(), key=lambda a: -a["addr"]):
            a["block"] = a.get("final") or self.space.size_for(a["addr"], rounded(a["size"]))
            self.space.take(a["addr"], a["block"])

    def before_growth(self, i):
        end = i + 1
        while self.events[i]["action"] == "segment_map" and end < len(self.events) \
                and self.events[end]["action"] == "segment_map":
            end += 1
        e = self.events[i]
        small_copy = Space([])
        small_copy.finals = self.space.finals
        small_copy.grow(e, e["action"] == "segment_map")
        new = small_copy.ranges[0]
        asked = following(self.events, i, end)
        sums, largest, right = self.space.reasons(asked, e["stream"], new.pool, new.small)
        bytes_ = sum(x["size"] for x in self.events[i:end])
        self.growths[i] = {"bytes": bytes_, "asked_bytes": asked, "largest_hole_bytes": largest,
                           "is_first": right == 0, "cached_bytes": sum(sums.values()), "unusable_bytes": sums}
        key = (new.pool, new.small, e["stream"])
        self.avoided[key] = min(self.avoided[key], right)
        if asked is not None and right - self.avoided[key] >= asked:
            self.avoided[key] += bytes_
            self.avoidable[0] += 1
            self.avoidable[1] += bytes_

    def before_oom(self, i):
        e = self.events[i]
        sums, largest, _ = self.space.reasons(e["size"], e["stream"], (0, 0), e["size"] <= MIB)
        active = sum(self.space.live.values())
        self.ooms[i] = {"asked_bytes": e["size"], "device_free_bytes": e["device_free"], "largest_hole_bytes": largest,
                        "active_bytes": active, "reserved_bytes": active + sum(sums.values()), "unusable_bytes": sums}

    def sample(self, i):
        holes = list(self.space.holes())
        cached = sum(size for _, _, size in holes)
        self.samples[i] = [max([size for _, _, size in holes], default=0), cached,
                           cached - sum(self.space.releasable(*hole) for hole in holes)]

    def follow(self):
        if self.peak_event is None:
            self.measure_rounding()
        for i, e in enumerate(self.events):
            action = e["action"]
            if action == "segment_alloc" or (action == "segment_map" and
                                             (i == 0 or self.events[i - 1]["action"] != "segment_map")):
                self.before_growth(i)
            if action == "alloc":
                size = self.space.size_for(e["addr"], rounded(e["size"]))
                self.of_event[i]["block"] = size
                self.space.take(e["addr"], size)
            elif action == "free_completed":
                self.space.release(e["addr"])
            elif action in ("segment_alloc", "segment_map"):
                self.space.grow(e, action == "segment_map")
            elif action in ("segment_free", "segment_unmap"):
                self.space.shrink(e)
            elif action == "oom":
                self.before_oom(i)
            if i in self.sample_events:
                self.sample(i)
            if i == self.peak_event:
                self.measure_rounding()
        if any(a["final"] != a["block"] for a in self.made if "final" in a):
            raise Odd("the snapshot's block sizes are not those of this allocator's rules")

    def measure_rounding(self):
        live = {a["addr"]: a for a in self.of_event.values()
                if a["born"] <= (0 if self.peak_event is None else self.peak_event + 1) <
                a.get("freed", 1 << 62)}
        self.rounding = sum(a["block"] - a["size"] for a in live.values())

    def churn(self):
        done = [a for a in self.made if "freed" in a]
        temporary = 0
        for a, after in zip(self.made, self.made[1:] + [None]):
            temporary += "freed" in a and (after is None or a["let_go"] < after["born"])
        return len(done), sum(a["size"] for a in done), temporary


def differences(run, device):
    bad, told = [], device["fragmentation_history"]

    def same(what, ours, theirs):
        if ours != theirs:
            bad.append(f"{what}: {ours} by hand, {theirs} told")

    events = collections.Counter(e["action"] for e in run.events)
    same("growths", len(run.growths), told["growths"])
    same("bytes of growths", sum(g["bytes"] for g in run.growths.values()), told["growth_bytes"])
    same("driver allocs", events["segment_alloc"] + events["segment_map"], told["driver_allocs"])
    same("driver frees", events["segment_free"] + events["segment_unmap"], told["driver_frees"])
    for g in told["largest_growths"]:
        same(f"growth {g['event']}", run.growths[g["event"]], {k: g[k] for k in run.growths[g["event"]]})
    same("avoidable", run.avoidable, [told["growths_avoidable"], told["growth_avoidable_bytes"]])
    for o in device["out_of_memory"]:
        levels = {**o, **o["levels"]}
        same(f"oom {o['event']}", run.ooms[o["event"]], {k: levels[k] for k in run.ooms[o["event"]]})
        same(f"live at oom {o['event']}", levels["requested_bytes"], sum(c["bytes"] for c in o["categories"]))
    for s in told["samples"]:
        same(f"sample {s['event']}", run.samples[s["event"]],
             [s["largest_free_bytes"], s["cached_bytes"], s["stranded_bytes"]])
    same("rounding", run.rounding, told["rounding_bytes"])
    rows = told["churn"]
    same("churn", run.churn(),
         (sum(c["allocs"] for c in rows), sum(c["bytes"] for c in rows), told["temporary_allocs"]))
    same("temporary by site", told["temporary_allocs"], sum(c["temporary_allocs"] for c in rows))
    return bad


def main():
    binary = snapshots.program()
    bad, devices, growths, left_out = [], 0, 0, []
    for path, found in snapshots.snapshots():
        if not any(found.get("device_traces") or []):
            continue
        analysis = snapshots.analysis(binary, path, "--top", "1000000")
        for number, device in snapshots.timelines(analysis).items():
            history = device["fragmentation_history"]
            try:
                if history is None:
                    raise Odd("not reconstructed")
                run = Run(found, number, [s["event"] for s in history["samples"]], device["peaks"]["active"]["event"])
            except Odd as why:
                left_out.append(f"{path.name}: {why}")
                continue
            devices += 1
            growths += history["growths"]
            bad += [f"{path.name}, device {number}: {line}" for line in differences(run, device)[:6]]
    print("\n".join(f"left out: {line}" for line in left_out))
    print("\n".join(bad))
    print(f"{devices} devices, {growths} growths compared; {len(left_out)} left out, {len(bad)} differences")
    sys.exit(1 if bad or devices == 0 or len(left_out) > devices else 0)


if __name__ == "__main__":
    main()
