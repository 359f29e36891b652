# SPDX-License-Identifier: Apache-2.0
"""The model in C beside a naive one in Python, on random operations under random settings: the same events, addresses
alike, the same statistics. usage: check_reference.py RUN_ALLOCATOR [ROUNDS [SEED]]"""
import random
import subprocess
import sys

from random_operations import play, play_pools, random_settings
from reference_allocator import FIRST_RESERVATION, FIRST_SEGMENT, MIB, Allocator


MARKS = {"lowest": "", "block": "*", "segment": "+"}


def normal(action, address, size, stream, segments, reservations):
    """An event with its address counted from where segments or reservations begin."""
    address, size = int(address), int(size)
    if action != "oom":
        address = ("r", address - reservations) if address >= reservations else ("s", address - segments)
    return action, address, size, int(stream)


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 120
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    wrong, events, seen = 0, 0, {}
    for seed in range(first, first + rounds):
        rng = random.Random(seed)
        has_pools = seed % 2 == 0
        settings, text = random_settings(rng, has_pools)
        capacity = rng.choice([200, 400, 1000, 4000]) * MIB + rng.choice([0, 12345])
        model = Allocator(settings, capacity)
        lines = (play_pools if has_pools else play)(rng, model, rng.choice([60, 300, 700]))
        done = subprocess.run([sys.argv[1]], input=f"settings {MARKS[settings.ties]}{text}\ncapacity {capacity}\n" + "\n".join(lines) + "\n",
                              capture_output=True, text=True, check=False)
        printed = done.stdout.splitlines()
        theirs = [line for line in printed if line.split()[0].split(".")[0] in
                  ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
                   "segment_unmap", "oom")]
        ours = [normal(*e, FIRST_SEGMENT, FIRST_RESERVATION) for e in model.events]
        found = [normal(*line.split(), 0x7F << 40, (0x7F << 40) + (1 << 50)) for line in theirs]
        stats = printed[len(theirs):]
        events += len(ours)
        for e in ours:
            seen[e[0]] = seen.get(e[0], 0) + 1
        if done.returncode == 0 and ours == found and stats == model.statistics() + model.newer_statistics():
            continue
        wrong += 1
        at = next((i for i, pair in enumerate(zip(ours, found)) if pair[0] != pair[1]), min(len(ours), len(found)))
        print(f"seed {seed}, '{text}', {capacity} bytes: exit {done.returncode}, {len(ours)} and {len(found)} events, "
              f"the first difference is event {at}: should be {ours[at:at + 1]}, is {found[at:at + 1]}")
        for should, is_ in zip(model.statistics() + model.newer_statistics(), stats):
            if should != is_:
                print(f"  {should}, is {is_}")
                break
    print(f"{rounds} sequences, {events} events {seen}, {wrong} wrong")
    sys.exit(1 if wrong or len(seen) < 8 and rounds >= 60 else 0)


main()
