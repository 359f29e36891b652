#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A recording made on a GPU beside one that gmdry made of the same program: events, places, peaks.

    beside.py [--device N] [--first N] [--json FILE] [--label TEXT] REAL DRY

REAL and DRY are PyTorch's snapshots with a trace. They are aligned by (action, size), so that each may begin and end
elsewhere: what only one has before the first and behind the last common event is counted apart ('before', 'after'). The
rest that does not match is a difference; the first ones are printed with their stacks. One row of a Markdown table
comes first. Exit code 0: everything in the common part is the same; 1: something is not; 2: wrong usage; 3: not readable."""
import argparse
import bisect
import json
import pickle
import sys

MAX_EDITS = 1500  # of one search: it goes on from the furthest place then, which may cost more edits than the fewest
PROBE = 24  # events that must agree in a row to be where the other recording begins
INNERMOST = 6  # of a stack; further out the ways into a program differ
ALLOC, FREE = "alloc", "free_completed"


class Refused(Exception):
    pass


class Plain(pickle.Unpickler):
    """Numbers, strings, lists and dictionaries; nothing of what a pickle may ask to be called."""

    def find_class(self, module, name):
        raise Refused(f"asks for {module}.{name}")


def read(path, device):
    with open(path, "rb") as file:
        snapshot = Plain(file).load()
    traces = snapshot["device_traces"]
    if device is None:
        device = max(range(len(traces)), key=lambda i: len(traces[i]))
    return Recording(traces[device], [s for s in snapshot["segments"] if s["device"] == device])


# ---- one recording --------------------------------------------------------------------------------------------------


class Recording:
    """What a trace says, and what follows from it and the state at its end."""

    def __init__(self, events, segments):
        self.events = events
        self.segments = segments
        self.keys = [(e["action"], e["size"]) for e in events]
        self.places = self.find_places()
        self.live = self.curve(live_bytes(segments), (ALLOC,), (FREE,))
        reserved = sum(s["total_size"] for s in segments)
        self.reserved = self.curve(reserved, ("segment_alloc", "segment_map"), ("segment_free", "segment_unmap"))

    def curve(self, end, more, less):
        """Bytes before each event and at the end, from those at the end."""
        curve = [end]
        for event in reversed(self.events):
            end -= ((event["action"] in more) - (event["action"] in less)) * event["size"]
            curve.append(end)
        curve.reverse()
        return curve

    def find_places(self):
        """Of each event: which segment its block is in (a number that no other segment has) and how far from its
        beginning; None where the trace does not tell. Backwards, as the segments are known at the end."""
        starts, known, places = [], {}, [None] * len(self.events)
        for segment in self.segments:
            bisect.insort(starts, segment["address"])
            known[segment["address"]] = (segment["total_size"], len(known))
        count = len(known)
        for i in range(len(self.events) - 1, -1, -1):
            event = self.events[i]
            if event["action"] == "segment_free":
                bisect.insort(starts, event["addr"])
                known[event["addr"]] = (event["size"], count)
                count += 1
            at = bisect.bisect_right(starts, event["addr"]) - 1
            if at >= 0 and event["addr"] < starts[at] + known[starts[at]][0]:
                places[i] = (known[starts[at]][1], event["addr"] - starts[at])
            if event["action"] == "segment_alloc" and event["addr"] in known:
                starts.remove(event["addr"])
                del known[event["addr"]]
        return places


def live_bytes(segments):
    """As events count them: what was asked for."""
    return sum(b.get("requested_size", b["size"]) for s in segments for b in s["blocks"] if b["state"] != "inactive")


def stack(event):
    """The Python part, without the folders, which differ from machine to machine."""
    return [(f["filename"].replace("\\", "/").rsplit("/", 1)[-1], f["name"], f["line"])
            for f in event.get("frames", []) if f["filename"].endswith(".py")]


def functions(event):
    """The innermost ones, without the lines, which move with every edit."""
    return [(file, name) for file, name, _ in stack(event)][:INNERMOST]


# ---- alignment ------------------------------------------------------------------------------------------------------


def beginnings(a, b):
    """Where the common part begins in both: one of them may have begun earlier."""

    def find(part, whole):
        for offset in range(min(64, len(part))):
            wanted = part[offset:offset + PROBE]
            for i in range(len(whole) - len(wanted) + 1):
                if whole[i:i + len(wanted)] == wanted:
                    return max(0, i - offset)
        return None

    in_a, in_b = find(b, a), find(a, b)
    if in_a is None or in_b is None:
        return in_a or 0, in_b or 0
    return 0, 0  # together, or each inside the other, which is a repetition


def furthest(a, b):
    """Pairs of equal items of both on the way with the fewest edits (Myers, 'An O(ND) difference algorithm'), as far as
    MAX_EDITS of them lead."""
    reach, trail, n, m = {1: 0}, [], len(a), len(b)
    for edits in range(MAX_EDITS + 1):
        for k in range(-edits, edits + 1, 2):
            x = reach[k + 1] if k == -edits or k != edits and reach[k - 1] < reach[k + 1] else reach[k - 1] + 1
            while x < n and 0 <= x - k < m and a[x] == b[x - k]:
                x += 1
            reach[k] = x
            if x >= n and x - k >= m:
                return walk(trail, reach, k), n, m
        trail.append(dict(reach))
    best = max((k for k in reach if reach[k] <= n and 0 <= reach[k] - k <= m and (k - MAX_EDITS) % 2 == 0),
               key=lambda k: 2 * reach[k] - k)
    return walk(trail[:-1], reach, best), reach[best], reach[best] - best


def walk(trail, reach, k):
    pairs, x = [], reach[k]
    for edits in range(len(trail), -1, -1):
        if edits == 0:
            begin = 0
        else:
            before = trail[edits - 1]
            down = k == -edits or k != edits and before[k - 1] < before[k + 1]
            begin = before[k + 1] if down else before[k - 1] + 1
        pairs.extend((i, i - k) for i in range(x - 1, begin - 1, -1))
        if edits > 0:
            k += 1 if down else -1
            x = before[k]
    pairs.reverse()
    return pairs


def align(a, b):
    """Pairs (i, j) with a[i] == b[j], growing in both; and where each begins (see beginnings)."""
    i, j = begin = beginnings(a, b)
    pairs = []
    while i < len(a) and j < len(b):
        found, di, dj = furthest(a[i:], b[j:])
        pairs.extend((i + x, j + y) for x, y in found)
        if di + dj == 0:
            break
        i, j = i + di, j + dj
    return pairs, begin


# ---- comparison -----------------------------------------------------------------------------------------------------


def equal_places(real, dry, pairs):
    """How many of the pairs lie equally far from the beginnings of segments that are paired, too; of how many."""
    to_dry, to_real, equal, known = {}, {}, 0, 0
    for i, j in pairs:
        a, b = real.places[i], dry.places[j]
        if real.events[i]["action"] != ALLOC or a is None or b is None:
            continue
        known += 1
        same = to_dry.setdefault(a[0], b[0]) == b[0] and to_real.setdefault(b[0], a[0]) == a[0]
        equal += same and a[1] == b[1]
    return equal, known


def compare(real, dry):
    pairs, (real_begin, dry_begin) = align(real.keys, dry.keys)
    real_end, dry_end = (pairs[-1][0] + 1, pairs[-1][1] + 1) if pairs else (0, 0)
    goes_on = real_end < len(real.keys), dry_end < len(dry.keys)
    if all(goes_on) or sorted(real.keys[real_begin:]) == sorted(dry.keys[dry_begin:]):  # none is the other's beginning
        real_end, dry_end = len(real.keys), len(dry.keys)
    allocs = [[k for k in r.keys if k[0] == ALLOC] for r in (real, dry)]
    alloc_pairs = align(*allocs)[0]
    places, known = equal_places(real, dry, pairs)
    stacks = sum(functions(real.events[i]) == functions(dry.events[j]) for i, j in pairs)
    return {
        "events": [len(pairs), real_end - real_begin, dry_end - dry_begin],
        "allocations": [len(alloc_pairs), len(allocs[0]), len(allocs[1])],
        "places": [places, known],
        "same_set": sorted(real.keys[real_begin:real_end]) == sorted(dry.keys[dry_begin:dry_end]),
        "stacks": [stacks, len(pairs)],
        "before": [real_begin, dry_begin],
        "after": [len(real.keys) - real_end, len(dry.keys) - dry_end],
        "live_before": [real.live[real_begin], dry.live[dry_begin]],
        "peak": [max(real.live[real_begin:real_end + 1]), max(dry.live[dry_begin:dry_end + 1])],
        "peak_reserved": [max(real.reserved[real_begin:real_end + 1]), max(dry.reserved[dry_begin:dry_end + 1])],
        "differences": differences(real, dry, pairs, (real_begin, real_end), (dry_begin, dry_end)),
    }


def differences(real, dry, pairs, real_span, dry_span):
    """What stands between the pairs, in order: ('real' or 'dry', number of the event)."""
    result, i, j = [], real_span[0], dry_span[0]
    for x, y in pairs + [(real_span[1], dry_span[1])]:
        result += [("real", n) for n in range(i, x)] + [("dry", n) for n in range(j, y)]
        i, j = x + 1, y + 1
    return result


def is_same(result):
    equal, in_real, in_dry = result["events"]
    return equal == in_real == in_dry and not result["differences"]


# ---- words ----------------------------------------------------------------------------------------------------------


def row(label, result):
    equal, in_real, in_dry = result["events"]
    allocs = result["allocations"]
    cells = [
        label,
        f"{equal:,} of {in_real:,}" + (", order" if equal < in_real and result["same_set"] else "")
        + ("" if in_dry == in_real else f" ({in_dry:,})"),
        f"{allocs[0]:,} of {allocs[1]:,}",
        f"{result['places'][0]:,} of {result['places'][1]:,}",
        f"{result['peak'][0]:,}",
        f"{result['peak'][1] - result['peak'][0]:+,}",
        f"{result['peak_reserved'][1] - result['peak_reserved'][0]:+,}",
    ]
    return "| " + " | ".join(cells) + " |"


def describe(recordings, side, number):
    event = recordings[side].events[number]
    sites = " < ".join(f"{name} {file}:{line}" for file, name, line in stack(event)[:4])
    return f"  {side:4} {number:6} {event['action']} {event['size']:,}  {sites}"


def show(label, result, real, dry, first):
    print(row(label, result))
    print(f"live before: {result['live_before'][0]:,} {result['live_before'][1]:,}; events only in one before the"
          f" common part: {result['before']}, after it: {result['after']}; stacks equal: {result['stacks']};"
          f" differences: {len(result['differences']):,}")
    for side, number in result["differences"][:first]:
        print(describe({"real": real, "dry": dry}, side, number))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", type=int)
    parser.add_argument("--first", type=int, default=20, help="differences to print")
    parser.add_argument("--json")
    parser.add_argument("--label", help="of the row; else the name of REAL")
    parser.add_argument("real")
    parser.add_argument("dry")
    options = parser.parse_args()
    try:
        real, dry = read(options.real, options.device), read(options.dry, options.device)
    except (OSError, Refused, pickle.UnpicklingError, EOFError, KeyError, IndexError, ValueError, TypeError) as error:
        print(f"beside.py: cannot read: {error!r}", file=sys.stderr)
        return 3
    result = compare(real, dry)
    show(options.label or options.real.rsplit("/", 1)[-1], result, real, dry, options.first)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file)
    return 0 if is_same(result) else 1


if __name__ == "__main__":
    sys.exit(main())
