# SPDX-License-Identifier: Apache-2.0
"""beside.py on made recordings: what it counts as equal, where one begins or ends elsewhere, and what it refuses."""
import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

BESIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "beside.py")
MIB = 1 << 20


class Made:
    """A recording on one device: each block has a segment of its own, at `base` and on."""

    def __init__(self, base=1 << 32, before=0):
        self.events, self.live, self.base = [], {}, base
        self.add(before, recorded=not before) if before else None

    def event(self, action, address, size):
        frames = [{"filename": "/home/x/model.py", "name": "forward", "line": len(self.events)}]
        self.events.append({"action": action, "addr": address, "size": size, "frames": frames})

    def add(self, size, recorded=True):
        address = self.base + 64 * MIB * len(self.live)
        while address in self.live:
            address += 64 * MIB
        self.live[address] = size
        if recorded:
            self.event("segment_alloc", address, 32 * MIB)
            self.event("alloc", address, size)
        return address

    def drop(self, address):
        size = self.live.pop(address)
        self.event("free_requested", address, size)
        self.event("free_completed", address, size)
        self.event("segment_free", address, 32 * MIB)

    def snapshot(self):
        segments = [{"device": 0, "address": a, "total_size": 32 * MIB,
                     "blocks": [{"address": a, "size": s, "requested_size": s, "state": "active_allocated"}]}
                    for a, s in self.live.items()]
        return {"segments": segments, "device_traces": [self.events]}


def program(made, sizes):
    for size in sizes:
        a, b = made.add(size), made.add(2 * size)
        made.drop(a)
        made.drop(b)
    return made


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


class Beside(unittest.TestCase):
    def run_it(self, real, dry, *options):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("real.pickle", "dry.pickle")]
            for path, snapshot in zip(paths, (real, dry)):
                with open(path, "wb") as file:
                    pickle.dump(snapshot, file)
            said = os.path.join(folder, "said.json")
            done = subprocess.run([sys.executable, "-B", BESIDE, "--json", said, *options, *paths], text=True,
                                  capture_output=True)
            result = None
            if os.path.exists(said):
                with open(said) as file:
                    result = json.load(file)
        return done, result

    def test_the_same_elsewhere(self):
        sizes = range(1000, 1100)
        done, said = self.run_it(program(Made(), sizes).snapshot(), program(Made(base=1 << 40), sizes).snapshot())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(said["events"], [1000, 1000, 1000])
        self.assertEqual(said["allocations"], [200, 200, 200])
        self.assertEqual(said["places"], [200, 200])
        self.assertEqual(said["stacks"], [1000, 1000])
        self.assertEqual(said["peak"], [3 * 1099] * 2)
        self.assertEqual(said["peak_reserved"], [64 * MIB] * 2)
        self.assertIn("| 1,000 of 1,000 | 200 of 200 | 200 of 200 | 3,297 | +0 | +0 |", done.stdout)

    def test_one_size_differs(self):
        sizes = list(range(1000, 1100))
        other = sizes[:50] + [5000] + sizes[51:]
        done, said = self.run_it(program(Made(), sizes).snapshot(), program(Made(), other).snapshot())
        self.assertEqual(done.returncode, 1)
        self.assertEqual(said["events"], [994, 1000, 1000])
        self.assertEqual(said["allocations"], [198, 200, 200])
        self.assertEqual(len(said["differences"]), 12)
        self.assertEqual(said["peak"], [3 * 1099, 15000])
        self.assertIn("alloc 1,050  forward model.py:501", done.stdout)

    def test_what_was_there_before(self):
        real, dry = (program(Made(before=n), range(1000, 1100)).snapshot() for n in (7 * MIB, 5 * MIB))
        done, said = self.run_it(real, dry)
        self.assertEqual(done.returncode, 0)  # of the events
        self.assertEqual(said["live_before"], [7 * MIB, 5 * MIB])
        self.assertEqual(said["peak"], [7 * MIB + 3297, 5 * MIB + 3297])

    def test_begins_and_ends_elsewhere(self):
        long = program(Made(), list(range(500, 600)) + list(range(1000, 1100)) + list(range(2000, 2010))).snapshot()
        short = program(Made(), range(1000, 1100)).snapshot()
        for real, dry, before, after in ((short, long, [0, 1000], [0, 100]), (long, short, [1000, 0], [100, 0])):
            done, said = self.run_it(real, dry)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual((said["before"], said["after"]), (before, after))
            self.assertEqual(said["events"], [1000, 1000, 1000])
            self.assertEqual(said["peak"], [3297, 3297])

    def test_order(self):
        made = [Made(), Made()]
        for recording, order in zip(made, ((0, 1), (1, 0))):
            program(recording, range(1000, 1050))
            blocks = [recording.add(3000), recording.add(4000)]
            for i in order:
                recording.drop(blocks[i])
            program(recording, range(1050, 1100))
        done, said = self.run_it(*(m.snapshot() for m in made))
        self.assertEqual(done.returncode, 1)
        self.assertIs(said["same_set"], True)
        self.assertIn(", order |", done.stdout)

    def test_far_apart(self):
        """More differences than one search looks for: it goes on from where it got."""
        a = program(Made(), [1000 + i % 7 for i in range(1200)]).snapshot()
        b = program(Made(), [1000 + i % 5 for i in range(1200)]).snapshot()
        done, said = self.run_it(a, b)
        self.assertEqual(done.returncode, 1)
        equal = said["events"][0]
        self.assertTrue(2400 < equal < 12000, equal)
        self.assertEqual(len(said["differences"]), sum(said["events"][1:]) - 2 * equal)

    def test_refuses(self):
        done, _ = self.run_it(Evil(), program(Made(), [1]).snapshot())
        self.assertEqual(done.returncode, 3)
        self.assertIn("asks for", done.stderr)


if __name__ == "__main__":
    unittest.main()
