# SPDX-License-Identifier: Apache-2.0
"""Files of n events of many shapes, written while they are thought of, so that ten million events cost no memory. What is
stored is what pickle.dump would store of the same dictionaries.

A shape is a function of n in SHAPES. The first ones follow PyTorch's allocator; the others contradict it or themselves,
as damaged and hostile files do.

usage: growth_files.py FILE SHAPE N
"""
import itertools
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data"))
from caching_allocator import Allocator  # noqa: E402  pylint: disable=wrong-import-position

MIB = 1 << 20
BASE = 0x7F0000000000
START_US = 1_700_000_000_000_000
MOST_CACHED = 20_000


# ---- stacks --------------------------------------------------------------------------------------------------------

class Stack:
    """`frames()`, innermost first. Equal keys: one list in the file; None: a list that no other event has."""

    def __init__(self, key, frames):
        self.key, self.frames = key, frames


OUTER = tuple((f"call_{i}", f"/app/model/part_{i % 7}.py", 10 * i) for i in range(12))
NATIVE = (("c10::cuda::CUDACachingAllocator::malloc", "??", 0), ("at::empty_cuda", "??", 0))


def site(i):
    """The i-th line of the program that allocates."""
    return Stack(i, lambda: NATIVE + ((f"forward_{i % 1000}", f"/app/model/layer_{i % 97}.py", i),) + OUTER)


def strange(i):
    """A function of its own in a file of its own, seen once."""
    return Stack(None, lambda: NATIVE + ((f"function_{i}", f"/app/generated/file_{i}.py", i),) + OUTER)


PLAIN = [site(i) for i in range(100)]


# ---- pickle --------------------------------------------------------------------------------------------------------

def integer(n):
    if 0 <= n < 256:
        return b"K%c" % n
    if -(1 << 31) <= n < 1 << 31:
        return b"J" + n.to_bytes(4, "little", signed=True)
    size = n.bit_length() // 8 + 1
    return b"\x8a%c" % size + n.to_bytes(size, "little", signed=True)


BATCH = 1000  # items of a list that are appended at once


class Pickle:
    """Protocol 4 as the C pickler writes it, less frames; the memo counts along."""

    def __init__(self):
        self.memo, self.known = 0, {}

    def new(self, key=None):
        if key is not None:
            self.known[key] = self.memo
        self.memo += 1
        return b"\x94"

    def again(self, key):
        at = self.known.get(key)
        return None if at is None else b"h%c" % at if at < 256 else b"j" + at.to_bytes(4, "little")

    def text(self, s):
        raw = s.encode()
        return self.again(s) or b"X" + len(raw).to_bytes(4, "little") + raw + self.new(s)

    def pairs(self, pairs):
        return b"".join(self.text(k) + self.value(v) for k, v in pairs)

    def frame(self, frame):
        key = ("frame", *frame)
        return self.again(key) or b"".join((b"}", self.new(key), b"(",
                                            self.pairs(zip(("name", "filename", "line"), frame)), b"u"))

    def value(self, v):
        if isinstance(v, bool):
            return b"\x88" if v else b"\x89"
        if isinstance(v, int):
            return integer(v)
        if isinstance(v, str):
            return self.text(v)
        if isinstance(v, dict):
            return b"".join((b"}", self.new(), b"(", self.pairs(v.items()), b"u"))
        if isinstance(v, Stack):
            key = None if v.key is None else ("stack", v.key)
            return self.again(key) or b"".join((b"]", self.new(key), b"(", *map(self.frame, v.frames()), b"e"))
        if isinstance(v, tuple):
            return b"(" + b"".join(map(self.value, v)) + b"t" + self.new()
        return b"".join((b"]", self.new(), b"(", *map(self.value, v), b"e"))

    def events(self, events):
        """(action, address, size, stream, stack, *(key, value)), a row each."""
        time, cache, stamp = START_US, {}, None
        for event in events:
            time += 3
            parts = cache.get(event)
            if parts is not None:
                self.memo += 1
            else:
                action, address, size, stream, stack, *more = event
                before = self.memo
                place = "device_free" if action == "oom" else "addr"
                stamp = self.known.get("time_us")
                parts = (b"}" + self.new() + b"(" + self.pairs(
                    (("action", action), (place, address), ("size", size), ("stream", stream))) + self.text("time_us"),
                    self.pairs((*more, *((("frames", stack),) if stack else ()))) + b"u")
                if self.memo == before + 1 and stamp is not None and len(cache) < MOST_CACHED:
                    cache[event] = parts
            yield parts[0] + b"\x8a\x07" + time.to_bytes(7, "little") + parts[1]

    def write(self, file, shape):
        def rows(values):
            file.write(b"]" + self.new())
            values = iter(values)
            while batch := list(itertools.islice(values, BATCH)):
                file.writelines((b"(", *batch, b"e"))
        file.write(b"\x80\x04}" + self.new() + b"(" + self.text("segments"))
        rows(map(self.value, shape.segments))
        file.write(self.text("device_traces") + b"]" + self.new() + b"(")
        for trace in shape.traces:
            rows(self.events(trace))
        file.write(b"e" + self.text("external_annotations"))
        rows(map(self.value, shape.annotations))
        file.write(b"u.")


