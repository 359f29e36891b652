#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random runs of the small allocator model in tests/data, cut to the last events as a ring buffer cuts them. The model
knows the books after every event; what the program reconstructs from the cut trace and the segments must be the same.

Only one thing cannot be known: how much of a large block that lived before the cut and was freed after it was an
unsplit remainder, if the space above it was free again. There active bytes may be less by so much, never more.

usage: check_random.py GMANALYZE"""
import json
import os
import random
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(os.path.dirname(HERE), folder) for folder in ("data", "state")]
import caching_allocator as model  # noqa: E402
from snapshots import program, random_runs, timelines, with_curves  # noqa: E402

RUNS, STEPS = 40, 700


class Clock:
    def __init__(self):
        self.now = 1_700_000_000_000_000

    def __call__(self):
        self.now += 3
        return self.now


class Recorded(model.Allocator):
    """Notes the books after every event, and which blocks were in use."""

    def __init__(self, device, base, clock):
        super().__init__(device, base, clock)
        self.books, self.in_use = [], []

    def record(self, action, address, size, stream, frames):
        super().record(action, address, size, stream, frames)
        self.note(action, address)

    def note(self, action, address):
        # The model records an alloc when the block is in place, a free just before it changes the block's state.
        blocks = [b for s in self.segments for b in s.blocks()]
        active = [b for b in blocks if b.state != "inactive"]
        let_go = [b for b in active if b.state == "active_pending_free" or b.address == address]
        if action == "free_completed":
            active = [b for b in active if b.address != address]
        allocated = [b for b in active if b.state == "active_allocated"]
        if action == "free_requested":
            allocated = [b for b in allocated if b not in let_go]
        self.books.append((sum(b.requested for b in active), sum(b.size for b in allocated),
                           sum(b.size for b in active), sum(s.size for s in self.segments)))
        self.in_use.append([(b.size, model.round_size(b.requested)) for b in active])

    def empty_cache(self):
        for segment in list(self.segments):
            if segment.first.after is None and segment.first.state == "inactive":
                self.remove(segment.first)
                self.segments.remove(segment)
                self.record("segment_free", segment.address, segment.size, segment.stream, [])


def some_size(r):
    kind = r.random()
    if kind < 0.4:
        return r.randint(1, 4096)
    if kind < 0.6:
        return r.randint(4096, model.MIB)
    if kind < 0.9:
        return r.randint(model.MIB, 12 * model.MIB)
    return r.randint(12 * model.MIB, 60 * model.MIB)


def run(seed):
    r, clock = random.Random(seed), Clock()
    allocator = Recorded(0, 0x7F0000000000, clock)
    allocator.recording = True
    live, streams = [], [0] if r.random() < 0.5 else [0, 94000000000000]
    for _ in range(STEPS):
        if r.random() < 0.02:
            allocator.empty_cache()
        elif live and r.random() < 0.48 + len(live) / 1000:
            block = live.pop(r.randrange(len(live)))
            if r.random() < 0.2:
                allocator.used_by_other_stream(block, clock.now + r.randint(0, 60))
            allocator.free(block)
        else:
            live.append(allocator.alloc(some_size(r), [], r.choice(streams)))
    return allocator


def check(allocator, cut, binary, folder):
    snapshot = {"segments": allocator.snapshot_segments(), "device_traces": [allocator.trace[cut:]]}
    path = os.path.join(folder, "run.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(snapshot))
    analysis, rows = with_curves(binary, path, "--csv-full")
    books = timelines(analysis)[0]["books"]
    got = [list(books["at_start"].values())] + [levels for _, *levels in rows]
    wanted = [allocator.books[cut - 1] if cut > 0 else (0, 0, 0, 0)] + allocator.books[cut:]
    assert len(got) == len(wanted), (len(got), len(wanted))
    slack = sum(size - rounded for size, rounded in allocator.in_use[cut - 1]) if cut > 0 else 0
    exact = 0
    for i, (mine, true) in enumerate(zip(got, wanted)):
        assert mine[0] == true[0] and mine[3] == true[3], (cut, i, mine, true)
        for kind in (1, 2):
            assert true[kind] - slack <= mine[kind] <= true[kind], (cut, i, mine, true, slack)
        exact += mine == list(true)
    if cut == 0:
        assert exact == len(wanted)
    assert got[-1] == list(wanted[-1]), (got[-1], wanted[-1])
    residuals = [books[key] for key in ("residual_active_bytes", "residual_reserved_bytes", "worst_residual_bytes")]
    assert residuals == [0, 0, 0], books
    assert books["end_blocks_same"] == books["end_blocks"] and books["sizes_from_snapshot"] == 0, books
    contradictions = {d["id"] for d in books["disagreements"]} - {"free-without-alloc", "size-learnt"}
    assert not contradictions, contradictions
    return exact, len(wanted)


def main():
    exact = moments = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in random_runs(RUNS):
            allocator = run(seed)
            r = random.Random(seed)
            for cut in (0, r.randrange(len(allocator.trace)), len(allocator.trace) * 3 // 4):
                e, n = check(allocator, cut, program(), folder)
                exact, moments = exact + e, moments + n
    print(f"{len(random_runs(RUNS))} random runs, each whole and cut twice: books right at {moments} moments, to the byte at {exact}")


main()
