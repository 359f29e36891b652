#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mistakes in runs made by hand: what is to do first, which line it blames, what a replay says that mending it saves."""
import json
import os

from harness import MIB, SOURCE, Case, Run, main, write


class Mistakes(Case):
    def to_do(self, run):
        return self.analysis(write(self.at("s.pickle"), run.snapshot()))["to_do"]

    def assert_first(self, run, name, site, saves):
        first = self.to_do(run)[0]
        self.assertEqual(first["id"], name)
        self.assertIn(site, first["site"])
        self.assertAlmostEqual(first["saves_bytes"] / MIB, saves, delta=0.1 * saves)
        self.assertTrue(first["fix"])
        place, *lines = first["snippet"].split("\n")
        self.assertTrue(place.startswith("@@ ") and site.split(", from")[0].split(" ")[-1] in place, first["snippet"])
        self.assertTrue(lines and all(line[0] in "-+ " for line in lines), first["snippet"])
        with open(self.at("results", self.latest(), "README.md"), encoding="utf-8") as readme:
            self.assertIn("\n   ```diff\n   " + "\n   ".join([place, *lines]) + "\n   ```\n", readme.read())

    def test_stale_reference(self):
        """Logits of 300 MiB are freed when the next ones have been made."""
        run, logits = Run(), None
        for _ in range(5):
            hidden = run.forward()
            new = run.alloc(300, 11, ("head", 9))
            if logits:
                run.free(logits)
            logits = new
            run.free(hidden)
        self.assert_first(run, "stale-reference", "head  app/model.py:9, from train.py:11", 300)

    def test_no_room_and_no_stacks(self):
        """Memory runs out where nobody recorded who asked for it."""
        report = self.analysis(os.path.join(SOURCE, "tests", "data", "roles", "memory_runs_out.bare.gmtrace"))
        self.assertIn("plain-capacity", [row["id"] for row in report["findings"]])

    def test_list(self):
        """80 MiB of every round are kept to the end: all but those of the last could be elsewhere."""
        run = Run()
        for _ in range(8):
            hidden = run.forward()
            run.alloc(80, 11, ("features", 9))
            run.free(hidden)
        self.assert_first(run, "tensors-in-a-list", "features  app/model.py:9", 560)

    def test_longer_than_is_replayed(self):
        """Logits of 300 MiB that live too long are told without a figure; those of 12 MiB, 2 % of the peak, are not."""
        runs = {}
        for size in (300, 12):
            run, logits = Run(), None
            for _ in range(5):
                hidden = run.forward()
                new = run.alloc(size, 11, ("head", 9))
                layers = [run.alloc(60, 11, ("head", n)) for n in range(20, 30)]
                run.free(hidden, *layers, *([logits] if logits else []))
                logits = new
            runs[size] = write(self.at(f"{size}.pickle"), run.snapshot())

        def told(*arguments):
            return {row["id"]: row["saves_bytes"] for row in self.analysis(*arguments)["to_do"]}

        self.assertEqual(told("--replay-events", "0", runs[300])["stale-reference"], 300 * MIB)
        self.assertIsNone(told("--replay-events", "40", runs[300])["stale-reference"])
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            self.assertIn("What would be saved is not known: the trace has more than 40 events.", file.read())
        self.assertIn("stale-reference", told(runs[12]))
        self.assertNotIn("stale-reference", told("--replay-events", "40", runs[12]))

    def test_loss_keeps_graph(self):
        """Three tensors of a round are there to the end; the line that made what is made of them holds them."""
        run = Run()
        for _ in range(6):
            for n in (3, 4, 5):
                run.alloc(40, 10, ("layer", n))
            run.alloc(1, 12)
        self.assert_first(run, "loss-keeps-graph", "<module>  app/train.py:12", 603)

    def test_forward_only(self):
        """Layers that are kept, and then the trace is over: no copies of weights, whatever their sizes are."""
        run = Run()
        for _ in range(4):
            for n in (3, 4):
                run.alloc(60, 10, ("layer", n), ("_call_impl", 99))
        ids = [entry["id"] for entry in self.to_do(run)]
        self.assertEqual(ids[0], "forward-only")
        self.assertFalse({"checkpoint-beside-model", "second-copy-of-weights", "healthy"} & set(ids), ids)

    def test_output_without_a_graph(self):
        """Layers whose tensors go while the next ones are made, and an output that stays: inference_mode is on."""
        run = Run()
        for _ in range(2):
            before = None
            for n in range(3, 11):
                block = run.alloc(60, 10, ("layer", n), ("_call_impl", 99))
                if before:
                    run.free(before)
                before = block
            run.alloc(300, 10, ("head", 20), ("_call_impl", 99))
            run.free(before)
        analysis = self.analysis(write(self.at("s.pickle"), run.snapshot()))
        self.assertNotIn("forward-only", [finding["id"] for finding in analysis["findings"]])
        self.assertNotIn("inference_mode", json.dumps([analysis["findings"], analysis["headline"]]))

    def test_attention_of_a_forward_pass(self):
        """Scores of hand-written attention are there to the end of such a trace."""
        run = Run()
        for _ in range(4):
            for size, name, line in ((8, "attention", 20), (64, "attention", 21), (64, "softmax", 22), (8, "attention", 23)):
                run.alloc(size, 10, (name, line), ("_call_impl", 99))
        self.assert_first(run, "unfused-attention", "app/model.py", 512)

    def test_pending(self):
        """200 MiB wait for another stream, round after round, while the next are made."""
        run, blocks = Run(), []
        for _ in range(5):
            hidden = run.forward()
            block = run.alloc(200, 11)
            run.allocator.used_by_other_stream(block, 1 << 62)
            run.free(block, hidden)
            blocks.append(block)
        first = self.to_do(run)[0]
        self.assertEqual(first["id"], "pending-on-streams")
        self.assertIn("train.py:11", first["site"])

    def test_mended(self):
        """The same loop without any of it: nothing is to do, and the line on top says so."""
        run = Run()
        for _ in range(5):
            hidden = run.forward()
            run.free(run.alloc(300, 11, ("head", 9)), hidden)
        path = write(self.at("s.pickle"), run.snapshot())
        found = self.analysis(path)
        self.assertFalse([f["id"] for f in found["findings"] if f["severity"] != "info"])
        self.assertFalse([item for item in found["to_do"] if item["saves_bytes"]])


main()