class Shape:
    def __init__(self, traces, segments=(), annotations=()):
        self.traces, self.segments, self.annotations = traces, segments, annotations


# ---- what is in memory ---------------------------------------------------------------------------------------------

def segment(address, size, blocks, device=0, stream=0, kind="small", expandable=False):
    """blocks: (address, size, requested, state)"""
    used = sum(b[1] for b in blocks if b[3] != "inactive")
    return {"device": device, "address": address, "total_size": size, "allocated_size": used, "active_size": used,
            "requested_size": sum(b[2] for b in blocks if b[3] != "inactive"), "stream": stream, "segment_type": kind,
            "segment_pool_id": (0, 0), "is_expandable": expandable,
            "blocks": [dict(zip(("address", "size", "requested_size", "state"), b), frames=()) for b in blocks]}


def alloc(address, size, stack, stream=0):
    return ("alloc", address, size, stream, stack)


def free(address, size, stack, stream=0):
    return [(f"free_{word}", address, size, stream, stack) for word in ("requested", "completed")]


PER_SEGMENT = 4096  # blocks of 512 bytes in a segment of the small pool


def small(i, base=BASE):
    """The address of the i-th small block of a stream, as the allocator would choose it."""
    return base + 512 * i


def fill(count, stacks, stream=0, base=BASE):
    """count small blocks, one after the other."""
    for i in range(count):
        if i % PER_SEGMENT == 0:
            yield ("segment_alloc", small(i, base), 2 * MIB, stream, stacks[i % len(stacks)])
        yield alloc(small(i, base), 512, stacks[i % len(stacks)], stream)


def filled(count, is_live, device=0, stream=0, base=BASE):
    """Its segments, neighbours that are free merged."""
    for first in range(0, count, PER_SEGMENT):
        blocks = []
        for i in range(first, first + PER_SEGMENT):
            live = i < count and is_live(i)
            if not live and blocks and blocks[-1][3] == "inactive":
                blocks[-1][1] += 512
            else:
                blocks.append([small(i, base), 512, 512 if live else 0, "active_allocated" if live else "inactive"])
        yield segment(small(first, base), 2 * MIB, blocks, device, stream)


def ended(snapshot, device=0):
    """The segments of caching_allocator.py's rows."""
    for row in snapshot:
        yield segment(row["address"], row["total_size"],
                      [(b["address"], b["size"], b["requested_size"], b["state"]) for b in row["blocks"]],
                      device, row["stream"], row["segment_type"])


def recorded(trace):
    for e in trace:
        yield (e["action"], e["addr"], e["size"], e["stream"], e.get("frames"))


class Clock:
    now = 0

    def __call__(self):
        return 0


# ---- shapes that follow the allocator ------------------------------------------------------------------------------

def one_step(device=0, blocks=400):
    """A training step from which memory comes back as it was: what it keeps, forward, backward; (events, segments)."""
    a, pick = Allocator(device, BASE, Clock()), random.Random(1)
    for i in range(50):
        a.alloc(pick.choice([512, 4 * MIB, 16 * MIB]), PLAIN[i])
    sizes = [pick.choice([512, 2048, 100_000, MIB, 3 * MIB, 12 * MIB, 40 * MIB]) + 8 * i for i in range(blocks)]
    for turn in range(4):
        a.recording = turn == 3
        made, gone = [], []
        for i, size in enumerate(sizes):
            made.append(a.alloc(size, PLAIN[i % len(PLAIN)]))
            if i % 3 == 2:
                a.free(made.pop(-2))
        while made:
            a.free(made.pop())
            gone.append(a.alloc(1 << pick.randrange(9, 22), PLAIN[len(made) % len(PLAIN)]))
            if len(gone) > 5:
                a.free(gone.pop(0))
        for block in gone:
            a.free(block)
        pick = random.Random(2)
    return list(recorded(a.trace)), list(ended(a.snapshot_segments(), device))


