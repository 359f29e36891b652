# SPDX-License-Identifier: Apache-2.0
"""gmreplay --members --steps on the real snapshots with steps: a naive program repeats the step by the words of
docs/replay.md and asks the naive allocator for it; every row of the CSV and the peaks must agree. With as many steps as
were recorded, the numbers are those of the plain replay. usage: check_repeat.py GMREPLAY"""
import collections
import csv
import io
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "state"))
sys.path.insert(0, HERE)
from reference_allocator import Allocator, Settings  # noqa: E402
from snapshots import SKIPPED, frames_of, requested_of, snapshots  # noqa: E402

MIB, TIB = 1 << 20, 1 << 40
CAPACITY = 64 * TIB
DEFAULTS = ("--alloc-conf", "expandable_segments:False", "--memory", "64TiB")
MOST_EVENTS = 60000  # the naive allocator takes its time
ALIVE, PENDING = "alive", "pending"


def replay(path, *options):
    done = subprocess.run([sys.argv[1], "--json", "-", *options, str(path)], capture_output=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else None


def rows(path, *options):
    done = subprocess.run([sys.argv[1], "-q", "--csv", "-", *options, str(path)], capture_output=True, check=True)
    return list(csv.DictReader(io.StringIO(done.stdout.decode())))


def gib(n):
    n = (n * 1000 + (1 << 29)) >> 30
    return f"{n // 1000}.{n % 1000:03d}"


class Block:
    """One allocation of the trace."""

    def __init__(self, requested, stream, stack, born):
        self.requested, self.stream, self.stack, self.born = requested, stream, stack, born
        self.address, self.let_go = 0, None
        self.is_small = (max(requested, 1) + 511) // 512 * 512 <= MIB


def stack_of(row):
    frames = row.get("frames")
    return None if frames is None else tuple((f["name"], f["filename"], f["line"]) for f in frames)


def read(snapshot, device):
    """(blocks of the start, [(event, what, block)])."""
    live, start, changes = {}, [], []
    for i, event in enumerate(snapshot["device_traces"][device]):
        what, address = event["action"], event["addr"] if "addr" in event else None
        if what == "alloc":
            live[address] = Block(event["size"], event["stream"], stack_of(event), i + 1)
            changes.append((i, "alloc", live[address]))
        elif what in ("free_requested", "free_completed"):
            if address not in live:
                live[address] = Block(event["size"], event["stream"], None, 0)
                live[address].address = address
                if what == "free_completed":
                    live[address].let_go = 0
                start.append(live[address])
            if what == "free_completed":
                changes.append((i, "free", live.pop(address)))
            else:
                live[address].let_go = i + 1
                changes.append((i, "let go", live[address]))
    for segment in snapshot["segments"]:
        address = segment["address"]
        for block in segment["blocks"] if segment["device"] == device else []:
            at = block.get("address", address)
            if block["state"] != "inactive" and at not in live:
                known = Block(requested_of(block), segment["stream"], tuple(
                    (f["name"], f["filename"], f["line"]) for f in frames_of(block)) or None, 0)
                known.address, known.let_go = at, None if block["state"] == "active_allocated" else 0
                start.append(known)
            address += block["size"]
    return start, changes


def pair(incoming, outgoing, order):
    """{block of incoming: the one of outgoing that corresponds to it}; takes both out of where they were."""
    pairs = {}
    for way in ("request", "place", "bytes"):
        def key(block, state, way=way):
            what = {"request": (block.stack, block.requested), "place": block.stack, "bytes": block.requested}[way]
            return what, block.stream, block.is_small, state
        waiting = collections.defaultdict(list)
        for block in sorted(outgoing, key=lambda b: (b.born, order[b])):
            waiting[key(block, outgoing[block])].append(block)
        for block in sorted(incoming, key=lambda b: (b.born, order[b])):
            fits = waiting[key(block, incoming[block])]
            is_open = way == "request" or (way == "place") == (block.stack is not None)
            if fits and is_open:
                pairs[block] = fits.pop(0)
        for block, other in pairs.items():
            incoming.pop(block, None)
            outgoing.pop(other, None)
    return pairs


def correspondences(changes, first, before, end):
    """All changes: {block freed in the step: block of the turn before that takes its place}, and what is left over: what
    piles up, since the step from event `before` on left such a block that is there at the end; what else; frees."""
    made_before = [b for i, what, b in changes if before is not None and before <= i < first and what == "alloc"]
    gone = {b for i, what, b in changes if what in ("let go", "free") and i < end}
    changes = [c for c in changes if first <= c[0] < end]
    incoming, outgoing, order = {}, {}, {}
    for _, what, block in changes:
        order.setdefault(block, len(order))
        if what == "alloc":
            outgoing[block] = ALIVE
            continue
        if block not in outgoing and block not in incoming:
            incoming[block] = PENDING if block.let_go is not None and block.let_go <= first else ALIVE
        outgoing.pop(block, None)
        if what == "let go":
            outgoing[block] = PENDING
    pairs = pair(incoming, outgoing, order)
    witnesses = {b: ALIVE for b in made_before if b not in gone}
    order.update((b, i) for i, b in enumerate(made_before))
    piles = list(pair(witnesses, outgoing, order).values())
    return pairs, piles, list(outgoing), list(incoming)


class Run:
    def __init__(self, start):
        self.model, self.block_of = Allocator(Settings(), CAPACITY), {}
        self.peaks = [0, 0]
        for block in sorted(start, key=lambda b: (b.stream & ((1 << 64) - 1), b.address)):
            self.alloc(block)
            if block.let_go == 0:
                self.model.free_requested(self.block_of[block])

    def allocated(self):
        return self.model.stats["allocated_bytes"]["all"].current

    def alloc(self, block):
        self.block_of[block] = self.model.malloc(block.requested, block.stream)
        self.peaks = [max(self.peaks[0], self.allocated()), max(self.peaks[1], self.model.total)]

    def play(self, changes):
        """A part; its row: peaks of allocated and reserved, allocated at its end."""
        self.peaks = [self.allocated(), self.model.total]
        for _, what, block in changes:
            if what == "alloc":
                old = self.block_of.get(block)
                self.alloc(block)
                if old is not None:  # of the turn before, which nothing else took the place of
                    self.model.free_requested(old)
                    self.model.free_completed(old)
                continue
            held = self.block_of.get(block)
            if held is None:
                continue
            if what == "let go":
                self.model.free_requested(held)
            else:
                if held.allocated:
                    self.model.free_requested(held)
                self.model.free_completed(held)
                self.block_of[block] = None
        return self.peaks + [self.allocated()]

    def next_turn(self, pairs, kept):
        taken = {block: self.block_of.get(other) for block, other in pairs.items()}
        for block in list(pairs.values()) + kept:
            self.block_of[block] = None
        self.block_of.update(taken)


def is_plain(snapshot, device):
    """What the naive program can follow: the default pools, nothing given back, no failure, no missing frees."""
    trace = snapshot["device_traces"][device]
    pools = [tuple(s.get("segment_pool_id", (0, 0))) for s in snapshot["segments"]]
    odd = {"oom", "segment_free", "segment_unmap", "segment_map"}
    return len(trace) <= MOST_EVENTS and all(p == (0, 0) for p in pools) and not any(e["action"] in odd for e in trace)


def check(path, snapshot, totals):
    code, plain = replay(path, *DEFAULTS, "--steps", "1")
    if code == 3:
        totals["without steps"] += 1
        return
    if sum(1 for t in snapshot["device_traces"] if t) > 1:
        totals["several devices"] += 1
        return
    found = plain["devices"][0]["repetition"]
    assert (found["members"], found["steps"], found["turns"]) == (1, 1, 0), found
    recorded = replay(path, "--members", "1")[1]["devices"][0]
    unchanged = replay(path)[1]["devices"][0]
    for key in ("memory_stats", "peak_reserved_bytes", "allocs"):
        assert recorded[key] == unchanged[key], f"as many steps as recorded, but other {key}"
    steps = recorded["repetition"]["steps"]
    device = recorded["device"]
    if not is_plain(snapshot, device):
        totals["not plain"] += 1
        return
    members, each = 2, steps + 2
    options = (*DEFAULTS, "--members", str(members), "--steps", str(each))
    told = replay(path, *options)[1]["devices"][0]
    repetition, listed, table = told["repetition"], rows(path, *DEFAULTS), rows(path, *options)
    turns, first, end = repetition["turns"], repetition["first_event"], repetition["last_event"] + 1
    assert (repetition["recorded_steps"], turns) == (steps, members * each - steps)
    start, changes = read(snapshot, device)
    step = [c for c in changes if first <= c[0] < end]
    pairs, kept, rest, open_frees = correspondences(changes, first, repetition["compared_from_event"], end)
    assert repetition["kept_blocks"] == len(kept), (repetition["kept_blocks"], len(kept))
    assert repetition["once_blocks"] + repetition["replaced_blocks"] == len(rest), (repetition, len(rest))
    assert repetition["once_bytes"] + repetition["replaced_bytes"] == sum(b.requested for b in rest)
    assert repetition["growth_is_assumed"] == (steps == 1 and bool(rest))
    if not kept:
        ends = [float(row["current_GB"]) for row in table[-turns - 1:-1]]  # remainders that are not split off differ
        assert max(ends) <= 1.01 * min(ends) + 0.003, f"nothing piles up, but steps end with {ends}"
    if repetition["once_blocks"]:  # what a role says is not recomputed here
        totals["made once"] += repetition["once_blocks"]
        return
    assert repetition["kept_bytes"] == sum(b.requested for b in kept)
    assert repetition["frees_not_repeated"] == len(open_frees), (repetition["frees_not_repeated"], len(open_frees))
    run = Run(start)
    before = run.play([c for c in changes if c[0] < first])
    expected = [run.play(step)]
    for _ in range(turns):
        run.next_turn(pairs, kept)
        expected.append(run.play(step))
    expected.append(run.play([c for c in changes if c[0] >= end]))
    assert [r["step"] for r in table] == ["init"] + [str(i + 1) for _ in range(members) for i in range(each)] + ["final"]
    assert [r["member"] for r in table[1:-1]] == [str(m + 1) for m in range(members) for _ in range(each)]
    for row, values in zip(table[-len(expected):], expected):
        assert [row["allocated_GB"], row["reserved_GB"], row["current_GB"]] == [gib(v) for v in values], (row, values)
    values = ("allocated_GB", "reserved_GB", "current_GB")
    assert [[r[v] for v in values] for r in table[:steps + 1]] == [[r[v] for v in values] for r in listed[:steps + 1]]
    assert told["peak_allocated_bytes"] == max(v[0] for v in expected + [before]) or steps > 1
    for kind in ("allocated_bytes", "reserved_bytes", "requested_bytes"):
        for pool in ("all", "small_pool", "large_pool"):
            stat = run.model.stats[kind][pool]
            found = told["memory_stats"]
            assert (found[f"{kind}.{pool}.current"], found[f"{kind}.{pool}.peak"]) == (stat.current, stat.peak), (
                kind, pool, stat.values())
    assert told["allocs"] == len(start) + sum(c[1] == "alloc" for c in changes) + turns * sum(
        c[1] == "alloc" for c in step)
    totals["recomputed"] += 1
    totals["turns"] += turns
    totals["carried"] += len(pairs)
    totals["kept"] += len(kept)


def main():
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        print("skipped: no gmreplay to test")
        sys.exit(SKIPPED)
    totals, bad = collections.Counter(), 0
    for path, snapshot in snapshots():
        if not any(snapshot.get("device_traces", [])):
            continue
        try:
            check(path, snapshot, totals)
        except AssertionError as error:
            bad += 1
            print(f"{path.name}: {error}")
    print(", ".join(f"{v} {k}" for k, v in totals.items()) + f", {bad} complaints")
    sys.exit(1 if bad or not totals["recomputed"] else 0)


main()
