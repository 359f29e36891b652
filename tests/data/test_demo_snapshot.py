#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo snapshot is consistent, is the same on every run, and shows what a demo should show."""
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class Restricted(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"refused {module}.{name}")


def drop(trace, action):
    trace.remove(next(event for event in trace if event["action"] == action))


class DemoSnapshot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "demo.pickle")
        cls.make(cls.path)
        with open(cls.path, "rb") as file:
            cls.snapshot = Restricted(file).load()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @staticmethod
    def make(path, seed="0"):
        subprocess.run([sys.executable, "-B", os.path.join(HERE, "make_demo_snapshot.py"), path], check=True,
                       env=dict(os.environ, PYTHONHASHSEED=seed))

    def test_the_allocator_could_have_written_it(self):
        subprocess.run([sys.executable, "-B", os.path.join(HERE, "check_snapshot.py"), self.path], check=True,
                       stdout=subprocess.DEVNULL)

    def test_it_is_the_same_on_every_run(self):
        again = os.path.join(self.folder.name, "again.pickle")
        self.make(again, seed="77")
        with open(self.path, "rb") as one, open(again, "rb") as two:
            self.assertEqual(one.read(), two.read())

    def test_the_check_notices_damage(self):
        damages = [lambda s: s["segments"][0]["blocks"][0].update(size=1024),
                   lambda s: drop(s["device_traces"][0], "free_completed"), lambda s: s["segments"][3].update(allocated_size=1),
                   lambda s: s["device_traces"][0].reverse()]
        for number, damage in enumerate(damages):
            with open(self.path, "rb") as file:
                snapshot = Restricted(file).load()
            damage(snapshot)
            path = os.path.join(self.folder.name, "damaged.pickle")
            with open(path, "wb") as file:
                pickle.dump(snapshot, file)
            done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "check_snapshot.py"), path],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 1, f"damage {number}")

    def test_it_shows_something_of_everything(self):
        segments = self.snapshot["segments"]
        blocks = [block for segment in segments for block in segment["blocks"]]
        actions = {event["action"] for event in self.snapshot["device_traces"][0]}
        self.assertEqual({"alloc", "free_requested", "free_completed", "segment_alloc"}, actions)
        self.assertEqual({"active_allocated", "active_pending_free", "inactive"}, {b["state"] for b in blocks})
        self.assertEqual({"small", "large"}, {s["segment_type"] for s in segments})
        self.assertEqual(2, len({s["stream"] for s in segments}))
        self.assertTrue(any(b["state"] == "active_allocated" and not b["frames"] for b in blocks))
        self.assertTrue(any(b["state"] == "inactive" and b["size"] > 100 << 20 for b in blocks))
        names = {a["name"] for a in self.snapshot["external_annotations"]}
        self.assertLessEqual({"ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2"}, names)
        self.assertTrue(200_000 < os.path.getsize(self.path) < 2_000_000)


unittest.main()
