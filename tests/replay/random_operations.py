# SPDX-License-Identifier: Apache-2.0
"""Random settings and random operations for the naive allocator."""
from reference_allocator import MIB, Settings


def random_settings(rng, extras=False):
    """Settings for the naive model, and the same as text. extras: also those that no trace shows."""
    given, words = {"ties": rng.choice(["lowest", "block", "segment"])}, []
    if rng.random() < 0.2:
        given["large_segment"] = rng.choice([11, 12, 20, 32, 64]) * MIB
        words.append(f"large_segment_size_mb:{given['large_segment'] // MIB}")
    least = given.get("large_segment", 20 * MIB) // MIB
    if rng.random() < 0.4:
        given["expandable"] = True
        words.append("expandable_segments:True")
    if rng.random() < 0.35:
        mib = rng.choice([least, least + 1, least + 5, least + 30])
        given["max_split"] = mib * MIB
        words.append(f"max_split_size_mb:{mib}")
    if rng.random() < 0.2:
        mib = rng.choice([least, least + 4, least + 40])
        given["max_non_split"] = mib * MIB
        words.append(f"max_non_split_rounding_mb:{mib}")
    if rng.random() < 0.3:
        d = rng.choice([1, 2, 4, 8, 16])
        given["divisions"] = [d] * 16
        words.append(f"roundup_power2_divisions:{d}")
    elif rng.random() < 0.2:
        given["divisions"] = [4] * 3 + [0, 2, 0] + [8] * 10
        words.append("roundup_power2_divisions:[4:4,16:2,32:1,>:8]")
    if rng.random() < 0.4:
        given["fraction"] = rng.choice([0.5, 0.75, 0.9])
        words.append(f"per_process_memory_fraction:{given['fraction']}")
        if rng.random() < 0.7:
            given["gc"] = rng.choice([0.25, 0.5, 0.8])
            words.append(f"garbage_collection_threshold:{given['gc']}")
        if extras and rng.random() < 0.4:
            words.append("throw_on_cudamalloc_oom:True")  # changes nothing
    elif extras and rng.random() < 0.2:
        given["rejects"] = True
        words.append("throw_on_cudamalloc_oom:True")
    if extras and rng.random() < 0.2 and "divisions" in given:
        mib = rng.choice([1, 3, 16])
        given["bypass"] = mib * MIB
        words.append(f"roundup_bypass_threshold_mb:{mib}")
    if given.get("expandable") and "max_split" not in given and rng.random() < 0.3:
        share = rng.choice([0.1, 0.3, 1.1])
        given["reserve"] = lambda total: int(share * total)
        words.append(f"expandable_segments_reserve:{share}")
    rng.shuffle(words)
    return Settings(**given), ",".join(words)


def random_size(rng):
    kind = rng.random()
    if kind < 0.35:
        return rng.choice([1, 511, 512, 513, 1000, 2049, 4096, 100000, rng.randrange(1, MIB), MIB, MIB + 1])
    if kind < 0.7:
        return rng.randrange(MIB, 12 * MIB)
    if kind < 0.95:
        return rng.choice([10 * MIB - 512, 10 * MIB - 511, 10 * MIB, 10 * MIB + 1, rng.randrange(10 * MIB, 60 * MIB)])
    return rng.randrange(50 * MIB, 300 * MIB)


def play(rng, model, operations, toggles=True):
    """Random operations on the naive model; the lines that tell them to the other one. model.operation counts them."""
    lines, live, pending, streams = [], {}, {}, rng.choice([[0], [0, 94219239492], [0, -5, 7]])
    pools = rng.choice([[0], [0], [0, 0, 3]])
    share = rng.choice([0.4, 0.5, 0.6])
    for i in range(operations):
        what, model.operation = rng.random(), i
        if what < share or not live:
            size, stream, pool = random_size(rng), rng.choice(streams), rng.choice(pools)
            lines.append(f"malloc {i} {size} {stream} {pool}")
            block = model.malloc(size, stream, pool)
            if block is not None:
                live[i] = block
        elif what < 0.97:
            key = rng.choice(list(live))
            block = live.pop(key)
            lines.append(f"request {key}")
            model.free_requested(block)
            if rng.random() < 0.8:
                lines.append(f"complete {key}")
                model.free_completed(block)
            else:
                pending[key] = block
        elif what < 0.985 and pending:
            key = rng.choice(list(pending))
            lines.append(f"complete {key}")
            block = pending.pop(key)
            if block.pending:
                model.free_completed(block)
        elif what < 0.995 or not toggles:
            lines.append("empty")
            model.operation = "empty_cache"
            model.empty_cache()
        else:
            model.s.expandable = not model.s.expandable
            lines.append(f"expandable {int(model.s.expandable)}")
        pending = {key: block for key, block in pending.items() if block.pending}
    return lines


def play_pools(rng, model, operations):
    """The same with private pools: of an allocator of their own, never split, used by nobody any more."""
    lines, live, marked = [], {}, set()
    streams, pools = rng.choice([[0, 7], [0, -5, 7]]), rng.choice([[0, 0, 0, 3], [0, 0, 3, 4]])
    share = rng.choice([0.4, 0.5])
    for i in range(operations):
        what, pool = rng.random(), rng.choice([3, 4])
        if what < share or not live:
            size, stream, home = random_size(rng), rng.choice(streams), rng.choice(pools)
            lines.append(f"malloc {i} {size} {stream} {home}")
            block = model.malloc(size, stream, home)
            if block is not None:
                live[i] = block
        elif what < 0.92:
            key = rng.choice(list(live))
            block = live.pop(key)
            lines.append(f"request {key}")
            model.free_requested(block)
            if rng.random() < 0.8:
                lines.append(f"complete {key}")
                model.free_completed(block)
        elif what < 0.96:
            is_freeable = rng.random() < 0.7
            lines.append(f"retire {pool} {int(is_freeable)}")
            model.set_freeable(pool, is_freeable)
        elif what < 0.97:
            lines.append(f"emptypool {pool}")
            model.empty_pool(pool)
        elif what < 0.98 and pool not in marked:
            marked.add(pool)
            mark = rng.choice(["custom", "whole"])
            lines.append(f"{mark} {pool}")
            model.mark(pool, mark)
        elif what < 0.99:
            lines.append("empty")
            model.empty_cache()
        else:
            model.s.expandable = not model.s.expandable
            lines.append(f"expandable {int(model.s.expandable)}")
    return lines
