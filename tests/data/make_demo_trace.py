#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the snapshot behind demo.gmtrace: six training steps of a small GPT whose batches have different lengths.

usage: make_demo_trace.py OUT.pickle

The model and the allocator are those of make_demo_snapshot.py; gradients are all-reduced on a second stream. Each length
needs activations of other sizes, so segments that one step left behind fit the next one badly, and reserved memory grows
far beyond what is ever used: the case for which expandable segments were made. Same bytes on every run.

demo.gmtrace is this snapshot as `gmreplay --trace-out` packs it; test_demo_trace.py compares them.
"""
import pickle
import sys

from make_demo_snapshot import Training

LENGTHS = (512, 704, 608, 960, 832, 1024)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    training = Training()
    training.allocator.recording = True
    for number, length in enumerate(LENGTHS):
        training.train_step(number, False, length)
    with open(sys.argv[1], "wb") as out:
        pickle.dump(training.snapshot(), out, protocol=4)


if __name__ == "__main__":
    main()
