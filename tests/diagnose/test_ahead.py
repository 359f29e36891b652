# SPDX-License-Identifier: Apache-2.0
"""Long traces of runs with mistakes and without: rules that another thread asks ahead find what all in order find."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from test_mistakes import AUTOGRAD, FORWARD, STEP, train

BOTH = sys.argv.pop(1)
ROUNDS = 400  # more than 10,000 events: else no thread is worth it


def found(trace):
    """How many mistakes, and findings."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(trace.snapshot()))
        done = subprocess.run([BOTH, path], capture_output=True, check=False, text=True)
        assert done.returncode == 0, done
        return tuple(map(int, done.stdout.split()))


class Ahead(unittest.TestCase):
    def test_ordinary(self):
        self.assertGreater(found(train(ROUNDS))[1], 0)

    def test_mistakes(self):
        kept = []
        graph = train(ROUNDS, lambda t, r: [t.alloc(48, FORWARD) for _ in range(4)],
                      lambda t, r: [t.alloc(40, AUTOGRAD) for _ in range(4)], width=48)
        leaking = train(ROUNDS, lambda t, r: kept.append(t.alloc(1, FORWARD)) or [])
        states = train(ROUNDS, in_backward=lambda t, r: [t.alloc(300, STEP)])
        self.assertGreater(sum(found(trace)[0] for trace in (graph, leaking, states)), 1)

    def test_what_replays_tell(self):
        """Nobody knows ahead what another setting saves of lengths that vary, and grow in the end."""
        lengths = [200] * (ROUNDS - 8) + [200, 232, 264, 296, 328, 360, 392, 424]
        shapes = train(len(lengths), lambda t, r: [t.alloc((lengths[r] + 4 * (r % 7)) * (1 + n) / 8, FORWARD) for n in range(6)])
        self.assertGreater(found(shapes)[0], 0)


if __name__ == "__main__":
    unittest.main()
