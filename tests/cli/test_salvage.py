# SPDX-License-Identifier: Apache-2.0
"""Salvage: a snapshot cut at every byte, in every protocol. What --salvage finds never shrinks as more bytes are there,
is everything in the end, and is always either a report or one error line with exit code 3."""
import json
import pickle

import harness


def snapshot(segments, events, devices):
    frames = [harness.frame("f", "x.py", 3)]
    block = {"address": 4096, "size": 1 << 20, "state": "inactive", "requested_size": 0, "frames": []}
    return {
        "segments": [{"device": 0, "address": 4096 + (i << 21), "total_size": 1 << 21, "blocks": [block] * (1 + i % 3)}
                     for i in range(segments)],
        "device_traces": [[{"action": "alloc", "addr": i, "size": 512, "stream": 0, "frames": frames}
                           for i in range(events)] for _ in range(devices)],
        "allocator_settings": {"a": 1, "b": {"1": 2}},
        "external_annotations": [{"name": "x", "stage": "START", "device": 0, "time_us": 5}] * 2,
    }


class Salvage(harness.Case):
    def found(self, data):
        """(segments, events) that a report on `data` counts; (0, 0) if there is none."""
        with open(self.at("cut.pickle"), "wb") as file:
            file.write(data)
        done = self.run_it("-q", "--no-charts", "--salvage", "--json", "-", "cut.pickle", code=None)
        self.assertIn(done.returncode, (0, 3))
        if done.returncode == 3:
            self.assertEqual(done.stderr.count(b"\n"), 1)
            return 0, 0
        counted = json.loads(done.stdout)["snapshot"]
        return counted["segments"], counted["events"]

    def test_every_cut(self):
        for shape, protocols in (((1, 3, 1), (0, 4)), ((3, 2, 2), (2,))):
            for protocol in protocols:
                data = pickle.dumps(snapshot(*shape), protocol=protocol)
                best = 0, 0
                for length in range(1, len(data)):
                    now = self.found(data[:length])
                    self.assertGreaterEqual(now, best, f"protocol {protocol}, {length} bytes")
                    best = now
                self.assertEqual(best, (shape[0], shape[1] * shape[2]), f"protocol {protocol}")


if __name__ == "__main__":
    harness.main()
