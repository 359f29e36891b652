#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gmanalyze --gpu CARD: the plan as gmreplay makes it, as a line, a section, a key and a picture."""
import json
import os
import subprocess

from harness import MIB, SOURCE, Case, Recorded, frame, main, write

DEMO = os.path.join(SOURCE, "tests", "data", "demo.gmtrace")


def weights_of(gib, refused=0, left=0):
    """A run that holds so much from its first line on, and a forward pass; then, perhaps, it runs out of memory."""
    allocator = Recorded()
    for n in range(gib * 4):
        allocator.alloc(256 * MIB, [frame("__init__", "/app/model.py", 1 + n % 3), frame("<module>", "/app/train.py", 3)])
    allocator.free(allocator.alloc(8 * MIB, [frame("forward", "/app/model.py", 9), frame("<module>", "/app/train.py", 5)]))
    if refused:
        allocator.trace.append({"action": "oom", "addr": left, "size": refused, "stream": 0, "time_us": 10**6,
                                "frames": [frame("forward", "/app/model.py", 12), frame("<module>", "/app/train.py", 5)]})
    return allocator.snapshot()


class Plan(Case):
    def replayed(self, card, trace):
        done = subprocess.run([os.environ["GMREPLAY"], "-q", "--json", "-", "--plan", card, trace], check=False,
                              stdout=subprocess.PIPE, timeout=300)
        self.assertIn(done.returncode, (0, 1))
        return json.loads(done.stdout)["plan"]

    def planned(self, card, trace, *options):
        done = self.run_it("--gpu", card, *options, trace)
        lines = dict((line[:8].strip(), line[8:]) for line in done.stdout.decode().splitlines())
        folder = self.at("results", self.latest())
        with open(os.path.join(folder, "analysis.json"), encoding="utf-8") as file:
            plan = json.load(file).get("plan")
        texts = []
        for name in ("analysis_report.txt", "README.md"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                texts.append(file.read())
        return plan, lines, texts, set(os.listdir(folder))

    def test_is_the_replays(self):
        plan, lines, (text, readme), files = self.planned("rtx-4060", DEMO)
        self.assertEqual(plan, self.replayed("rtx-4060", DEMO))
        self.assertTrue(plan["is_enough"])
        self.assertGreaterEqual(len(plan["steps"]), 2)
        self.assertRegex(lines["Plan"], r"^rtx-4060: runs with \w+")
        self.assertIn("\nPLAN FOR GEFORCE RTX 4060 8 GB\n", text)
        self.assertIn("\n## Plan for GeForce RTX 4060 8 GB\n", readme)
        self.assertIn("](plan.png)", readme)
        self.assertIn("plan.png", files)
        for name in ("as recorded", "price: "):
            self.assertIn(name, text)
        self.assertNotIn("| price: ", readme)  # its column is called so

    def test_cheapest(self):
        """No fix stands in it where cheaper ones are enough, however few: not more devices for what a code fix or time
        does; and the last row is within the card."""
        def of(program, card):
            return self.replayed(card, os.path.join(SOURCE, "tests", "data", program))
        for program, card, fix in (("oom_mid_training", "rtx-3060", "Call torch.nn.functional.scaled_dot_product_attention"),
                                   ("no_room_for_training", "rtx-4060", ("optimizer state on the host", "Keep them on the host"))):
            _, step = of(f"zoo/{program}@2.15.0.gmtrace", card)["steps"]
            self.assertTrue(step["fix"].startswith(fix), step)
        _, lines, *_ = self.planned("rtx-3060", os.path.join(SOURCE, "tests/data/zoo/oom_mid_training@2.15.0.gmtrace"))
        self.assertEqual(lines["Plan"], "rtx-3060: gets past its out of memory with fused attention; the rest is unknown")
        plan = of("demo.gmtrace", "rtx-3080")  # without the setting it would run, too, but give its cache back
        self.assertEqual([step["fix"][:20] for step in plan["steps"][1:]], ["expandable_segments:", "Checkpoint the layer"])
        self.assertEqual(plan["num_alloc_retries"], 0)
        plan = of("demo.gmtrace", "rtx-2080-ti")
        self.assertLessEqual(plan["steps"][-1]["peak_reserved_bytes"], plan["capacity_bytes"])
        self.assertRegex(plan["steps"][-1]["fix"], r"^the cache goes back \d+ times?$")
        self.assertFalse(any("devices" in (step["costs"] or "") for step in plan["steps"]))

    def test_ignored(self):
        """The setting that would mend what is ignored is no fix of a plan."""
        plan, lines, _, _ = self.planned("rtx-4060", DEMO, "--ignore", "variable-shapes")
        self.assertNotIn("expandable", lines["Plan"] + json.dumps(plan))
        for rule in ("variable-shapes", "replayed-settings"):
            done = subprocess.run([os.environ["GMREPLAY"], "--plan", "rtx-4060", "--ignore", rule, DEMO], check=False,
                                  capture_output=True, timeout=300)
            self.assertNotIn(b"expandable_segments:True  ", done.stdout)
            self.assertNotIn(b"nothing fell under", done.stderr)

    def test_recorded_out_of_memory(self):
        """The card that it ran out of memory on is too small as it is, whatever was served before; what was recorded is
        said, the request that was refused is asked for again, and the end is not known on a larger one, either."""
        write(self.snapshot, weights_of(20, refused=6 * 1024 * MIB, left=4 * 1024 * MIB))
        plan, lines, (text, _), _ = self.planned("rtx-3090", self.snapshot, "--no-charts")
        self.assertNotIn("as it is", lines["Plan"])
        self.assertEqual(plan["recorded_end"], "out of memory at event 164 of device 0 (6.00 GiB refused)")
        self.assertIn("the recording ended out of memory at event 164", " ".join(text.split()))
        plan, lines, *_ = self.planned("a100-40", self.snapshot, "--no-charts")
        self.assertEqual(lines["Plan"], "a100-40: gets past its out of memory as it is; the rest is unknown")
        self.assertIsNone(plan["is_enough"])

    def test_not_enough(self):
        """30 GiB, which no fix of the catalogue makes smaller than 11: parameters on 8 ranks are 3.8."""
        write(self.snapshot, weights_of(30))
        plan, lines, _, files = self.planned("rtx-3060", self.snapshot, "--no-charts")
        self.assertNotIn("plan.png", files)
        roomy, said, *_ = self.planned("a100-40", self.snapshot, "--no-charts")
        self.assertEqual((roomy["is_enough"], len(roomy["steps"]), said["Plan"]), (True, 1, "a100-40: runs as it is"))
        if plan["is_enough"]: # by roles: weights have an eighth
            self.assertIn("ZeRO-3", lines["Plan"])
        else:
            self.assertEqual(plan["missing_bytes"], plan["steps"][-1]["peak_reserved_bytes"] - plan["capacity_bytes"])
            self.assertRegex(lines["Plan"], r"^rtx-3060: not enough with all \d fixes, [\d.]+ GiB missing$")

    def test_none(self):
        """Without a card, of a part of a trace, and without one."""
        self.assertIsNone(self.analysis(self.snapshot).get("plan"))
        plan, lines, *_ = self.planned("rtx-4060", self.snapshot, "--from", "1")
        self.assertEqual((plan, "Plan" in lines), (None, False))
        snapshot = weights_of(1)
        snapshot["device_traces"] = [[]]
        plan, lines, *_ = self.planned("rtx-4060", write(self.snapshot, snapshot))
        self.assertEqual((plan, "Plan" in lines), (None, False))


main()
