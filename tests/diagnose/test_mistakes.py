# SPDX-License-Identifier: Apache-2.0
"""Mistakes that show in single allocations: each is told of a small trace that has it, with the bytes that mending it
saves, and not of the same trace without it."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data"))
from caching_allocator import Allocator  # noqa: E402

MIB = 1 << 20
TORCH = "site-packages/torch/"
FORWARD = [("forward", "net.py", 10), ("_call_impl", TORCH + "nn/modules/module.py", 1), ("<module>", "train.py", 20)]
LOOKUP = [("embedding", TORCH + "nn/functional.py", 5)] + FORWARD
ROOT = [("_make_grads", TORCH + "autograd/__init__.py", 7), ("backward", TORCH + "_tensor.py", 6), ("<module>", "train.py", 22)]
AUTOGRAD = []
WEIGHTS = [("__init__", TORCH + "nn/modules/linear.py", 3), ("<module>", "train.py", 5)]
STEP = [("_init_group", TORCH + "optim/adam.py", 3), ("step", TORCH + "optim/adam.py", 2), ("<module>", "train.py", 23)]


class Clock:
    now = 0

    def __call__(self):
        self.now += 10
        return self.now


class Trace:
    """One device, with an allocator for each pool; they have one trace."""

    def __init__(self):
        self.clock, self.trace, self.pools = Clock(), [], {}

    def pool(self, key):
        if key not in self.pools:
            allocator = Allocator(0, (len(self.pools) + 1) << 44, self.clock)
            allocator.trace, allocator.recording = self.trace, True
            self.pools[key] = allocator
        return self.pools[key]

    def alloc(self, mib, stack, stream=0, pool=(0, 0)):
        frames = [{"name": name, "filename": file, "line": line} for name, file, line in stack]
        return self.pool(pool), self.pool(pool).alloc(int(mib * MIB), frames, stream)

    @staticmethod
    def free(*blocks):
        for allocator, block in blocks:
            allocator.free(block)

    def snapshot(self):
        segments = []
        for key, allocator in self.pools.items():
            segments += [{**row, "segment_pool_id": key} for row in allocator.snapshot_segments()]
        events = [{"frames": [], **event, "pool_id": list(self.pools)[(event.get("addr", 1 << 44) >> 44) - 1]} for event in self.trace]
        return {"segments": segments, "device_traces": [events]}


def analysed(trace):
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "t.json"), os.path.join(folder, "a.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace.snapshot(), file)
        subprocess.run([os.environ["GMANALYZE"], "-q", "--no-charts", "-o", folder, "--json", out, path], check=True)
        with open(out, encoding="utf-8") as file:
            return json.load(file)


def diagnosed(trace):
    """What is to do, and all findings, by id; and of the headline what to do, and where."""
    analysis = analysed(trace)
    rows = {row["id"]: row for row in analysis["findings"]}
    lines = {line["label"]: line["text"] for line in analysis["headline"]}
    return {"Do this": f"{lines['Do this']}: {lines['Where']}", **rows, **{row["id"]: {**rows.get(row["id"], {}), **row} for row in analysis["to_do"]}}


def train(rounds, in_forward=lambda t, r: [], in_backward=lambda t, r: [], gradients=None, weights=4, size=32, width=48,
          after=lambda t, r: None):
    """Weights, and rounds of forward, backward and a step: what the two functions make lives to the end of its round."""
    t = Trace()
    for _ in range(weights):
        t.alloc(size, WEIGHTS)
    states = []
    for r in range(rounds):
        made = in_forward(t, r)
        hidden = [t.alloc(width, FORWARD) for _ in range(weights)]
        root = t.alloc(1 / 1024, ROOT)
        grads = gradients(t, r) if gradients else [t.alloc(size, AUTOGRAD) for _ in range(weights)]
        extra = in_backward(t, r)
        t.alloc(1 / 1024, AUTOGRAD)
        t.free(*hidden, root)
        if not states:
            states = [t.alloc(size, STEP) for _ in range(2 * weights)]
        t.free(t.alloc(1 / 1024, STEP))
        t.free(*extra, *made, *grads)
        after(t, r)
    return t


class Mistakes(unittest.TestCase):
    def expect(self, trace, name, least, most, line=None):
        found = diagnosed(trace)
        self.assertIn(name, found)
        saved = found[name].get("saves_bytes")
        saved = found[name]["bytes"] if saved is None else saved
        self.assertGreaterEqual(saved, least * MIB)
        self.assertLessEqual(saved, most * MIB)
        if line:
            self.assertIn(line, found[name]["site"])

    def expect_none(self, trace, name):
        self.assertNotIn(name, diagnosed(trace))

    def test_headline(self):
        kept = train(5, in_backward=lambda t, r: [t.alloc(40, AUTOGRAD) for _ in range(4)])
        self.assertRegex(diagnosed(kept)["Do this"], r"^no create_graph=True, saves 1\d\d\.\d MiB, .*: <module>  train\.py:22")

    def test_headline_names_what_saves_more(self):
        kept = train(5, in_backward=lambda t, r: [t.alloc(12, AUTOGRAD) for _ in range(4)])
        self.assertRegex(diagnosed(kept)["Do this"], r"^no create_graph=True saves \d+\.\d+ MiB; by choice 8-bit optimizer states "
                         r"\d\d\d\.\d MiB, price: accuracy with 8 bits: <module>  train\.py:22")

    def test_create_graph(self):
        kept = train(5, in_backward=lambda t, r: [t.alloc(40, AUTOGRAD) for _ in range(4)])
        self.expect(kept, "create-graph", 150, 170, "train.py:22")
        self.expect_none(train(5), "create-graph")
        flat = [("_flatten_dense_tensors", TORCH + "_utils.py", 9), ("<module>", "train.py", 24)]  # a line after it
        self.expect_none(train(5, in_backward=lambda t, r: [t.alloc(160, flat)]), "create-graph")

    def test_what_a_checkpoint_makes_once_more_is_no_end_of_a_backward_pass(self):
        again = [FORWARD[0], ("recompute_fn", TORCH + "utils/checkpoint.py", 9), ("<module>", "train.py", 22)]

        def backward(t, r):
            flowing = [t.alloc(40, AUTOGRAD) for _ in range(4)]  # from this layer to those before it
            recomputed = t.alloc(8, again)
            t.free(*flowing, t.alloc(1, AUTOGRAD), recomputed)
            return []
        self.expect_none(train(5, in_backward=backward), "create-graph")

    def test_graph_that_is_kept_in_its_own_round(self):
        """Of a critic, while a generator is trained; the size is the same, so that its memory serves again."""
        def adversary(keeps):
            t, (critic, generator) = Trace(), ([("forward", "net.py", line), *FORWARD[1:]] for line in (11, 12))
            t.alloc(64, WEIGHTS)
            for _ in range(4):
                graph = [t.alloc(32, critic) for _ in range(8)]
                t.free(t.alloc(1 / 1024, ROOT))
                for block in reversed([] if keeps else graph):
                    t.free(t.alloc(1, AUTOGRAD), block)
                t.free(t.alloc(1, AUTOGRAD))
                t.free(t.alloc(1, STEP))
                other = [t.alloc(32, generator) for _ in range(8)]
                t.free(t.alloc(1 / 1024, ROOT))
                for block in reversed(other):
                    t.free(t.alloc(1, AUTOGRAD), block)
                t.free(t.alloc(1, STEP), *(graph if keeps else []))
            return t
        self.expect(adversary(True), "retain-graph", 225, 260, "train.py:22")
        self.expect_none(adversary(False), "retain-graph")

    def test_dense_gradients_of_tables(self):
        def looked_up(mib, table):
            def forward(t, r):
                if r == 0:
                    t.alloc(table, WEIGHTS)
                return [t.alloc(mib, LOOKUP)]
            return train(5, forward, lambda t, r: [t.alloc(256, AUTOGRAD)])
        self.expect(looked_up(8, 256), "dense-embedding-gradients", 240, 330)
        self.expect_none(looked_up(64, 256), "dense-embedding-gradients")
        self.expect_none(looked_up(8, 20), "dense-embedding-gradients")  # no table is as large

    def test_flat_gradient_of_a_recurrent_network_is_of_no_table(self):
        def recurrent(t, r):  # all its weights' in one, before that of the table
            return [t.alloc(256, AUTOGRAD), t.alloc(100, AUTOGRAD)]

        def forward(t, r):
            for size in (256, 100) if r == 0 else ():
                t.alloc(size, WEIGHTS)
            return [t.alloc(20, LOOKUP)]
        self.expect_none(train(5, forward, recurrent), "dense-embedding-gradients")

    def test_tables_that_one_line_looks_up(self):
        def forward(t, r):
            for size in (256, 256, 256) if r == 0 else ():
                t.alloc(size, WEIGHTS)
            return [t.alloc(8, LOOKUP) for _ in range(3)]
        three = train(5, forward, lambda t, r: [t.alloc(256, AUTOGRAD) for _ in range(3)])
        self.expect(three, "dense-embedding-gradients", 650, 850)

    def test_outlier(self):
        def batch(t, r):
            return [t.alloc(400 if r == 3 else 64, FORWARD)]
        self.expect(train(6, batch), "outlier-batch", 330, 410, "net.py:10")
        self.expect_none(train(6, lambda t, r: [t.alloc(64 + 60 * r, FORWARD)]), "outlier-batch")
        self.expect_none(train(6, lambda t, r: [t.alloc(64, FORWARD)]), "outlier-batch")

    def test_gradients_through_forward(self):
        def zeroed(in_place):
            t, kept = Trace(), []
            for _ in range(4):
                t.alloc(32, WEIGHTS)
            for _ in range(5):
                hidden = [t.alloc(48, FORWARD) for _ in range(4)]
                root, made = t.alloc(1 / 1024, ROOT), []
                while hidden:
                    made.append(t.alloc(32, AUTOGRAD))
                    t.free(hidden.pop(), t.alloc(1 / 1024, AUTOGRAD))
                    if in_place and len(kept) == 4:
                        t.free(made.pop())  # it was added to what is there
                t.free(root)
                kept += made if in_place else []
                t.free(t.alloc(1 / 1024, STEP), *([] if in_place else made))
            return t
        self.expect(zeroed(True), "gradients-through-forward", 174, 178, "train.py:22")
        self.expect_none(zeroed(False), "gradients-through-forward")
        found = diagnosed(zeroed(True))
        self.assertIn("160.0 MiB at the peak", found["gradients-through-forward"]["detail"])  # each is counted once
        self.assertNotIn("frozen-gradients", found)

    def test_gradients_of_before_the_trace(self):
        """A trace of a forward pass alone; the weights and their gradients are older."""
        engine = [("torch::autograd::Engine::evaluate_function", "??", 0)]

        def forward(gradients, backward=False, others=0, called=()):
            t = Trace()
            for _ in range(4):
                t.alloc(32, WEIGHTS)
            for _ in range(others):
                t.alloc(40, WEIGHTS)
            for _ in range(gradients):
                t.alloc(32, [*engine, *called])
            t.trace.clear()
            hidden = [t.alloc(24, FORWARD) for _ in range(6)]
            while backward and hidden:
                t.alloc(16, engine)
                t.free(hidden.pop())
            return t
        self.expect(forward(4), "gradients-through-forward", 127, 129, "train.py:20")  # not a line of autograd
        for package in ("lightning/pytorch", "pytorch_lightning"):
            told = diagnosed(forward(4, called=[("fit", f"/opt/site-packages/{package}/trainer.py", 9)]))
            self.assertIn("on_train_batch_start", told["gradients-through-forward"]["fix"])
        self.expect_none(forward(0), "gradients-through-forward")
        self.expect_none(forward(4, backward=True), "gradients-through-forward")  # it may add to them
        told = diagnosed(forward(4, others=4))["gradients-through-forward"]["detail"]
        self.assertIn("Weights of their sizes hold 128.0 MiB, and 160.0 MiB of others have no gradient: if two models", told)
        self.assertIn("del the other with its gradients before, which is 256.0 MiB in all", told)
        self.assertNotIn("two models", diagnosed(forward(4, others=1))["gradients-through-forward"]["detail"])

    def test_workspaces(self):
        def work(streams):
            t = Trace()
            for _ in range(3):
                t.free(t.alloc(64, FORWARD))
            for stream in range(streams):
                t.free(t.alloc(32, FORWARD, stream=stream + 7))
            return t
        self.expect(work(6), "workspaces-per-stream", 150, 160, "net.py:10")
        self.expect_none(work(2), "workspaces-per-stream")

    def test_pools_of_graphs(self):
        def capture(pools):
            t = Trace()
            t.alloc(64, WEIGHTS)
            for n in range(4):
                passing = [t.alloc(40, FORWARD, pool=(0, n + 1 if pools else 0)) for _ in range(2)]
                t.alloc(4, FORWARD, pool=(0, n + 1 if pools else 0))
                t.free(*passing)
            return t
        self.expect(capture(True), "cuda-graph-pools", 235, 245)
        self.expect_none(capture(False), "cuda-graph-pools")

    def test_hooks(self):
        lines = [("forward", "net.py", 10 + n) for n in range(5)]

        def infer(keep):
            t, held = Trace(), {}
            t.alloc(64, WEIGHTS)
            for _ in range(6):
                for line in lines:
                    new = t.alloc(48, [line] + FORWARD[1:])
                    if line in held:
                        t.free(held.pop(line))
                    if keep:
                        held[line] = new
                        t.free(t.alloc(8, [("relu", "net.py", 30)] + FORWARD[1:]))
                    else:
                        t.free(t.alloc(8, [("relu", "net.py", 30)] + FORWARD[1:]))
                        t.free(new)
            return t
        self.expect(infer(True), "hooks-keep-features", 150, 250)
        self.expect_none(infer(False), "hooks-keep-features")

    def test_giant_tensor(self):
        def fail(mib):
            t = Trace()
            for _ in range(4):
                t.alloc(32, WEIGHTS)
            t.trace.append({"action": "oom", "device_free": 2000 * MIB, "size": mib * MIB, "stream": 0, "time_us": t.clock(),
                            "frames": [{"name": n, "filename": f, "line": k} for n, f, k in FORWARD]})
            return t
        self.expect(fail(8000), "giant-tensor", 8000, 8000, "net.py:10")
        self.assertIn("7.81 GiB is the least that is saved", diagnosed(fail(8000))["giant-tensor"]["detail"])
        self.expect_none(fail(100), "giant-tensor")

    def test_giant_tensor_in_steps(self):
        def fail(before):  # (a - b).square(): the line has made one or more as large
            t = Trace()
            for _ in range(8):
                t.alloc(32, WEIGHTS)
            for _ in range(before):
                t.alloc(2000, FORWARD)
            t.trace.append({"action": "oom", "device_free": 1000 * MIB, "size": 2000 * MIB, "stream": 0, "time_us": t.clock(),
                            "frames": [{"name": n, "filename": f, "line": k} for n, f, k in FORWARD]})
            return t
        self.expect(fail(1), "giant-tensor", 4000, 4000, "net.py:10")
        self.expect_none(fail(10), "giant-tensor")  # as many are weights, or a loop

    def test_call_of_the_model(self):
        """Most is made by a layer, in a model that one line calls: both are told, and not where the program begins."""
        def left(t, r):
            for line in (12, 13):
                t.alloc(20, [("forward", "net.py", line), ("_call_impl", TORCH + "nn/modules/module.py", 1), ("watch", "run.py", 7),
                             ("main", "run.py", 30), ("<module>", "run.py", 40)])
            return []
        site = diagnosed(train(8, left))["loss-keeps-graph"]["site"]
        self.assertRegex(site, r"forward  net\.py:1[23](, from run\.py:7)?$")
        self.assertIn("from run.py:7", diagnosed(train(8, left))["loss-keeps-graph"]["detail"])

    def test_caller_is_of_the_stack_that_is_told(self):
        """The stack with most is called elsewhere than nine tenths of the bytes."""
        def left(t, r):
            for line in range(20, 61):
                t.alloc(2 if line < 60 else 3, [("forward", "net.py", line), ("main", "run.py", 7 if line < 60 else 9)])
            return []
        site = diagnosed(train(8, left))["loss-keeps-graph"]["site"]
        self.assertRegex(site, r"net\.py:60$")

    def test_passes_after_another_loop(self):
        """A loop that was over before the first pass has no rounds for them; modules make all there is."""
        t = Trace()
        for _ in range(5):
            t.alloc(2, [("<module>", "train.py", 5)])
            t.alloc(1, [("<module>", "train.py", 6)])
        for _ in range(4):
            kept = []
            for line in range(12):
                stack = [("layer", "net.py", 30 + line % 3), ("forward", "net.py", 10), *FORWARD[1:]]
                kept.append(t.alloc(24, stack))
                t.free(t.alloc(8, stack))
            t.free(*kept)
        self.expect(t, "no-inference-mode", 200, 270)

    def test_pool_of_pages(self):
        def serve(stack):
            t = Trace()
            for _ in range(4):
                t.alloc(16, WEIGHTS)
            t.alloc(512, [("__init__", "serve.py", 4), ("<module>", "serve.py", 9)])
            for r in range(6):
                t.free(t.alloc(2 + r, stack), t.alloc(4 + r, FORWARD))
            return t
        self.expect(serve(LOOKUP), "kv-cache-dominates", 256, 256, "serve.py:4")
        self.expect_none(serve(FORWARD), "kv-cache-dominates")

    def test_pinned_segments(self):
        """Each answer is cut out of what a request made and gave up; all of them keep its segments."""
        def answer(rounds, is_first):  # each on a stream of its own
            t, keep = Trace(), [("<module>", "serve.py", 9)]
            t.alloc(64, WEIGHTS)
            if is_first:
                for _ in range(rounds):
                    t.alloc(4, keep)
            for r in range(rounds):
                t.free(t.alloc(200, FORWARD, r))
                small = t.alloc(4, keep, r)
                if is_first:
                    t.free(small)
            return t
        rows = diagnosed(answer(6, False))
        told = rows["pinned-segments"]
        self.assertIsNone(told["saves_bytes"])
        self.assertEqual((told["bytes"], told["saves_at_end_bytes"]), (1176 * MIB, 1176 * MIB))
        self.assertIn("make what stays first, saves", rows["Do this"])
        self.assertIn("saves 1.15 GiB, or 1.17 GiB if what stays is not on the device", told["detail"])
        self.expect_none(answer(6, True), "pinned-segments")

    def test_flat_gradients(self):
        def flat(mib):
            t = train(5)
            return t if mib == 0 else self.with_flat(mib)
        self.expect(flat(128), "flat-gradient-buckets", 60, 100, "train.py:6")  # each is made, and added soon
        self.expect_none(flat(0), "flat-gradient-buckets")
        self.expect_none(flat(80), "flat-gradient-buckets")
        self.expect_none(flat(128), "data-set-on-gpu")

    @staticmethod
    def with_flat(mib):
        whole = []

        def once(t, r):
            if not whole:
                whole.append(t.alloc(mib, [("<module>", "train.py", 6)]))
            return []
        return train(5, once)

    def test_frozen_weights_are_no_data(self):
        def with_large(stack):
            def once(t, r):
                if r == 0:
                    t.alloc(256, stack)
                return []
            return train(5, once)
        self.expect(with_large([("<module>", "train.py", 6)]), "data-set-on-gpu", 256, 256, "train.py:6")
        self.expect_none(with_large([("_apply", TORCH + "nn/modules/module.py", 9), ("<module>", "train.py", 6)]), "data-set-on-gpu")

    def test_buckets_that_are_made_again_in_the_second_step(self):
        parallel = TORCH + "nn/parallel/distributed.py"

        def data_parallel(as_view):
            first = []

            def forward(t, r):
                if r == 0:
                    first.append(t.alloc(128, [("_ddp_init_helper", parallel, 9), ("<module>", "train.py", 12)]))
                if r == 1:
                    t.free(*first)
                    for _ in range(2):
                        t.alloc(64, [("_pre_forward", parallel, 20), ("forward", parallel, 19)] + FORWARD[1:])
                return []
            return train(5, forward, gradients=(lambda t, r: []) if as_view else None)
        self.expect(data_parallel(False), "flat-gradient-buckets", 60, 140, "train.py:12")
        self.expect_none(data_parallel(True), "flat-gradient-buckets")

    def test_gradients_that_give_way_to_views_of_buckets(self):
        def accumulate(as_view):
            t, old = Trace(), []
            for _ in range(4):
                t.alloc(32, WEIGHTS)
            t.alloc(128, [("_ddp_init_helper", TORCH + "nn/parallel/distributed.py", 9), ("<module>", "train.py", 12)])
            for r in range(8):
                hidden = [t.alloc(24, FORWARD) for _ in range(4)]
                root = t.alloc(1 / 1024, ROOT)
                for n in range(4):
                    new = t.alloc(32, AUTOGRAD)
                    if r % 2 == 0:
                        old.append(new)
                        continue
                    t.free(new)
                    if as_view:
                        t.free(old.pop(0))
                t.free(t.alloc(1 / 1024, AUTOGRAD))
                t.free(*hidden, root)
                for _ in range(10):
                    t.free(t.alloc(1 / 1024, STEP if r % 2 else FORWARD))
                if r % 2:
                    t.free(*old)
                    del old[:]
            return t
        self.expect(accumulate(False), "flat-gradient-buckets", 90, 130, "train.py:12")
        self.expect_none(accumulate(True), "flat-gradient-buckets")

    def test_workspace_of_32_mib_is_no_gradient(self):
        for size in (24, 32):  # as large as a weight, and not
            first = dict(in_forward=lambda t, r: (t.alloc(32, FORWARD), [])[1] if r == 0 else [],
                         in_backward=lambda t, r: (t.alloc(32, AUTOGRAD), [])[1] if r == 0 else [])
            self.expect_none(train(5, size=size, **first), "frozen-gradients")

    def test_what_is_laid_out_before_the_loop_is_no_graph(self):
        t, line = Trace(), [("serve", "serve.py", 7), ("<module>", "serve.py", 20)]
        rows = [t.alloc(64, [("lay_out", "serve.py", 3), *line[1:]]) for _ in range(8)]
        for _ in range(6):
            for number in range(8):
                t.free(t.alloc(8, [("step", "serve.py", 10 + number), *line]))
        t.free(*rows)
        self.expect_none(t, "no-inference-mode")

    def test_attention_without_a_name(self):
        def mixed(rows, pairs, layers, inner=0):
            t, line, feed = Trace(), [("mix", "net.py", 7), *FORWARD], [("feed", "net.py", 8), *FORWARD]
            t.alloc(8, WEIGHTS)
            for _ in range(3):
                kept = []
                for _ in range(layers):
                    kept += [t.alloc(mib, line) for mib in (rows, rows, rows, pairs, pairs, rows)]
                    kept += [t.alloc(inner, feed), t.alloc(rows, feed)] if inner else []
                for block in reversed(kept):
                    t.free(t.alloc(1, AUTOGRAD), block)
            return t
        self.expect(mixed(8, 128, 4), "unfused-attention", 900, 1030, "net.py:7")
        self.expect(mixed(8, 128, 4, 32), "unfused-attention", 900, 1030, "net.py:7")  # other code's quarter is no mask
        self.assertNotIn("Of reserved memory", diagnosed(mixed(8, 128, 4, 32))["unfused-attention"]["detail"])
        self.expect_none(mixed(32, 128, 4), "unfused-attention")  # a feed-forward network
        self.expect_none(mixed(8, 128, 1), "unfused-attention")  # logits

    def test_rows_between_numbers_are_no_pairs(self):
        """Of the edges of a graph: a number each, then features of each, as large as what other lines make."""
        t, line, other = Trace(), [("update", "net.py", 7), *FORWARD], [("norm", "net.py", 8), *FORWARD]
        t.alloc(8, WEIGHTS)
        for _ in range(3):
            kept = []
            for _ in range(3):
                kept += [t.alloc(mib, line) for mib in (0.5, 48, 48, 0.5)]
                kept += [t.alloc(mib, other) for mib in (20, 48, 48, 48, 20)]
            for block in reversed(kept):
                t.free(t.alloc(1, AUTOGRAD), block)
        self.expect_none(t, "unfused-attention")

    def test_softmax_of_a_file(self):
        soft = [("forward", "app/softmax.py", 14)] + FORWARD
        scores = lambda t, r: [t.alloc(mib, soft) for mib in (1, 40, 40, 40)]  # noqa: E731
        self.expect(train(4, scores), "unfused-attention", 110, 130, "softmax.py:14")

    def test_attention_in_backward(self):
        soft = [("normed", "net.py", 3), ("attention", "net.py", 9), ("<module>", "train.py", 20)]
        t = Trace()
        t.alloc(8, WEIGHTS)
        kept = [t.alloc(mib, soft) for mib in (2, 1)]
        t.free(t.alloc(256, soft))
        kept.append(t.alloc(256, soft))
        grads = [t.alloc(256, AUTOGRAD) for _ in range(5)]
        t.free(*grads, *kept)
        t.free(t.alloc(1, AUTOGRAD))
        self.expect(t, "unfused-attention", 1530, 1550, "net.py:3")

    def test_attention_beside_a_loss_by_hand(self):
        """What the loss takes the softmax of may be almost as large: it is not what attention makes."""
        soft = [("softmax", "net.py", 3), ("forward", "net.py", 9), *FORWARD]
        words = [("log_softmax", "net.py", 5), ("softmax", "net.py", 3), ("<module>", "train.py", 21)]
        scores = lambda t, r: [t.alloc(mib, soft) for mib in (4, 64, 64) * 2] + [t.alloc(40, words)]  # noqa: E731
        self.expect(train(4, scores), "unfused-attention", 240, 280, "net.py:3")

    def test_fused_attention_is_no_mistake(self):
        """Its output and a logarithm for each row, layer by layer, whatever the function around it is called; copies
        that make its inputs contiguous or repeat them are as large as those."""
        def fused(t, r, copies=0, key=16):
            call = [("attention", "net.py", 7), ("forward", "net.py", 9)]
            made = []
            for _ in range(4):
                made += [t.alloc(mib, FORWARD) for mib in (16, 16, key)] + [t.alloc(16, call) for _ in range(copies)]
                made += [t.alloc(mib, call + FORWARD) for mib in (16, 0.5)] + [t.alloc(40, FORWARD)]
            return made
        for copies, key in ((0, 16), (3, 16), (0, 2)):
            self.expect_none(train(4, lambda t, r: fused(t, r, copies, key)), "unfused-attention")  # noqa: B023

    def test_attention_whose_peak_is_before_its_softmax(self):
        """The scores and the same, scaled, of a line whose name does not tell; then their softmax."""
        soft = [("softmax", TORCH + "nn/functional.py", 9)]
        t = Trace()
        t.alloc(64, WEIGHTS)
        for layer in range(12):
            if layer % 4 == 0:
                t.free(t.alloc(8, LOOKUP))
            inputs, rows = t.alloc(40, FORWARD), t.alloc(16, FORWARD)
            scores = t.alloc(128, FORWARD)
            scaled = t.alloc(128, FORWARD)
            t.free(inputs, scores)
            normed = t.alloc(128, soft + FORWARD)
            t.free(scaled, t.alloc(1, soft + FORWARD), normed, t.alloc(16, FORWARD), rows)
        t.free(t.alloc(8, LOOKUP))
        self.expect(t, "unfused-attention", 250, 260, "net.py:10")

    def test_attention_in_an_unfinished_forward(self):
        soft = [("softmax", "net.py", 3), ("attend", "net.py", 9)] + FORWARD
        t = Trace()
        for _ in range(4):
            t.alloc(64, WEIGHTS)
        for layer in range(8):
            call = [("forward", "net.py", 10), ("<module>", "train.py", 40 + layer)]
            t.free(t.alloc(12, soft[:2] + call))
            for mib in (16, 16, 128, 128, 16):
                t.alloc(mib, (soft[:2] if mib == 128 else []) + call)
        self.expect(t, "unfused-attention", 2000, 2060, "net.py:3")

    def test_nothing_unlisted_above(self):
        """A call site that is worth a look and a setting: what the setting saves does not count on the site."""
        t, line = Trace(), [("run", "app.py", 4), ("<module>", "train.py", 20)]
        big = [t.alloc(300, [("other", "app.py", number), *line]) for number in range(3)]
        t.free(*big)
        small = [t.alloc(21, line) for _ in range(3)]
        big = [t.alloc(300, line) for _ in range(4)]
        t.free(*big, *small)
        rows = [row for row in diagnosed(t).values() if isinstance(row, dict) and row.get("peak_reserved_then_bytes")]
        self.assertEqual(len(rows), 1)
        self.assertGreaterEqual(rows[0]["peak_reserved_then_bytes"] + rows[0]["saves_bytes"], (4 * 300 + 3 * 21) * MIB)

    def test_cat(self):
        def grown(is_copied):
            t, cat = Trace(), [("decode", "serve.py", 9), ("<module>", "serve.py", 20)]
            old = [t.alloc(20, WEIGHTS) for _ in range(4)][:0]
            for length in range(20, 60, 2):
                if not is_copied:
                    t.free(*old)
                new = [t.alloc(length, cat)]
                if is_copied:
                    t.free(*old)
                old = new
            t.free(*old)
            return t
        self.assertIn("kv-cache-by-cat", diagnosed(grown(True)))
        self.expect_none(grown(False), "kv-cache-by-cat")  # larger and larger inputs

    def test_line_and_option_of_a_library(self):
        def grown(folder, slash="/"):  # the line of the program that uses the library's code is told, and the library's option
            files = [(folder + "transformers/" + name).replace("/", slash) for name in ("cache_utils.py", "generation/utils.py")]
            cat = [("update", files[0], 9), ("generate", files[1], 5), ("answer", "serve.py", 14), ("<module>", "serve.py", 30)]
            t, old = Trace(), []
            weights = [t.alloc(20, WEIGHTS) for _ in range(4)]
            for length in range(20, 60, 2):
                new = [t.alloc(length, cat)]
                t.free(*old)
                old = new
            t.free(*old, *weights)
            return diagnosed(t)["kv-cache-by-cat"]
        for folder in ("/usr/lib/python3/dist-packages/", "/opt/libs/", "C:\\"):
            found = grown(folder)
            self.assertRegex(found["site"], r"transformers/cache_utils\.py:9, from serve\.py:14$")
            self.assertIn('cache_implementation="static"', found["fix"])
            self.assertIn("cache_implementation", found["snippet"])
        self.assertIn("cache_implementation", grown("C:\\site-packages\\", "\\")["fix"])
        own = grown("/home/me/my_")  # "my_transformers" is a folder of one's own
        self.assertTrue(own["site"].endswith("cache_utils.py:9, from utils.py:5"), own["site"])
        self.assertNotIn("cache_implementation", own["fix"])

    def test_checkpoint_read_after_the_model_was_made(self):
        loading = [("load", TORCH + "serialization.py", 1), ("<module>", "train.py", 7)]

        def serve(reads):
            t = Trace()
            for stack in [WEIGHTS, loading] if reads else [WEIGHTS]:
                for mib in (64, 48, 32, 16):
                    t.alloc(mib, stack)
            for _ in range(5):
                t.free(t.alloc(24, FORWARD), t.alloc(12, LOOKUP))
            return t
        self.expect(serve(True), "checkpoint-beside-model", 158, 162, "train.py:7")
        self.expect_none(serve(False), "checkpoint-beside-model")

    def test_files_that_are_averaged(self):
        def average(device):
            t = Trace()
            weights = [t.alloc(size, WEIGHTS) for size in (40, 30, 20)]
            read = [t.alloc(size, [("load", TORCH + "serialization.py", 5), ("<module>", "soup.py", 6)])
                    for _ in range(3 * device) for size in (40, 30, 20)]
            mean = [t.alloc(size, [("mean", "soup.py", 7), ("<module>", "soup.py", 9)]) for size in (40, 30, 20) * device]
            t.free(*read, *mean)
            for _ in range(5):
                t.free(t.alloc(4, FORWARD), t.alloc(2, FORWARD))
            return t
        self.expect(average(1), "checkpoint-beside-model", 330, 380, "soup.py:6")
        self.expect_none(average(0), "checkpoint-beside-model")

    def test_lines_by_turns_are_no_copies(self):
        t = Trace()
        for _ in range(6):
            for line in (10, 11):
                t.alloc(40, [("__init__", "experts.py", line), ("<module>", "serve.py", 5)])
        for _ in range(5):
            t.free(t.alloc(4, FORWARD), t.alloc(2, FORWARD))
        self.expect_none(t, "second-copy-of-weights")
        t = Trace()  # of half the size: not what was read from a file either
        for _ in range(6):
            for line in (10, 11):
                t.alloc(20 * (line - 9), [("__init__", "experts.py", line), ("<module>", "serve.py", 5)])
        for _ in range(5):
            t.free(t.alloc(4, FORWARD), t.alloc(2, FORWARD))
        self.expect_none(t, "checkpoint-beside-model")

    def test_weights_copied_after_each_epoch(self):
        copy = [("clone", TORCH + "storage.py", 2), ("deepcopy", "/usr/lib/python3.11/copy.py", 153), ("stop", "early.py", 4),
                ("<module>", "train.py", 30)]

        def train_with(keep):
            best = []

            def after(t, r):
                new = [t.alloc(size, copy) for size in (64,) * 4]
                t.free(*best)
                best[:] = new
            return train(5, after=after if keep else lambda t, r: None, size=64)
        self.expect(train_with(True), "second-copy-of-weights", 250, 520, "early.py:4")
        self.expect_none(train_with(False), "second-copy-of-weights")

    def test_states_of_an_optimizer_by_hand_are_no_copy(self):
        def trained(step):
            t = Trace()
            for line in (5, 6):
                for mib in (64, 48, 32, 16):
                    t.alloc(mib, [("<listcomp>", "train.py", line), ("<module>", "train.py", line)])
            for _ in range(5):
                hidden, root = [t.alloc(24, FORWARD) for _ in range(4)], t.alloc(1 / 1024, ROOT)
                gradients = [t.alloc(mib, AUTOGRAD) for mib in (16, 32, 48, 64)]
                t.free(*hidden, root, t.alloc(1 / 1024, step), *gradients)
            return t
        self.expect(trained(STEP), "second-copy-of-weights", 158, 162, "train.py:6")
        self.expect_none(trained([("<module>", "train.py", 23)]), "second-copy-of-weights")

    def test_loop_of_one_line(self):
        line = ("<module>", "train.py", 9)

        def collect(keep):
            t = Trace()
            t.alloc(64, WEIGHTS)
            for r in range(6):
                x = t.alloc(16 + r, [line])
                hidden = [t.alloc(20 + r, [("forward", "net.py", n), line]) for n in (10, 11)]
                out = t.alloc(80 + r, [("head", "net.py", 30), ("forward", "net.py", 12), line])
                t.free(x, *hidden, *([] if keep else [out]))
            return t
        self.expect(collect(True), "tensors-in-a-list", 305, 315, "net.py:30")
        self.expect_none(collect(False), "tensors-in-a-list")

    def test_loop_of_one_line_before_others(self):
        """The middle of the run is other code, which makes next to nothing."""
        call = [("enrol", "gallery.py", 7), ("<module>", "gallery.py", 20)]

        def enrol(keep):
            t, kept = Trace(), []
            t.alloc(10, WEIGHTS)
            for _ in range(12):
                t.free(t.alloc(2, call))
                before, out = t.alloc(40, FORWARD[:2] + call), t.alloc(50, FORWARD[:2] + call)
                t.free(before)
                kept.append(out) if keep else t.free(out)
            for _ in range(200):
                t.free(t.alloc(1 / 1024, [("mean", "gallery.py", 9), ("<module>", "gallery.py", 21)]))
            t.free(*kept)
            return t
        self.expect(enrol(True), "tensors-in-a-list", 500, 620, "net.py:10")
        self.expect_none(enrol(False), "tensors-in-a-list")

    def test_loops_one_after_the_other(self):
        """A phase that is over, of one line of a loop, and another loop after it."""
        def job(first):
            t = Trace()
            call = [("encode", "job.py", 3), ("<module>", "job.py", 20)]
            weights = [t.alloc(first, [("to", TORCH + "nn/modules/module.py", 4), ("encode", "job.py", 2), ("<module>", "job.py", 20)])
                       for _ in range(12)]
            for _ in range(40):
                t.free(t.alloc(2, call))
                t.free(t.alloc(4, FORWARD[:2] + call), t.alloc(4, FORWARD[:2] + call))
            t.free(*weights)
            for _ in range(5):
                text = t.alloc(1, [("decode", "job.py", 8), ("<module>", "job.py", 21)])
                t.free(t.alloc(190, FORWARD[:2] + [("decode", "job.py", 9), ("<module>", "job.py", 21)]), text)
            return t
        self.expect(job(60), "cache-of-finished-phase", 180, 200, "job.py")
        self.assertTrue(diagnosed(job(60))["cache-of-finished-phase"]["site"].endswith("from job.py:20"))  # where they part
        self.expect_none(job(1), "cache-of-finished-phase")

    def test_what_a_layer_leaves_at_its_end_is_no_graph(self):
        call = ("_call_impl", TORCH + "nn/modules/module.py", 1)

        def layers(keep, data=4):
            t = Trace()
            t.alloc(10, WEIGHTS)
            for _ in range(6):
                if data:
                    t.alloc(data, [("read", "serve.py", 8), ("<module>", "serve.py", 20)])
                made = [t.alloc(10, [("first", "net.py", 9)] + FORWARD[1:])]
                for _ in range(6):
                    made += [t.alloc(10, [("layer", "net.py", 11 + n), call, ("forward", "net.py", 30)] + FORWARD[1:]) for n in range(10)]
                    if not keep:
                        t.free(*made[1:])
                        del made[1:]
                t.free(*made)
            return t
        self.expect(layers(True), "no-inference-mode", 300, 640)
        self.expect(layers(True, data=0), "no-inference-mode", 300, 640)  # the same input, again and again
        self.expect_none(layers(False), "no-inference-mode")

    def test_graphs_of_rounds_without_backward(self):
        def evaluate(sums):
            t, held = Trace(), []
            t.alloc(64, WEIGHTS)
            for _ in range(8):
                x = t.alloc(8, [("<module>", "train.py", 19)])
                hidden = [t.alloc(40, [("linear", TORCH + "nn/modules/linear.py", 9)] + FORWARD) for _ in range(2)]
                loss = t.alloc(1, [("<module>", "train.py", 21)])
                held += [x, *hidden, loss]
                if not sums:
                    t.free(*held)
                    held = []
            t.free(*held)
            return t
        self.expect(evaluate(True), "loss-keeps-graph", 600, 640, "train.py:21")
        self.expect_none(evaluate(True), "no-inference-mode")
        self.expect_none(evaluate(False), "loss-keeps-graph")

    def test_sum_of_losses(self):
        """Graphs of several batches wait for one backward pass; layers, which have no inputs and losses, are none."""
        layers, main = [[("forward", "net.py", 10 + n)] + FORWARD[1:] for n in range(3)], ("<module>", "train.py", 20)

        def steps(is_summed):
            t = Trace()
            for _ in range(3):
                t.alloc(16, WEIGHTS)
            for _ in range(4):
                kept = []
                for _ in range(4):
                    x = t.alloc(8, [("load", "train.py", 8), main]) if is_summed else None
                    kept += [t.alloc(32, stack) for stack in layers]
                    if is_summed:
                        t.free(t.alloc(4 / MIB, [("add_up", "train.py", 12), main]))
                        kept.append(x)
                root = t.alloc(1 / 1024, ROOT)
                grads = [t.alloc(16, AUTOGRAD) for _ in range(3)]
                t.free(*reversed(kept), root)
                t.free(t.alloc(1 / 1024, STEP), *grads)
            return t
        self.expect(steps(True), "loss-keeps-graph", 280, 300, "train.py:12")
        self.assertEqual(diagnosed(steps(True))["loss-keeps-graph"]["severity"], "info")  # they may hang together
        self.expect_none(steps(False), "loss-keeps-graph")

    def test_graph_of_what_comes_after_the_step(self):
        """A second view of each batch, after the optimizer's step and before the next round of the loop."""
        view = [*FORWARD[:2], ("<module>", "train.py", 25)]

        def watch(t, r):
            for _ in range(4):
                t.free(t.alloc(24, view))
                t.alloc(24, view)
            t.alloc(1 / 1024, [("<module>", "train.py", 26)])
        kept = train(8, after=watch)
        self.expect(kept, "loss-keeps-graph", 880, 920)  # none is there in the next forward pass

    def test_kept_graph_is_not_of_the_line_that_ends_a_round(self):
        """A validation after the optimizer keeps its graph; the loss of training is the last that a round makes, and its
        graph goes."""
        def lines(of, n):
            return [[("linear", TORCH + "nn/functional.py", 2 + k), ("<module>", "train.py", of)] for k in range(n)]
        graph, last = [], []

        def forward(t, r):
            graph[:] = [t.alloc(64, stack) for stack in lines(20, 4)]
            t.free(*last)
            last[:] = [t.alloc(1 / 1024, [("mean", TORCH + "tensor.py", 9), ("<module>", "train.py", 20)])]
            return []

        def backward(t, r):
            t.free(*graph)
            return []
        kept = train(6, forward, backward, after=lambda t, r: [t.alloc(48, stack) for stack in lines(26, 4)])
        self.expect(kept, "loss-keeps-graph", 700, 1000, "train.py:26")
        self.assertRegex(diagnosed(kept)["Do this"], r": <module>  train\.py:26$")

    def test_paths_of_windows(self):
        """A place reads as everywhere: its last two parts, with slashes."""
        def stack(name, line, main):
            return [(name, "D:\\Dev\\work\\nets\\net.py", line), ("<module>", "D:\\Dev\\work\\runs\\train.py", main)]
        found = diagnosed(train(6, lambda t, r: [t.alloc(400 if r == 3 else 64, stack("forward", 10, 20))]))["outlier-batch"]
        self.assertIn("forward  nets/net.py:10, from train.py:20", found["site"])
        self.assertNotIn("\\", found["detail"])

    def test_retained_graph_is_of_the_line_that_calls_backward(self):
        layers = [[("forward", "net.py", 10 + n)] + FORWARD[1:] for n in range(4)]

        def retain(keep):
            old, new = [], []

            def forward(t, r):
                new[:] = [t.alloc(40, stack) for stack in layers]
                return [] if keep else new

            def backward(t, r):
                t.free(*old)  # the variable is set anew
                old[:] = new if keep else []
                return []
            return train(5, forward, backward)
        self.expect(retain(True), "retain-graph", 150, 170, "train.py:22")
        self.expect_none(retain(False), "retain-graph")

    def test_outputs_of_layers_that_a_hook_keeps_in_training(self):
        """The backward pass uses what is made between them, and no graph is left."""
        def watched(keep):
            rows = []

            def forward(t, r):
                made = []
                for n in range(5):
                    rows.append(t.alloc(16, [("conv", "net.py", 30)] + FORWARD[1:]))
                    made.append(t.alloc(16, [("relu", "net.py", 31)] + FORWARD[1:]))
                t.alloc(1 / 1024, ROOT)
                for block in reversed(made):
                    t.free(t.alloc(8, AUTOGRAD), block)
                if not keep:
                    t.free(*rows)
                    del rows[:]
                return []

            def after(t, r):
                if r % 4 == 3:
                    t.free(*rows)
                    del rows[:]
            return train(8, forward, after=after, weights=2, size=4, width=1)
        self.expect(watched(True), "hooks-keep-features", 200, 340, "net.py:30")
        self.expect_none(watched(True), "loss-keeps-graph")
        self.expect_none(watched(False), "hooks-keep-features")

    def test_outputs_of_layers_that_the_next_ones_replace(self):
        """Those of the last round, which nothing replaces, are held, too: else mending the others would save nothing."""
        held = []

        def forward(t, r):
            made = []
            for n in range(5):
                new = t.alloc(32, [("keep", "probe.py", 35)] + FORWARD[1:])
                t.free(*held[n:n + 1])
                held[n:n + 1] = [new]
                made.append(t.alloc(16, [("relu", "net.py", 31)] + FORWARD[1:]))
            t.alloc(1 / 1024, ROOT)
            for block in reversed(made):
                t.free(t.alloc(8, AUTOGRAD), block)
            return []
        self.expect(train(6, forward, weights=2, size=4, width=1), "hooks-keep-features", 120, 200, "probe.py:35")

    def test_blocks_that_differ_from_each_other(self):
        """A net whose blocks have sizes of their own, called from two lines: checkpoints at their calls."""
        def block(line, n):
            call = ("_call_impl", TORCH + "nn/modules/module.py", 1)
            return [(f"part{n}", "unet.py", 3 + n), call, ("forward", "unet.py", line)] + FORWARD[1:]

        def unet(blocks):
            def forward(t, r):
                made = []
                for depth, line in enumerate(blocks):
                    made += [t.alloc(60 / (1 + depth), block(line, n)) for n in range(3 + depth % 2)]
                    made.append(t.alloc(2, [("forward", "unet.py", 40 + depth)] + FORWARD[1:]))
                t.alloc(1 / 1024, ROOT)
                while made:
                    t.free(t.alloc(4, AUTOGRAD), made.pop())
                return []
            return train(4, forward, weights=2, size=4, width=1)
        self.expect(unet([20, 21, 20, 22]), "activations-dominate", 150, 330, "unet.py:")
        self.expect_none(unet([20, 21]), "activations-dominate")

    def test_outputs_that_are_held_are_no_graph(self):
        def engine(keep):
            old = []

            def forward(t, r):
                new = [t.alloc(60, [("to", "data.py", 4), ("<module>", "train.py", 19)])]
                made = [t.alloc(20, [(f"layer{n}", "net.py", 20 + n)] + FORWARD[1:]) for n in range(4)]
                new.append(t.alloc(50, [("head", "net.py", 12)] + FORWARD[1:]))
                t.alloc(1 / 1024, ROOT)
                for block in reversed(made):
                    t.free(t.alloc(8, AUTOGRAD), block)
                t.free(*(old if keep else new))
                old[:] = new if keep else []
                return []
            return train(6, forward, weights=2, size=4, width=1)
        self.expect(engine(True), "stale-reference", 70, 130, "data.py:4")
        self.expect_none(engine(True), "retain-graph")
        self.expect_none(engine(False), "stale-reference")

    def test_little_is_no_mistake(self):
        def copied(mib):
            def once(t, r):
                for _ in range(3 if r == 0 else 0):
                    t.alloc(mib, [("deepcopy", "/usr/lib/python3.11/copy.py", 1), ("<module>", "train.py", 9)])
                return []
            return train(5, once, weights=3, size=mib, width=2)
        self.expect(copied(8), "second-copy-of-weights", 20, 40)
        self.expect_none(copied(2), "second-copy-of-weights")  # it is a segment of 20 MiB, but holds 6

    def test_shapes(self):
        def model(lengths):
            return train(len(lengths), lambda t, r: [t.alloc(lengths[r] * (1 + n) / 8, FORWARD) for n in range(6)])
        self.expect(model([200, 232, 264, 296, 328, 360, 392, 424]), "variable-shapes", 700, 4000, "net.py:10")
        self.expect_none(model([424] * 8), "variable-shapes")


        def beside(t, r):
            if r == 0:
                t.alloc(5000, WEIGHTS)
            return [t.alloc((25 + 4 * r) * (1 + n), FORWARD) for n in range(6)]
        found = diagnosed(train(8, beside))["variable-shapes"]
        self.assertLess(found["saves_bytes"] * 5, found["saves_bytes"] + found["peak_reserved_then_bytes"])  # a tenth is enough

    def test_uneven_devices(self):
        def split(*weights, on_first=(), held=0):
            traces = []
            for mib in weights:
                t = Trace()
                t.alloc(mib, WEIGHTS)
                if held:
                    t.alloc(mib * held, STEP)
                for n, own in enumerate(on_first if not traces else ()):
                    t.alloc(own, [("collect", "gather.py", 3 + n), ("<module>", "train.py", 6)])
                for _ in range(5):
                    t.free(t.alloc(4, FORWARD), t.alloc(2, FORWARD))
                traces.append(t.snapshot())
            both = Trace()
            both.snapshot = lambda: {
                "segments": [{**row, "device": d} for d, one in enumerate(traces) for row in one["segments"]],
                "device_traces": [one["device_traces"][0] for one in traces]}
            return both
        self.expect(split(1000, 10), "uneven-devices", 450, 520, "train.py:5")  # the other one is small, but works
        self.expect(split(100, 100, on_first=(300, 500)), "uneven-devices", 798, 802, "gather.py:4")  # both lines go
        self.expect(split(1000, 10, held=2), "uneven-devices", 1400, 1600, "train.py:5")  # who dealt the layers out
        self.expect_none(split(1000, 900), "uneven-devices")
        self.assertIn("equal_work", diagnosed(split(1000, 10))["uneven-devices"]["snippet"])  # one line runs on both

    def test_graph_that_no_backward_pass_uses(self):
        teacher = [[(name, "teach.py", 10 + n)] + FORWARD[1:] for n, name in enumerate(("conv", "norm", "act"))]

        def distil(keep):
            def forward(t, r):
                made = [t.alloc(24, teacher[n % 3]) for n in range(9)]
                if not keep:
                    t.free(*made[:-1])
                return made if keep else made[-1:]
            return train(5, forward, weights=8, size=8)
        self.expect(distil(True), "no-inference-mode", 130, 220, "teach.py:1")
        self.expect_none(distil(False), "no-inference-mode")
        self.expect_none(train(5, weights=8), "no-inference-mode")
        clipped = [("clip", "train.py", 23), ("<module>", "train.py", 30)]  # copies of gradients are no graph
        self.expect_none(train(5, in_backward=lambda t, r: [t.alloc(32, clipped) for _ in range(8)], weights=8), "no-inference-mode")

    def test_copies_of_logits(self):
        loss = [("cross_entropy", TORCH + "nn/functional.py", 9)] + FORWARD[1:]

        def model(*mib):
            return train(5, lambda t, r: [t.alloc(m, FORWARD if i + 1 < len(mib) else loss) for i, m in enumerate(mib)],
                         lambda t, r: [t.alloc(m, AUTOGRAD) for m in (600, 600)], weights=2)
        shifted = model(606, 600, 600)
        self.expect(shifted, "vocabulary-copies", 1500, 3100)
        self.assertEqual(diagnosed(shifted)["vocabulary-copies"]["severity"], "warning")
        plain = diagnosed(model(600, 600))["vocabulary-copies"]  # every such loss has them
        self.assertEqual(plain["severity"], "info")

    def test_casts_are_a_choice_where_something_is_trained(self):
        cast = [("forward", TORCH + "nn/modules/linear.py", 134), *FORWARD]
        found = diagnosed(train(5, lambda t, r: [t.alloc(64, cast) for _ in range(4)], size=128))["autocast-weight-casts"]
        self.assertEqual(found["severity"], "info")
        self.assertTrue(found["is_choice"])

    def test_capacity_without_a_stack_names_the_largest_site(self):
        t = Trace()
        for _ in range(8):
            t.alloc(500, WEIGHTS)
        t.free(t.alloc(8, FORWARD))
        t.trace.append({"action": "oom", "device_free": 100 * MIB, "size": 400 * MIB, "stream": 0, "time_us": t.clock(), "frames": []})
        self.assertIn("train.py:5", diagnosed(t)["plain-capacity"]["site"])

    def test_what_several_layers_make_is_no_vocabulary(self):
        def wide(lines):
            linear = [[("forward", TORCH + "nn/modules/linear.py", 134), ("forward", "net.py", 30 + n), *FORWARD[1:]] for n in range(3)]

            def forward(t, r):
                return [t.alloc(8, FORWARD)] + [t.alloc(400, linear[n % lines]) for n in range(3)]
            return train(5, forward, lambda t, r: [t.alloc(32, AUTOGRAD)], weights=1, width=2)
        one = "vocabulary-copies" in diagnosed(wide(1))
        self.assertTrue(one)
        self.expect_none(wide(3), "vocabulary-copies")

    def test_similarities_of_a_batch_are_no_logits(self):
        loss = [("cross_entropy", TORCH + "nn/functional.py", 9)] + FORWARD[1:]

        def model(first, second):  # what is made of the last gradient of that size: of both batches, or of a weight
            def backward(t, r):
                made = [t.alloc(600, AUTOGRAD) for _ in range(2)]
                parts = [t.alloc(mib, AUTOGRAD) for mib in (first, second)]
                t.free(*made, *parts[:1])
                if first == second:
                    t.free(parts[1])
                t.free(t.alloc(8, AUTOGRAD))
                return parts[1:] if first != second else []
            return train(5, lambda t, r: [t.alloc(m, stack) for m, stack in ((606, FORWARD), (600, loss), (600, loss))], backward, weights=2)
        self.expect_none(model(20, 20), "vocabulary-copies")
        self.expect(model(20, 32), "vocabulary-copies", 1500, 3100)

    def test_reference_of_a_step_that_begins_early(self):
        """What a callback lets go of only after the next step began to be counted."""
        def hold(keep):
            old = []

            def forward(t, r):
                t.free(*old[:-1])
                del old[:-1]
                new = t.alloc(80, [("head", "net.py", 12)] + FORWARD[1:])
                old.extend([new] if keep else [])
                return [] if keep else [new]
            return train(6, forward)
        self.expect(hold(True), "stale-reference", 70, 90, "net.py:12")
        self.expect_none(hold(True), "tensors-in-a-list")
        self.expect_none(hold(False), "stale-reference")

    def test_feed_forward_network_is_no_attention(self):
        line = [("forward", "net.py", 7), ("<module>", "train.py", 20)]
        t = Trace()
        t.alloc(8, WEIGHTS)
        for _ in range(3):
            kept = [t.alloc(mib, line) for _ in range(4) for mib in (0.5, 0.5, 128, 128, 32, 32, 32, 32)]
            for block in reversed(kept):
                t.free(t.alloc(1, AUTOGRAD), block)
        self.expect_none(t, "unfused-attention")

    def test_frozen(self):
        def frozen(t, r):
            if r == 0:
                for _ in range(3):
                    t.alloc(32, AUTOGRAD)
            return [t.alloc(32, AUTOGRAD)]
        self.expect(train(5, gradients=frozen), "frozen-gradients", 90, 400, "train.py:22")
        self.expect_none(train(5), "frozen-gradients")

        def zeroed(t, r):
            """All weights have theirs from the first round on; what is added to one of them stays for a while."""
            made = [t.alloc(32, AUTOGRAD) for _ in range(1 if r else 4)]
            return made if r else []
        self.expect_none(train(5, gradients=zeroed), "frozen-gradients")


if __name__ == "__main__":
    unittest.main()
