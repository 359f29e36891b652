# SPDX-License-Identifier: Apache-2.0
"""A small model of PyTorch's caching allocator (default settings, no expandable segments), which records what a
memory snapshot records: enough to write snapshots whose segments, blocks and events agree with each other.

Rules: sizes are rounded up to 512 bytes; requests of at most 1 MiB are served by the small pool from segments of 2 MiB,
larger ones from segments of 20 MiB, from 10 MiB on of their own size rounded up to 2 MiB; the smallest free block of
the stream that fits is taken, the lowest address among equals; what is left over is split off (in the large pool only
if it is more than 1 MiB); freed neighbours merge; a block that another stream used is pending until that stream is done.
"""
import bisect

MIB = 1 << 20
PAGE = 2 * MIB


def round_size(n):
    return max(512, (n + 511) // 512 * 512)


def segment_size(rounded):
    if rounded <= MIB:
        return 2 * MIB
    if rounded < 10 * MIB:
        return 20 * MIB
    return (rounded + PAGE - 1) // PAGE * PAGE


class Block:
    def __init__(self, segment, address, size):
        self.segment, self.address, self.size = segment, address, size
        self.requested, self.state, self.frames = 0, "inactive", []
        self.before = self.after = None
        self.busy_until = None  # when the other streams are done with it


class Segment:
    def __init__(self, address, size, stream, kind):
        self.address, self.size, self.stream, self.kind = address, size, stream, kind
        self.first = Block(self, address, size)

    def blocks(self):
        block = self.first
        while block is not None:
            yield block
            block = block.after


class Allocator:
    def __init__(self, device, base, clock):
        self.device, self.next_address, self.clock = device, base, clock
        self.segments, self.trace, self.recording = [], [], False
        self.free_blocks = {"small": [], "large": []}  # sorted (stream, size, address, block)
        self.pending = []

    # ---- recording

    def record(self, action, address, size, stream, frames):
        if not self.recording:
            return
        event = {"action": action, "addr": address, "size": size, "stream": stream, "time_us": self.clock(),
                 "compile_context": "N/A", "user_metadata": ""}
        if frames:
            event["frames"] = frames
        self.trace.append(event)

    # ---- the pools

    def insert(self, block):
        bisect.insort(self.free_blocks[block.segment.kind],
                      (block.segment.stream, block.size, block.address, block))

    def remove(self, block):
        pool = self.free_blocks[block.segment.kind]
        del pool[bisect.bisect_left(pool, (block.segment.stream, block.size, block.address))]

    def find(self, kind, stream, rounded):
        pool = self.free_blocks[kind]
        i = bisect.bisect_left(pool, (stream, rounded, 0))
        return pool[i][3] if i < len(pool) and pool[i][0] == stream else None

    def grow(self, kind, stream, rounded, frames):
        size = segment_size(rounded)
        segment = Segment(self.next_address, size, stream, kind)
        self.next_address += size
        self.segments.append(segment)
        self.record("segment_alloc", segment.address, size, stream, frames)
        return segment.first

    # ---- the interface

    def alloc(self, requested, frames, stream=0):
        self.complete_pending()
        rounded = round_size(requested)
        kind = "small" if rounded <= MIB else "large"
        block = self.find(kind, stream, rounded)
        if block is None:
            block = self.grow(kind, stream, rounded, frames)
        else:
            self.remove(block)
        rest = block.size - rounded
        if rest >= 512 if kind == "small" else rest > MIB:
            tail = Block(block.segment, block.address + rounded, rest)
            tail.before, tail.after = block, block.after
            if block.after is not None:
                block.after.before = tail
            block.after, block.size = tail, rounded
            self.insert(tail)
        block.requested, block.state, block.busy_until = requested, "active_allocated", None
        block.frames = frames if self.recording else []
        self.record("alloc", block.address, requested, stream, frames)
        return block

    def free(self, block):
        assert block.state == "active_allocated"
        self.record("free_requested", block.address, block.requested, block.segment.stream, block.frames)
        if block.busy_until is None:
            self.complete(block)
        else:
            block.state = "active_pending_free"
            self.pending.append(block)

    def used_by_other_stream(self, block, until):
        block.busy_until = until

    def complete_pending(self):
        while self.pending and self.pending[0].busy_until <= self.clock.now:
            self.complete(self.pending.pop(0))

    def complete(self, block):
        self.record("free_completed", block.address, block.requested, block.segment.stream, block.frames)
        block.state, block.frames, block.busy_until = "inactive", [], None
        before, after = block.before, block.after
        if before is not None and before.state == "inactive":
            self.remove(before)
            before.size += block.size
            before.after = after
            if after is not None:
                after.before = before
            block = before
        if after is not None and after.state == "inactive":
            self.remove(after)
            block.size += after.size
            block.after = after.after
            if after.after is not None:
                after.after.before = block
        self.insert(block)

    def empty_cache(self):
        for segment in [s for s in self.segments if s.first.after is None and s.first.state == "inactive"]:
            self.remove(segment.first)
            self.segments.remove(segment)
            self.record("segment_free", segment.address, segment.size, segment.stream, [])

    # ---- the snapshot

    def snapshot_segments(self):
        rows = []
        for segment in sorted(self.segments, key=lambda s: s.address):
            blocks = list(segment.blocks())
            allocated = [b for b in blocks if b.state == "active_allocated"]
            active = [b for b in blocks if b.state != "inactive"]
            rows.append({
                "device": self.device, "address": segment.address, "total_size": segment.size,
                "allocated_size": sum(b.size for b in allocated), "active_size": sum(b.size for b in active),
                "requested_size": sum(b.requested for b in active), "stream": segment.stream,
                "segment_type": segment.kind, "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
                "blocks": [{"address": b.address, "size": b.size, "requested_size": b.requested, "state": b.state,
                            "frames": b.frames} for b in blocks]})
        return rows
