# SPDX-License-Identifier: Apache-2.0
"""Recordings that begin in the middle of a run: of what is older, nobody knows who made it and when, but what is there
in the end, how large it is, and when it goes."""
import unittest

import test_mistakes as base
from test_mistakes import FORWARD, Trace

LOGITS = [("forward", "net.py", 12), *FORWARD[1:]]


class Late(Trace):
    """Recording begins with begin(): what was made before has no stack, or, where the ring lost its events, keeps it."""

    begun = 0

    def begin(self, keeps_stacks=False):
        self.begun = len(self.trace)
        for allocator in [] if keeps_stacks else self.pools.values():
            for segment in allocator.segments:
                block = segment.first
                while block is not None:
                    block.frames, block = [], block.after

    def snapshot(self):
        snapshot = super().snapshot()
        del snapshot["device_traces"][0][:self.begun]
        return snapshot


class BegunLate(unittest.TestCase):
    expect, expect_none = base.Mistakes.expect, base.Mistakes.expect_none

    def test_what_waits_for_a_stream(self):
        t = Late()
        t.alloc(64, FORWARD)
        for r in range(12):
            if r == 4:
                t.begin()
            allocator, block = t.alloc(32, FORWARD)
            allocator.used_by_other_stream(block, 1 << 40)
            t.free((allocator, block))
        self.expect(t, "pending-on-streams", 384, 384, "train.py:20")

    def test_what_earlier_rounds_left(self):
        """Their stacks tell, or in training their size."""
        def serve(begin):
            t = Late()
            t.alloc(32, base.WEIGHTS)
            for r in range(24):
                if r == begin:
                    t.begin(keeps_stacks=True)
                hidden = [t.alloc(64, FORWARD), t.alloc(32, FORWARD), t.alloc(2, [("log", "serve.py", 11), *FORWARD[2:]])]
                t.free(*hidden[:2])
            return t

        def leave(t, r, begin):
            if r == begin:
                t.begin()
            t.alloc(48, [("make", "net.py", 32), ("_call_impl", base.TORCH + "nn/modules/module.py", 1), ("<module>", "train.py", 20)])
            return []

        for begin in (-1, 4, 10, 21):
            self.assertEqual(base.diagnosed(serve(begin))["tensors-in-a-list"]["bytes"] >> 20, 46)
        for begin in (-1, 3):
            self.expect(base.train(15, lambda t, r: leave(t, r, begin), width=16, t=Late()), "tensors-in-a-list", 600, 760, "net.py:32")

    def test_gradients_that_are_older(self):
        """Those of a base that nobody trains; those that a flat buffer has, too, to which the trace's last is about to be added."""
        def run(begin, head=1, flat=0):
            t = Late()
            for size in [16] * 8 + [4] * head:
                t.alloc(size, base.WEIGHTS)
            for _ in range(2 if flat else 0):
                t.alloc(flat, [("__init__", "ddp.py", 7), ("<module>", "train.py", 9)])
            for r in range(8):
                if r == begin:
                    t.begin(keeps_stacks=True)
                held = [t.alloc(12, FORWARD) for _ in range(8)] + [t.alloc(1 / 1024, base.ROOT)]
                for layer in range(head):
                    held.append(t.alloc(4, base.AUTOGRAD))
                for layer in range(8):
                    t.free(t.alloc(20, base.AUTOGRAD))
                    gradient = t.alloc(16, base.AUTOGRAD)
                    if r == 7 and layer == 7:
                        return t
                    t.free(*([gradient] if r > 0 else []), held.pop(0))
                t.free(t.alloc(1 / 1024, base.STEP), *held)
            return t
        for begin in (-1, 2, 4):
            self.expect(run(begin), "frozen-gradients", 120, 240, "train.py:22")
            self.expect(run(begin, head=0, flat=64), "flat-gradient-buckets", 120, 150, "ddp.py:7")
            self.expect_none(run(begin, head=0), "frozen-gradients")

    def test_gradients_of_the_last_step(self):
        """Of two batches, from the middle of a step to the end of the next one: nothing was given up since they were made."""
        t = Late()
        for _ in range(6):
            t.alloc(32, base.WEIGHTS)
        for step in range(3):
            for batch in range(2):
                held = [t.alloc(24, FORWARD) for _ in range(6)] + [t.alloc(1 / 1024, base.ROOT)]
                made = [t.alloc(32, base.AUTOGRAD) for _ in range(3)]
                if (step, batch) == (1, 0):
                    t.begin(keeps_stacks=True)
                made += [t.alloc(32, base.AUTOGRAD) for _ in range(3)]
                grads = grads if batch else made
                t.alloc(1 / 1024, base.AUTOGRAD)
                t.free(*(made if batch else []), *held)
            t.free(t.alloc(1 / 1024, base.STEP), *(grads if step < 2 else []))
        self.expect_none(t, "frozen-gradients")

    def test_holes_of_a_replay_that_begins_in_a_round(self):
        """It has no cache yet: what passes is cut out of what is given up sooner, so that the next one does not fit."""
        def run(begin):
            t = Late()
            t.alloc(64, base.WEIGHTS)
            last = None
            for r in range(8):
                held = [t.alloc(2, [("<module>", "train.py", 19)]), t.alloc(24, FORWARD)]
                t.free(t.alloc(96, FORWARD))
                if r == begin:
                    t.begin(keeps_stacks=True)
                logits = t.alloc(512, LOGITS)
                t.free(*held, *([last] if last else []))
                last = logits
            return t
        for begin in (-1, 2, 3):
            told = base.diagnosed(run(begin))
            self.assertEqual(told["stale-reference"]["saves_bytes"] >> 20, 512)
            self.assertRegex(told["Do this"], "saves 512.0 MiB, then 7\d\d.0 MiB")

    def test_last_round_before_the_trace(self):
        """What goes when the first round has made as much tells of a habit of which the trace has one round."""
        def run(begin, holds):
            t, last = Late(), []
            t.alloc(64, base.WEIGHTS)
            for r in range(6):
                if r == begin:
                    t.begin(keeps_stacks=True)
                held = [t.alloc(2, [("<module>", "train.py", 19)]), t.alloc(24, FORWARD)]
                logits = t.alloc(256, LOGITS)
                if r < 5:
                    t.free(*held, *last)
                    last = [logits]
                    if not holds:
                        t.free(last.pop())
            return t
        for begin in (-1, 2, 3):
            self.expect(run(begin, True), "stale-reference", 250, 260, "net.py:12")
            self.expect_none(run(begin, False), "stale-reference")

    def test_loop_before_the_second_step(self):
        """It sets nothing up where rounds have passed before the trace: what its passes leave is collected."""
        t, collect, upload = Late(), ("collect", "serve.py", 12), ("upload", "serve.py", 17)
        t.alloc(32, base.WEIGHTS)
        for r in range(9):
            page = t.alloc(2, [("pages", "serve.py", 8), ("collect", "serve.py", 11), FORWARD[2]])
            scores = t.alloc(96, [*FORWARD[:2], collect, FORWARD[2]])
            if r == 3:
                t.begin(keeps_stacks=True)
            t.alloc(48, [collect, FORWARD[2]])
            t.free(page, scores)
        for r in range(12):
            for mib in (40, 1, 2, 3, 20, 5, 6, 7, 30, 9, 10, 11):
                t.free(t.alloc(mib, [("topk", "serve.py", 17 + mib), upload, ("<module>", "train.py", 21)]))
        self.expect(t, "tensors-in-a-list", 330, 440, "serve.py:12")

    def test_first_round_of_which_the_trace_has_the_end(self):
        """What it made for all rounds, as casts of weights, is not left of many."""
        t = Late()
        for _ in range(12):
            t.alloc(48, base.WEIGHTS)
        for r in range(6):
            held = [t.alloc(2, [("<module>", "train.py", 19)])]
            for layer in range(12):
                if (r, layer) == (0, 10):
                    t.begin(keeps_stacks=True)
                if r == 0:
                    t.alloc(24, FORWARD)
                held.append(t.alloc(12, FORWARD))
                t.free(held.pop(0))
            t.free(*held)
        found = base.diagnosed(t)
        self.assertNotIn("tensors-in-a-list", found)
        self.assertNotIn("loss-keeps-graph", found)

    def test_peak_of_what_was_cached_before(self):
        """What the trace asks for is replayed all the same."""
        t = Late()
        t.alloc(32, base.WEIGHTS)
        t.free(*[t.alloc(38, FORWARD) for _ in range(10)])
        t.begin()
        for _ in range(8):
            hidden = t.alloc(38, FORWARD)
            t.alloc(40, [("log", "serve.py", 11), *FORWARD[2:]])
            t.free(hidden)
        told = base.diagnosed(t)["tensors-in-a-list"]
        self.assertEqual((told["saves_bytes"] >> 20, told["fits_gpu"]), (280, None))  # what was before may need a larger one

    def test_copy_of_weights_that_is_older(self):
        """Where both lie, mixed with what else is small or large, tells which was made first, and that they were not made by turns."""
        def run(begin, by_turns=False):
            t, sizes, lines = Late(), [30, 0.2, 12, 0.3, 24, 0.4, 3, 0.5], [("model.py", 5), ("ema.py", 9)]
            order = [(s, n) for s in sizes for n in lines] if by_turns else [(s, n) for n in lines for s in sizes]
            for size, (file, line) in order:
                t.alloc(size, [("<listcomp>", file, line), ("<module>", "train.py", 3)])
            for r in range(6):
                if r == begin:
                    t.begin(keeps_stacks=True)
                held = [t.alloc(12, FORWARD) for _ in range(8)] + [t.alloc(1 / 1024, base.ROOT)]
                held += [t.alloc(size, base.AUTOGRAD) for size in reversed(sizes)]
                t.alloc(1 / 1024, base.STEP)
                t.free(*held)
            return t
        for begin in (-1, 2):
            self.expect(run(begin), "second-copy-of-weights", 64, 90, "ema.py:9")
            self.expect_none(run(begin, True), "second-copy-of-weights")

    def test_older_weights_are_no_data(self):
        """The recording begins in a forward pass, and ends in its backward pass: most have no gradients yet."""
        t = Late()
        for i in range(16):
            t.alloc(12 + i, base.WEIGHTS)
        for i in range(16):
            t.alloc(20 + i * 7 % 23, [("<listcomp>", "mixed.py", 28), ("__init__", "mixed.py", 28), ("<module>", "train.py", 5)])
        held = [t.alloc(12, FORWARD) for _ in range(8)]
        t.begin(keeps_stacks=True)
        held += [t.alloc(12, FORWARD) for _ in range(8)] + [t.alloc(1 / 1024, base.ROOT)]
        t.free(t.alloc(11, base.AUTOGRAD), held.pop())
        t.alloc(27, base.AUTOGRAD)
        t.free(t.alloc(11, base.AUTOGRAD), held.pop())
        t.alloc(26, base.AUTOGRAD)
        self.expect_none(t, "data-set-on-gpu")

    def test_first_round_after_half_a_round(self):
        """The line that rounds begin with is met for the first time after a part of a backward pass: that is a round's beginning."""
        t, grads = Late(), []
        for _ in range(4):
            t.alloc(32, base.WEIGHTS)
        for r in range(7):
            held = [t.alloc(2, [("<module>", "train.py", 19)])] + [t.alloc(48 if r < 3 else 40, FORWARD) for _ in range(4)]
            held.append(t.alloc(1 / 1024, base.ROOT))
            t.free(*grads)
            grads = []
            for layer in range(4):
                if (r, layer) == (1, 1):
                    t.begin(keeps_stacks=True)
                grads.append(t.alloc(32, base.AUTOGRAD))
                t.free(*[held.pop(2)] * (layer < 3))
            t.free(*held)
        self.expect(t, "gradients-through-forward", 90, 130)

    def test_pools_of_graphs(self):
        """What they need but for the largest is told where no replay tells what it costs."""
        t = Late()
        t.alloc(16, FORWARD)
        for graph in range(4):
            if graph == 1:
                t.begin()
            t.free(*[t.alloc(40, FORWARD, pool=(graph + 1, 0)) for _ in range(2)])
        self.expect(t, "cuda-graph-pools", 160, 160)


if __name__ == "__main__":
    unittest.main()
