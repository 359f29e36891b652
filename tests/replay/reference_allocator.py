# SPDX-License-Identifier: Apache-2.0
"""A naive model of PyTorch's native caching allocator, as a second opinion on the one in C: plain lists that are sorted
when they are searched, unmapped memory as blocks of its own, no cleverness. Written from the description of the rules,
not from the C.

It records events (action, address, size, stream handle) and the counters of memory_stats()."""

MIB = 1 << 20
UNLIMITED = (1 << 64) - 1
FIRST_SEGMENT, FIRST_RESERVATION = 1 << 44, 1 << 56
KINDS = ("all", "small_pool", "large_pool")


def up(n, to):
    return -(-n // to) * to


def unsigned(stream):
    return stream & ((1 << 64) - 1)


class Settings:
    def __init__(self, **given):
        self.max_split = given.get("max_split", UNLIMITED)
        self.large_segment = given.get("large_segment", 20 * MIB)
        self.max_non_split = given.get("max_non_split", self.large_segment)
        self.divisions = given.get("divisions", [0] * 16)
        self.gc = given.get("gc", 0.0)
        self.fraction = given.get("fraction", 1.0)
        self.expandable = given.get("expandable", False)
        self.bypass = given.get("bypass", UNLIMITED)
        self.ties = given.get("ties", "lowest")  # "block": of 2.12; "segment": of 2.13 and later
        self.rejects = given.get("rejects", False)
        self.reserve = given.get("reserve", lambda total: None)

    def round(self, n):
        if n < 512:
            return 512
        if n > self.bypass:
            return up(n, 512)
        power = n.bit_length() - 1
        d = self.divisions[min(max(power - 20, 0), 15)]
        if d > 1 and n > 512 * d:
            if n == 1 << power:
                return n
            return up(n, (1 << power) // d)
        return up(n, 512)

    def segment(self, rounded):
        if rounded <= MIB:
            return 2 * MIB
        if rounded < 10 * MIB:
            return self.large_segment
        return up(rounded, 2 * MIB)


class Stat:
    def __init__(self):
        self.current = self.peak = self.allocated = self.freed = 0

    def add(self, amount):
        self.current += amount
        if amount > 0:
            self.allocated += amount
        else:
            self.freed -= amount
        self.peak = max(self.peak, self.current)

    def values(self):
        return [self.current, self.peak, self.allocated, self.freed]


class Block:
    def __init__(self, pool, stream, address, size, mapped=True, expandable=False, age=0):
        self.pool, self.stream, self.address, self.size = pool, stream, address, size
        self.mapped, self.expandable = mapped, expandable
        self.allocated = self.pending = False
        self.prev = self.next = None
        self.requested, self.gc_base, self.age = 0, 0, age

    def is_free(self):
        return not self.allocated and not self.pending

    def is_split(self):
        return self.prev is not None or self.next is not None


class Pool:
    def __init__(self, pool_id, small, by_age):
        self.id, self.small, self.searches, self.by_age = pool_id, small, 0, by_age
        self.free, self.unmapped = [], []

    def ordered(self):
        return sorted(self.free, key=lambda b: (unsigned(b.stream), b.size, b.age if self.by_age else 0,
                                                b.address))

    def of_stream(self, stream):
        return [b for b in self.ordered() if b.stream == stream]


class Full(Exception):
    pass


class Rejected(Exception):
    """By throw_on_cudamalloc_oom: nothing else is tried, and nothing is told."""


class Device:
    """Bounded memory; segments at the lowest free place, reservations one after the other."""

    def __init__(self, capacity):
        self.capacity, self.used, self.segments, self.next_reservation = capacity, 0, [], FIRST_RESERVATION

    def take(self, size):
        if self.used + size > self.capacity:
            raise Full
        self.used += size

    def malloc(self, size):
        self.take(size)
        length = up(size, 2 * MIB)
        at = self.place(length)
        self.segments.append((at, length))
        return at

    def place(self, length):
        at = FIRST_SEGMENT
        for address, other in sorted(self.segments):
            if address - at >= length:
                break
            at = address + other
        return at

    def free(self, address, size):
        self.used -= size
        self.segments.remove((address, up(size, 2 * MIB)))

    def reserve(self, page, most):
        usual = self.capacity + self.capacity // 8
        size = up(usual if most is None else min(most, usual), page)
        address = self.next_reservation
        self.next_reservation += up(size, 2 * MIB) + 2 * MIB
        return address, size


class Allocator:
    def __init__(self, settings, capacity):
        self.s, self.device = settings, Device(capacity)
        self.pools, self.pending, self.live, self.events, self.total = [], [], [], [], 0
        self.limit = int(settings.fraction * capacity) if settings.fraction < 1 else UNLIMITED
        self.stats = {name: {kind: Stat() for kind in KINDS} for name in (
            "allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
            "inactive_split_bytes", "requested_bytes")}
        self.oversize_allocations, self.oversize_segments = Stat(), Stat()
        self.counts = dict.fromkeys(("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc",
                                     "num_device_free"), 0)
        self.max_split_then = -1 if settings.max_split == UNLIMITED else settings.max_split
        self.ages = 0  # of the newest segment or reservation
        self.marks, self.freeable, self.reserved = {}, set(), {}

    # ---- small things

    def event(self, action, address, size, stream, pool=None):
        self.events.append((action, address, size, stream))
        if pool is not None and pool.id != 0:
            change = {"segment_alloc": size, "segment_map": size, "segment_free": -size, "segment_unmap": -size}
            self.reserved[pool.id] = self.reserved.get(pool.id, 0) + change.get(action, 0)

    def count(self, name, pool, amount):
        self.stats[name]["all"].add(amount)
        self.stats[name]["small_pool" if pool.small else "large_pool"].add(amount)

    def pool(self, pool_id, small):
        for p in self.pools:
            if p.id == pool_id and p.small == small:
                return p
        self.pools.append(Pool(pool_id, small, self.s.ties != "lowest"))
        return self.pools[-1]

    def page(self, pool):
        return 2 * MIB if pool.small else self.s.large_segment

    def insert(self, block):
        block.gc_base = block.pool.searches
        block.pool.free.append(block)

    def oversize(self, size):
        return size >= self.s.max_split

    def gc_is_on(self):
        return self.limit != UNLIMITED and self.s.gc > 0

    # ---- malloc

    def malloc(self, requested, stream, pool_id=0):
        try:
            return self.search(requested, stream, pool_id)
        except Rejected:
            return None

    def search(self, requested, stream, pool_id):
        rounded = self.s.round(requested)
        pool = self.pool(pool_id, rounded <= MIB)
        expands = self.s.expandable and not self.marked(pool, "custom")
        block = self.find(pool, stream, rounded, expands)
        if block is None:
            if self.gc_is_on():
                self.collect()
            block = self.obtain(pool, stream, rounded, False, expands)
        if block is None and self.release_available(pool, stream, rounded):
            block = self.obtain(pool, stream, rounded, False, expands)
        if block is None and (pool_id == 0 or self.s.ties == "segment"):
            self.release_cached()
            block = self.obtain(pool, stream, rounded, True, expands)
        if block is None:
            return self.fail(pool, stream, rounded)
        return self.hand_out(block, requested, rounded, expands)

    def fail(self, pool, stream, rounded):
        self.event("oom", self.device.capacity - self.device.used, rounded, stream, pool)
        self.counts["num_ooms"] += 1

    def new_age(self, parent):
        """Of an object that is made of a part of `parent`."""
        if self.s.ties != "block":
            return parent.age
        self.ages += 1
        return self.ages

    def is_over(self, size):
        return self.limit != UNLIMITED and self.total + size > self.limit

    def reach(self, block):
        after = block.next
        return block.size + (after.size if after is not None and not after.mapped else 0)

    def find(self, pool, stream, rounded, expands):
        if self.gc_is_on():
            pool.searches += 1
        fits = [b for b in pool.of_stream(stream) if b.size >= rounded]
        if not fits:
            return None
        at = 0
        if fits[0].expandable:
            if expands:
                while fits[at].expandable and at + 1 < len(fits) and self.reach(fits[at + 1]) < self.reach(fits[at]):
                    at += 1
            else:
                while at < len(fits) and fits[at].expandable:
                    at += 1
                if at == len(fits):
                    return None
        block = fits[at]
        if rounded < self.s.max_split <= block.size:
            return None
        if rounded >= self.s.max_split and block.size >= rounded + self.s.max_non_split:
            return None
        pool.free.remove(block)
        return block

    def obtain(self, pool, stream, rounded, is_retry, expands):
        size = self.s.segment(rounded)
        self.counts["num_alloc_retries"] += is_retry
        if self.is_over(size):
            return None
        if self.s.rejects and self.total + size > self.device.capacity:
            raise Rejected
        if expands:
            return self.grow(pool, stream, rounded)
        try:
            address = self.device.malloc(size)
        except Full:
            return None
        self.total += size
        self.counts["num_device_alloc"] += 1
        self.count("segment", pool, 1)
        self.count("reserved_bytes", pool, size)
        if self.oversize(size):
            self.oversize_segments.add(1)
        self.event("segment_alloc", address, size, stream, pool)
        self.ages += 1
        return Block(pool, stream, address, size, age=self.ages)

    def hand_out(self, block, requested, rounded, expands):
        pool, rest, was_split = block.pool, block.size - rounded, block.is_split()
        if self.marked(pool, "whole"):
            is_split = False
        elif pool.small or expands:
            is_split = rest >= 512
        else:
            is_split = rounded < self.s.max_split and rest > MIB
        if is_split:
            taken = Block(pool, block.stream, block.address, rounded, True, block.expandable, self.new_age(block))
            taken.prev, taken.next = block.prev, block
            if block.prev is not None:
                block.prev.next = taken
            block.prev, block.address, block.size = taken, block.address + rounded, rest
            self.insert(block)
            if not block.expandable:
                if was_split:
                    self.count("inactive_split_bytes", pool, -rounded)
                else:
                    self.count("inactive_split_bytes", pool, rest)
                    self.count("inactive_split", pool, 1)
            block = taken
        elif was_split and not block.expandable:
            self.count("inactive_split_bytes", pool, -block.size)
            self.count("inactive_split", pool, -1)
        block.allocated, block.requested = True, requested
        self.live.append(block)
        self.event("alloc", block.address, requested, block.stream, pool)
        self.count("allocation", pool, 1)
        self.count("allocated_bytes", pool, block.size)
        self.count("active", pool, 1)
        self.count("active_bytes", pool, block.size)
        self.count("requested_bytes", pool, requested)
        if self.oversize(block.size):
            self.oversize_allocations.add(1)
        return block

    # ---- free

    def free_requested(self, block):
        block.allocated, block.pending = False, True
        self.live.remove(block)
        self.event("free_requested", block.address, block.requested, block.stream, block.pool)
        self.count("allocation", block.pool, -1)
        self.count("allocated_bytes", block.pool, -block.size)
        if self.oversize(block.size):
            self.oversize_allocations.add(-1)
        self.pending.append(block)

    def free_completed(self, block):
        pool, size, merges, absorbed = block.pool, block.size, 0, 0
        self.pending.remove(block)
        block.pending = False
        self.event("free_completed", block.address, block.requested, block.stream, pool)
        self.count("requested_bytes", pool, -block.requested)
        for other in (block.prev, block.next):
            if other is not None and other.is_free() and other.mapped:
                pool.free.remove(other)
                merges, absorbed = merges + 1, absorbed + other.size
                self.absorb(block, other)
        self.insert(block)
        self.count("active", pool, -1)
        self.count("active_bytes", pool, -size)
        if not block.expandable:
            split = block.is_split()
            self.count("inactive_split", pool, int(split) - merges)
            self.count("inactive_split_bytes", pool, (block.size if split else 0) - absorbed)

    # ---- private pools

    def marked(self, pool, mark):
        return self.marks.get(pool.id) == mark

    def both(self, pool_id):
        return self.pool(pool_id, True), self.pool(pool_id, False)

    def mark(self, pool_id, mark):
        self.both(pool_id)
        self.marks[pool_id] = mark

    def set_freeable(self, pool_id, is_freeable):
        self.both(pool_id)
        (self.freeable.add if is_freeable else self.freeable.discard)(pool_id)

    def empty_pool(self, pool_id):
        if pool_id in self.freeable:
            self.counts["num_sync_all_streams"] += 1
            for block in [b for b in self.pending if b.pool.id == pool_id]:
                self.free_completed(block)
            for pool in self.both(pool_id):
                self.release_blocks(pool)

    def absorb(self, block, other):
        if other is block.prev:
            block.prev, block.address = other.prev, other.address
            if block.prev is not None:
                block.prev.next = block
        else:
            block.next = other.next
            if block.next is not None:
                block.next.prev = block
        block.size += other.size

    # ---- giving back

    def empty_cache(self):
        self.release_cached()

    def release_cached(self):
        self.counts["num_sync_all_streams"] += 1
        for block in list(self.pending):
            self.free_completed(block)
        for small in (False, True):
            self.release_blocks(self.pool(0, small))
        for pool_id in dict.fromkeys(p.id for p in self.pools):
            if pool_id in self.freeable:
                for pool in self.both(pool_id):
                    self.release_blocks(pool)

    def release_blocks(self, pool):
        expandable = []
        for block in pool.ordered():
            if block.expandable:
                expandable.append(block)
            elif not block.is_split():
                self.release(block)
        for block in expandable:
            self.unmap(block)

    def release(self, block):
        pool = block.pool
        self.event("segment_free", block.address, block.size, block.stream, pool)
        pool.free.remove(block)
        self.device.free(block.address, block.size)
        self.total -= block.size
        self.counts["num_device_free"] += 1
        self.count("segment", pool, -1)
        self.count("reserved_bytes", pool, -block.size)
        if self.oversize(block.size):
            self.oversize_segments.add(-1)

    def release_available(self, pool, stream, rounded):
        if self.s.max_split == UNLIMITED:
            return False
        key, free = max(rounded, self.s.max_split), pool.of_stream(stream)
        enough = [b for b in free if b.size >= key]
        if enough and not enough[0].expandable and not enough[0].is_split():
            self.release(enough[0])
            return True
        released = 0
        for block in reversed(free):
            if released >= key or block.size < self.s.max_split:
                break
            if not block.expandable and not block.is_split():  # PyTorch expects no split ones here
                released += block.size
                self.release(block)
        return released >= key

    def collect(self):
        limit = int(self.s.gc * self.limit)
        if self.total <= limit:
            return
        target, reclaimed, pool = self.total - limit, 0, self.pool(0, False)
        whole = [b for b in pool.free if not b.is_split()]
        total_age, count, freed = sum(pool.searches - b.gc_base for b in whole), len(whole), True
        while reclaimed < target and freed and count > 0:
            cut, freed = total_age / count, False
            for block in pool.ordered():
                age = pool.searches - block.gc_base
                if not block.is_split() and not block.expandable and age >= cut:
                    freed, reclaimed = True, reclaimed + block.size
                    total_age, count = total_age - age, count - 1
                    self.release(block)

    # ---- expandable segments

    def grow(self, pool, stream, rounded):
        start = self.find_unmapped(pool, stream, rounded)
        if start is None:
            address, size = self.device.reserve(self.page(pool), self.s.reserve(self.device.capacity))
            self.ages += 1
            start = Block(pool, stream, address, size, False, True, self.ages)
            pool.unmapped.append(start)
            if size < rounded:
                return None
        if not start.mapped:
            start = self.map(start, min(start.size, rounded))
            if start is None:
                return None
        while start.size < rounded:
            start = self.map(start.next, min(rounded - start.size, start.next.size))
            if start is None:
                return None
        pool.free.remove(start)
        return start

    def find_unmapped(self, pool, stream, rounded):
        for block in sorted((b for b in pool.unmapped if b.stream == stream), key=lambda b: b.address):
            before = block.prev
            start = before if before is not None and before.mapped and before.is_free() else block
            room, at = 0, start
            while at is not None and at.is_free() and room < rounded:
                room, at = room + at.size, at.next
            if room >= rounded:
                return start
        return None

    def map(self, block, wanted):
        pool, size = block.pool, up(wanted, self.page(block.pool))
        try:
            self.device.take(size)
        except Full:
            return None
        pool.unmapped.remove(block)
        if size < block.size:
            rest = Block(pool, block.stream, block.address + size, block.size - size, False, True, self.new_age(block))
            rest.prev, rest.next = block, block.next
            if block.next is not None:
                block.next.prev = rest
            block.next, block.size = rest, size
            pool.unmapped.append(rest)
        address, block.mapped = block.address, True
        for other in (block.prev, block.next):
            if other is not None and other.mapped and other.is_free():
                pool.free.remove(other)
                self.absorb(block, other)
        self.insert(block)
        self.total += size
        self.counts["num_device_alloc"] += 1
        self.count("reserved_bytes", pool, size)
        self.event("segment_map", address, size, block.stream, pool)
        return block

    def unmap(self, block):
        pool, page = block.pool, self.page(block.pool)
        base = block
        while base.prev is not None:
            base = base.prev
        base = base.address
        start = base + up(block.address - base, page)
        end = base + (block.address + block.size - base) // page * page
        if start >= end:
            return
        pool.free.remove(block)
        for size, below in ((start - block.address, True), (block.address + block.size - end, False)):
            if size == 0:
                continue
            piece = Block(pool, block.stream, block.address if below else end, size, True, True, self.new_age(block))
            if below:
                piece.prev, piece.next = block.prev, block
                if block.prev is not None:
                    block.prev.next = piece
                block.prev, block.address = piece, start
            else:
                piece.prev, piece.next = block, block.next
                if block.next is not None:
                    block.next.prev = piece
                block.next = piece
            block.size -= size
            self.insert(piece)
        block.mapped = False
        size = block.size
        self.device.used -= size
        self.total -= size
        self.counts["num_device_free"] += 1
        self.count("reserved_bytes", pool, -size)
        self.event("segment_unmap", start, size, block.stream, pool)
        for other in (block.prev, block.next):
            if other is not None and not other.mapped:
                pool.unmapped.remove(other)
                self.absorb(block, other)
        if block.is_split():
            pool.unmapped.append(block)

    # ---- to compare

    def chains(self):
        """The blocks of every segment and reservation, in order of address."""
        heads = {}
        for block in self.pending + self.live + [b for p in self.pools for b in p.free + p.unmapped]:
            while block.prev is not None:
                block = block.prev
            heads[block.address] = block
        for _, block in sorted(heads.items()):
            chain = []
            while block is not None:
                chain.append(block)
                block = block.next
            yield chain

    def snapshot_segments(self):
        """As a memory snapshot lists them: of a reservation each range that is mapped."""
        rows = []
        for chain in self.chains():
            row = None
            for block in chain:
                if not block.mapped:
                    row = None
                    continue
                if row is None:
                    row = {"device": 0, "address": block.address, "total_size": 0, "stream": block.stream,
                           "segment_type": "small" if block.pool.small else "large",
                           "segment_pool_id": (0, block.pool.id), "is_expandable": block.expandable, "frames": [],
                           "blocks": []}
                    rows.append(row)
                row["total_size"] += block.size
                state = "active_allocated" if block.allocated else "active_pending_free" if block.pending else "inactive"
                row["blocks"].append({"address": block.address, "size": block.size,
                                      "requested_size": 0 if state == "inactive" else block.requested,
                                      "state": state, "frames": []})
        return rows

    def statistics(self):
        lines = [f"{name}.{kind} " + " ".join(map(str, stat.values()))
                 for name, kinds in self.stats.items() for kind, stat in kinds.items()]
        lines.append("oversize_allocations " + " ".join(map(str, self.oversize_allocations.values())))
        lines.append("oversize_segments " + " ".join(map(str, self.oversize_segments.values())))
        return lines + [f"{name} {value}" for name, value in self.counts.items()]

    def newer_statistics(self):
        """What only PyTorch 2.12 and later count."""
        lines = [f"max_split_size {self.max_split_then}"]
        return lines + [f"reserved_bytes_by_private_pools {key} {self.reserved[key]}"
                        for key in sorted(self.reserved) if self.reserved[key] > 0]
