#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that are made to cost more than their size, and results that may not hang on how they are looked up."""
import os
import pathlib
import re
import subprocess

from harness import BINARY, MIB, Case, frame, main, unpacked, write

BASE = 1 << 40


def event(action, address, size, frames=(), **more):
    return {"action": action, "addr": address, "size": size, "stream": 0, "frames": list(frames), **more}


def block(address, size, frames):
    return {"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": frames}


def segment(address, size, blocks):
    return {"device": 0, "address": address, "total_size": size, "allocated_size": size, "active_size": size,
            "requested_size": size, "stream": 0, "segment_type": "large", "blocks": blocks}


class Hostile(Case):
    def outputs(self, path):
        """All that the programs write about a file, without dates and speeds."""
        folder, found = self.at("out"), {}
        subprocess.run(["rm", "-rf", folder], check=True)
        bin_folder = os.path.dirname(BINARY)
        for program, options in (("gmanalyze", ["-n", "x", "-o", folder, "--no-charts", "--csv-full", "--group", "stack",
                                                "--explain", "--export", "folded,speedscope,pprof,perfetto"]),
                                 ("gmreplay", ["--verify", "--json", "-", "-o", os.path.join(folder, "o.pickle")]),
                                 ("gmreplay", ["--sweep", "--json", "-"])):
            done = subprocess.run([os.path.join(bin_folder, program), *options, path], cwd=self.folder,
                                  capture_output=True)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            found[program + options[0]] = done.stdout
        for place, _, names in os.walk(folder):
            found.update({name: pathlib.Path(place, name).read_bytes() for name in names})
        dates = rb"\d{8}_\d{6}|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|\"events_per_second\": [\d.e+]+"
        return {name: re.sub(dates, b"", unpacked(data)) for name, data in found.items()}

    def test_same_under_any_key(self):
        """Each process hashes with a key of its own."""
        events, blocks = [], []
        for i in range(1500):
            stack = [frame(f"f{i % 701}", f"/app/part{i % 97}.py", i % 31), frame(f"g{i % 13}", "/app/main.py", i % 7)]
            address, size = BASE + i * MIB, 512 * (1 + i % 1009)
            events.append(event("alloc", address, size, stack, time_us=i))
            if i % 3 == 0:
                events += [event("free_requested", address, size, time_us=i), event("free_completed", address, size, time_us=i)]
            else:
                blocks.append(block(address, size, stack))
            if i % 400 == 0:
                events.append(event("oom", 0, 40 * MIB, stack, device_free=0))
        path = write(self.at("many.pickle"), {"segments": [segment(BASE, 1500 * MIB, blocks)], "device_traces": [events]})
        first, second = self.outputs(path), self.outputs(path)
        self.assertGreater(len(first), 8)
        self.assertEqual([name for name in first if first[name] != second.get(name)], [])

    def test_long_names(self):
        """A name of a megabyte is said once and meant by two thousand frames."""
        name = "forward" + "x" * MIB
        path = "/app/" + "y" * MIB + ".py"
        stacks = [[frame(name, path, line)] for line in range(2000)]
        blocks = [block(BASE + 512 * i, 512, stack) for i, stack in enumerate(stacks)]
        events = [event("alloc", BASE + 512 * i, 512, stack) for i, stack in enumerate(stacks)]
        snapshot = write(self.at("long.pickle"), {"segments": [segment(BASE, 2000 * 512, blocks)], "device_traces": [events]})
        self.assertLess(os.path.getsize(snapshot), 3 * MIB)
        self.assertLess(sum(map(len, self.outputs(snapshot).values())), 100 * MIB)


main()
