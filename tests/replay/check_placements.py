# SPDX-License-Identifier: Apache-2.0
"""Where the driver puts segments: random programs on the naive allocator, recorded under some settings, then run under
others with segments in several places. What gmreplay says of the recording under those other settings is the truth for
the lowest places; the truth for the highest ones lies in its range; and where it gives no range all places come out alike.
usage: check_placements.py GMREPLAY [ROUNDS [SEED]]"""
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile

import random_operations
from random_operations import play, random_settings
from reference_allocator import FIRST_SEGMENT, MIB, Allocator, Device, up

TOP, PLENTY = FIRST_SEGMENT + (1 << 42), 1 << 50


class Highest(Device):
    def place(self, length):
        at = TOP
        for address, other in sorted(self.segments, reverse=True):
            if at - (address + other) >= length:
                break
            at = address
        return at - length


class Anywhere(Device):
    def __init__(self, capacity, seed):
        super().__init__(capacity)
        self.rng = random.Random(seed)

    def place(self, length):
        while True:
            at = FIRST_SEGMENT + self.rng.randrange(1 << 17) * 2 * MIB
            if all(at + length <= address or address + other <= at for address, other in self.segments):
                return at


class Program(Allocator):
    """Does not call empty_cache(): a call that gives nothing back leaves no trace, and might under other settings."""

    def __init__(self, settings, device):
        self.operation, self.trace = 0, []
        super().__init__(settings, PLENTY)
        self.device = device

    def event(self, action, address, size, stream, pool=None):
        super().event(action, address, size, stream)
        self.trace.append({"action": action, "addr": address, "size": size, "stream": stream,
                           "frames": [{"name": str(self.operation), "filename": "x.py", "line": 1}]})

    def empty_cache(self):
        pass


def settings(rng):
    while True:
        found, text = random_settings(rng)
        if found.ties == "lowest" and "fraction" not in text and "reserve" not in text:
            return found, text


def peak(seed, operations, under, device):
    model = Program(under, device)
    play(random.Random(seed), model, operations, toggles=False)
    return model, next(int(line.split()[2]) for line in model.statistics() if line.startswith("reserved_bytes.all "))


def replay(path, *options):
    done = subprocess.run([sys.argv[1], "--json", "-", *options, path], capture_output=True, check=False)
    if done.returncode > 1:
        raise AssertionError(done.stderr.decode())
    return json.loads(done.stdout)["devices"][0]


def few_sizes(rng):
    """So that there are many equal free blocks."""
    return rng.choice([1, 4, 6, 8, 12, 14, 20]) * MIB


def main():
    any_size = random_operations.random_size
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 150
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    wrong, sure, wide, inside, random_ones = 0, 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.pickle")
        for seed in range(first, first + rounds):
            rng = random.Random(seed)
            operations = rng.choice([60, 200, 500])
            random_operations.random_size = few_sizes if seed % 2 else any_size
            recorded, _ = peak(seed, operations, settings(rng)[0], Anywhere(PLENTY, seed))
            under, text = settings(rng)
            with open(path, "wb") as file:
                pickle.dump({"segments": recorded.snapshot_segments(), "device_traces": [recorded.trace]}, file)
            found = replay(path, "--torch", "2.10", "--alloc-conf", text, "--memory", "1024TiB")
            range_ = found["peak_reserved_range_bytes"]
            low = peak(seed, operations, under, Device(PLENTY))[1]
            others = [peak(seed, operations, under, Highest(PLENTY))[1]]
            others += [peak(seed, operations, under, Anywhere(PLENTY, 1000 * seed + i))[1] for i in range(3)]
            complaints = [] if found["peak_reserved_bytes"] == low else [f"{found['peak_reserved_bytes']}, should be {low}"]
            if range_ is None:
                sure += 1
                complaints += [f"no range, but {other}" for other in others if other != low]
            else:
                wide += range_[0] < range_[1]
                if not range_[0] <= others[0] <= range_[1] or not range_[0] <= low <= range_[1]:
                    complaints.append(f"{range_} does not hold {low} and {others[0]}")
                inside += sum(range_[0] <= other <= range_[1] for other in others[1:])
                random_ones += 3
            wrong += len(complaints)
            for complaint in complaints:
                print(f"seed {seed}, '{text}': {complaint}")
    print(f"{rounds} programs, {sure} that cannot come out otherwise, {wide} wide ranges; of {random_ones} random places "
          f"{inside} in the range; {wrong} wrong")
    sys.exit(1 if wrong or not sure or not wide or inside * 10 < random_ones * 8 else 0)


main()