def training(n, devices=1):
    traces, segments = [], []
    for d in range(devices):
        events, rows = one_step(d)
        segments += rows
        traces.append(itertools.islice(itertools.cycle(events), max(1, n // devices // len(events)) * len(events)))
    return Shape(traces, segments)


def distinct_stacks(n):
    def events():
        for i in range(n // 3):
            stack = site(1000 + i)
            yield alloc(BASE, 512, stack)
            yield from free(BASE, 512, stack)
    return Shape([events()], filled(1, lambda i: False))


def distinct_names(n):
    def events():
        for i in range(n // 3):
            yield alloc(BASE, 512, strange(i))
            yield from free(BASE, 512, None)
    return Shape([events()], filled(1, lambda i: False))


def deep_stacks(n):
    """One frame more each, up to a thousand, all of the same few functions: recursion."""
    def stack(i):
        return Stack(("deep", i), lambda: NATIVE + tuple(("recurse", "/app/tree.py", 10 + k % 7) for k in range(i)) + OUTER)

    def events():
        for i in range(n // 3):
            yield alloc(BASE, 512, stack(i % 1000))
            yield from free(BASE, 512, None)
    return Shape([events()], filled(1, lambda i: False))


def never_freed(n):
    return Shape([fill(n, PLAIN)], filled(n, lambda i: True))


def freed_in_order(n, is_last_first):
    m = n // 3

    def events():
        yield from fill(m, PLAIN)
        for i in reversed(range(m)) if is_last_first else range(m):
            yield from free(small(i), 512, PLAIN[i % 100])
    return Shape([events()], filled(m, lambda i: False))


def holes(n):
    """Every other block freed, and then blocks that fit in no hole: all of them free, none of use."""
    m = n // 5 * 2
    base = BASE + -(-m // PER_SEGMENT) * 2 * MIB

    def events():
        yield from fill(m, PLAIN)
        for i in range(0, m, 2):
            yield from free(small(i), 512, PLAIN[i % 100])
        for i in range(m // 2):
            if i % 2048 == 0:
                yield ("segment_alloc", base + 1024 * i, 2 * MIB, 0, PLAIN[0])
            yield alloc(base + 1024 * i, 1024, PLAIN[i % 100])
    late = (segment(base + 1024 * i, 2 * MIB, [(base + 1024 * k, 1024, 1024, "active_allocated")
                                               for k in range(i, min(i + 2048, m // 2))])
            for i in range(0, m // 2, 2048))
    return Shape([events()], itertools.chain(filled(m, lambda i: i % 2 == 1), late))


def one_segment(n):
    """Taken as one block, freed, and cut into blocks of 2 MiB."""
    m, big = n - 4, (n - 4) * 2 * MIB

    def events():
        yield ("segment_alloc", BASE, big, 0, PLAIN[0])
        yield alloc(BASE, big, PLAIN[0])
        yield from free(BASE, big, PLAIN[0])
        for i in range(m):
            yield alloc(BASE + i * 2 * MIB, 2 * MIB, PLAIN[i % 100])
    blocks = [(BASE + i * 2 * MIB, 2 * MIB, 2 * MIB, "active_allocated") for i in range(m)]
    return Shape([events()], (segment(BASE, big, blocks, kind="large") for _ in range(1)))


def taken(action, count, size):
    """What the driver gives by that action, piece after piece, each used whole at once."""
    for i in range(count):
        yield (action, BASE + i * size, size, 0, PLAIN[i % 100])
        yield alloc(BASE + i * size, size, PLAIN[i % 100])


def given_back(action, order, size):
    for i in order:
        yield from free(BASE + i * size, size, PLAIN[i % 100])
    for i in order:
        yield (action, BASE + i * size, size, 0, None)


def many_segments(n):
    size = 10 * MIB
    return Shape([taken("segment_alloc", n // 2, size)], (segment(BASE + i * size, size, [(BASE + i * size, size, size, "active_allocated")], kind="large")
                              for i in range(n // 2)))


def segments_returned(n):
    """All taken from the driver, used, and given back, the lowest first."""
    size, m = 10 * MIB, n // 5
    return Shape([itertools.chain(taken("segment_alloc", m, size), given_back("segment_free", range(m), size))])


def streams(n, count):
    m = n // 3

    def base(s):
        return BASE + s * (-(-m // count // PER_SEGMENT) + 1) * 2 * MIB

    def events():
        for i in range(m):
            s = i % count
            if i < count:
                yield ("segment_alloc", base(s), 2 * MIB, 64 * s, PLAIN[0])
            yield alloc(base(s), 512, PLAIN[s % 100], 64 * s)
            yield from free(base(s), 512, PLAIN[s % 100], 64 * s)
    return Shape([events()], itertools.chain.from_iterable(
        filled(1, lambda i: False, stream=64 * s, base=base(s)) for s in range(count)))


def random_sizes(n):
    """A tenth of all blocks live, freed in any order: caching_allocator.py decides."""
    a, pick, live = Allocator(0, BASE, Clock()), random.Random(3), []
    a.recording = True
    while len(a.trace) < n:
        if len(live) > n // 30 or (live and pick.random() < 0.45):
            i = pick.randrange(len(live))
            live[i], live[-1] = live[-1], live[i]
            a.free(live.pop())
        else:
            live.append(a.alloc(int(2 ** pick.uniform(9, 24)), PLAIN[pick.randrange(100)]))
    return Shape([recorded(a.trace)], list(ended(a.snapshot_segments())))


def steps(n):
    """Steps of thirty events with the profiler's annotations."""
    events, time = [], START_US
    for i in range(10):
        events += [alloc(BASE + 512 * i, 512, PLAIN[i])]
    for i in reversed(range(10)):
        events += free(BASE + 512 * i, 512, PLAIN[i])
    m = n // 30
    marks = ({"stage": stage, "name": f"ProfilerStep#{k}", "device": 0, "time_us": time + 90 * k + at}
             for k in range(m) for stage, at in (("START", 1), ("END", 92)))
    return Shape([itertools.chain.from_iterable(itertools.repeat(events, m))], filled(1, lambda i: False), marks)


def nested_annotations(n):
    """All open at once in the middle, each name its own."""
    m = n // 10
    marks = itertools.chain(
        ({"stage": "START", "name": f"range_{k}", "device": 0, "time_us": START_US + k} for k in range(m)),
        ({"stage": "END", "name": f"range_{k}", "device": 0, "time_us": START_US + 3 * n - k} for k in reversed(range(m))))
    return Shape([freed_in_order(n - 2 * m, True).traces[0]], filled((n - 2 * m) // 3, lambda i: False), marks)


def expandable(n):
    """A reservation that is mapped page by page, filled, and unmapped again from its end."""
    page, m = 20 * MIB, n // 5
    return Shape([itertools.chain(taken("segment_map", m, page), given_back("segment_unmap", range(m)[::-1], page))])


# ---- shapes that contradict the allocator or themselves ----------------------------------------------------------------

def pending(n):
    """Freed by the program and never by the stream."""
    m = n // 2

    def events():
        yield from fill(m, PLAIN)
        for i in range(m):
            yield free(small(i), 512, PLAIN[i % 100])[0]
    return Shape([events()], filled(m, lambda i: True))


def ooms(n):
    """Memory runs out again and again with many blocks alive."""
    m = n // 2

    def events():
        yield from fill(m, PLAIN)
        for i in range(m):
            yield ("oom", 5 * MIB, (i + 1) * MIB, 0, PLAIN[i % 100])
    return Shape([events()], filled(m, lambda i: True))


def same_address(n):
    """Allocated again and again, and never freed."""
    return Shape([(alloc(BASE, 512 * (1 + i % 64), PLAIN[i % 100]) for i in range(n))], filled(1, lambda i: True))


def unknown_frees(n):
    """Frees of what nobody allocated, in memory that nobody has."""
    return Shape([itertools.chain.from_iterable(free(BASE + 4096 * i, 2048, PLAIN[i % 100]) for i in range(n // 2))])


def overlapping(n):
    """A mebibyte each, 512 bytes apart."""
    return Shape([(alloc(BASE + 512 * i, MIB, PLAIN[i % 100]) for i in range(n))])


def overlapping_segments(n):
    """Segments over each other, each of which has a block and is given back in the middle of the others."""
    def events():
        for i in range(n // 2):
            yield ("segment_alloc", BASE + 512 * i, 2 * MIB, 0, PLAIN[i % 100])
        for i in range(n // 2):
            yield ("segment_free", BASE + 512 * (i * 7919 % (n // 2)), 2 * MIB, 0, None)
    return Shape([events()])


def scattered(n):
    """Random addresses and sizes; frees of half of them, in any order, all in segments that say nothing of it."""
    pick, live = random.Random(4), []

    def events():
        for i in range(n // 2 * 2):
            if i % 2 == 0 or not live:
                live.append((BASE + 512 * pick.randrange(4 * n), 512 * pick.randrange(1, 4096)))
                yield alloc(*live[-1], PLAIN[i % 100])
            else:
                at = pick.randrange(len(live))
                live[at], live[-1] = live[-1], live[at]
                yield free(*live.pop(), PLAIN[i % 100])[1]
    return Shape([events()], filled(4 * n // 8, lambda i: i % 2 == 0))


def growing_sizes(n):
    """Each larger than the one before and freed before it: no free block ever fits."""
    def events():
        at = BASE
        for i in range(n // 4):
            size = 10 * MIB + i * 2 * MIB
            yield ("segment_alloc", at, size, 0, PLAIN[i % 100])
            yield alloc(at, size, PLAIN[i % 100])
            yield from free(at, size, PLAIN[i % 100])
            at += size
    return Shape([events()])


def state_only(n):
    """No trace at all."""
    return Shape([], filled(n, lambda i: i % 2 == 0))


def nested_spans(n):
    """A trace of torch.profiler: operators inside each other, each with a call stack as deep as it lies."""
    m = n // 2
    for i in range(m):
        yield {"ph": "X", "cat": "cpu_op", "name": f"aten::op_{i % 300}", "pid": 1, "tid": 1, "ts": 1000 + i,
               "dur": 4 * m - 2 * i, "args": {"External id": i + 1}}
    for i in range(m):
        yield {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1000 + m + i,
               "args": {"Device Type": 1, "Device Id": 0, "Addr": BASE + 512 * (i // 2), "Bytes": 512 if i % 2 == 0 else -512,
                        "Total Allocated": 512 * (1 - i % 2), "Total Reserved": 2 * MIB}}


ORDINARY = "training"
SHAPES = {
    ORDINARY: training,
    "8 devices": lambda n: training(n, 8),
    "64 devices": lambda n: training(n, 64),
    "16 streams": lambda n: streams(n, 16),
    "1024 streams": lambda n: streams(n, 1024),
    "a stream for 10 events": lambda n: streams(n, n // 30),
    "distinct stacks": distinct_stacks,
    "distinct names": distinct_names,
    "deep stacks": deep_stacks,
    "never freed": never_freed,
    "inside each other": lambda n: freed_in_order(n, True),
    "one after the other": lambda n: freed_in_order(n, False),
    "holes": holes,
    "one segment": one_segment,
    "many segments": many_segments,
    "segments returned": segments_returned,
    "random sizes": random_sizes,
    "steps": steps,
    "nested annotations": nested_annotations,
    "expandable": expandable,
    "pending": pending,
    "out of memory": ooms,
    "same address": same_address,
    "unknown frees": unknown_frees,
    "overlapping": overlapping,
    "overlapping segments": overlapping_segments,
    "scattered": scattered,
    "growing sizes": growing_sizes,
    "state only": state_only,
    "nested spans (profiler)": nested_spans,
}


def write(path, name, n):
    """A file of that shape."""
    made = SHAPES[name](n)
    with open(path, "wb", 1 << 20) as file:
        if isinstance(made, Shape):
            Pickle().write(file, made)
            return
        file.write(b'{"schemaVersion": 1, "traceEvents": [\n')
        for i, event in enumerate(made):
            file.write((",\n" if i else "").encode() + json.dumps(event).encode())
        file.write(b"\n]}\n")


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], int(sys.argv[3]))
