# SPDX-License-Identifier: Apache-2.0
"""gmreplay --sweep and --fit as their users meet them: what they print, exit codes, refusals. What gmanalyze replays."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import MIB, Case, Recorded, frame, main, small_snapshot, write  # noqa: E402

DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "demo.gmtrace")
BINARY = os.environ.get("GMREPLAY") or sys.exit("GMREPLAY names the binary to test")


def splitting_snapshot():
    """Blocks of 10, 30 and 50 MiB, each in a segment of its own since the one before is still there; all are freed,
    then 84 MiB are asked for: no segment is that large, so the default allocator reserves 174 MiB. Expandable pages of
    20 MiB are joined again: 100 MiB, for 10 + 30 + 50 = 90 MiB were live."""
    allocator = Recorded()
    blocks = [allocator.alloc(n * MIB, [frame("forward", "/app/model.py", n)]) for n in (10, 30, 50)]
    for block in blocks:
        allocator.free(block)
    allocator.alloc(84 * MIB, [frame("step", "/app/train.py", 7)])
    return allocator.snapshot()


class Search(Case):
    def setUp(self):
        super().setUp()
        self.splitting = write(os.path.join(self.folder, "splitting.pickle"), splitting_snapshot())

    def replay(self, *arguments, code=0):
        done = subprocess.run([BINARY, *arguments], cwd=self.folder, timeout=120, capture_output=True,
                              stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr[:600]!r}")
        return done

    def told(self, *arguments, **options):
        """The text, however its lines are broken."""
        return " ".join(self.replay(*arguments, **options).stdout.decode().split())

    def numbers(self, *arguments, code=0):
        return json.loads(self.replay("--json", "-", *arguments, code=code).stdout)

    def test_sweep(self):
        found = self.numbers("--sweep", self.splitting)
        sweep = found["sweep"]
        self.assertEqual((sweep["start"], sweep["memory_bytes"], sweep["recorded_peak_reserved_bytes"]),
                         ("requests", None, 174 * MIB))
        self.assertEqual(sweep["baseline"]["peak_reserved_bytes"], 174 * MIB)
        plain = [r for r in sweep["rows"] if r["alloc_conf"] == "expandable_segments:True"]
        self.assertEqual([(r["peak_reserved_bytes"], r["saved_bytes"], r["runs"], r["oom"]) for r in plain],
                         [(100 * MIB, 74 * MIB, True, None)])
        self.assertLessEqual(sweep["rows"][0]["peak_reserved_bytes"], 100 * MIB)
        self.assertGreaterEqual(sweep["rows"][0]["peak_reserved_bytes"], 90 * MIB)
        line = sweep["winner"]["line"]
        self.assertEqual(line, "PYTORCH_ALLOC_CONF=" + sweep["rows"][0]["alloc_conf"])
        text = self.told("--sweep", self.splitting)
        self.assertIn(line, text)
        self.assertIn("baseline: PyTorch's defaults", text)
        self.assertNotIn("fit", found)

    def test_lines_are_not_wide(self):
        """But for lines to copy. Long settings are broken between two options; together again they are the rows'."""
        self.replay("--sweep", "--fit", "--limit", "100MiB", "--summary", "s.txt", "--json", "s.json", self.splitting,
                    code=1)
        with open(os.path.join(self.folder, "s.txt"), encoding="utf-8") as file:
            lines = [line for line in file.read().split("\n") if not re.match("Trace|    PYTORCH_ALLOC_CONF=", line)]
        self.assertLessEqual(max(map(len, lines)), 80)
        with open(os.path.join(self.folder, "s.json"), encoding="utf-8") as file:
            rows = json.load(file)["sweep"]["rows"]
        last = next(i for i, line in enumerate(lines) if line.startswith(("  Best settings", "  No change")))
        text = "".join(line if re.match(r"  +[\d.]+ [KMG]iB ", line) else line.strip() + "\t" for line in lines[:last])
        told = [re.split(r"any|\d+\.\d+\+", row)[-1] for row in re.split(r"  +[\d.]+ [KMG]iB +[-+\d]", text)[1:]]
        self.assertEqual([t.replace("\t", "").replace(", ", ",") for t in told if not t.startswith("baseline: ")],
                         [r["alloc_conf"] or "PyTorch's defaults" for r in rows if not r["is_baseline"]])

    def test_simpler(self):
        """Nearly as good as the best for any version, by at most a hundredth of the baseline's peak, and with fewer
        options: the first such row of the sorted ones, or none."""
        def options(row):
            text = re.sub(r"\[[^]]*\]", "", row["alloc_conf"])
            return text.count(":")

        allocator = Recorded()
        for round in range(40):  # sizes that come and go, so that many settings differ a little
            blocks = [allocator.alloc((3 + (7 * round + 5 * n) % 61) * MIB, [frame("f", "/app/model.py", n)])
                      for n in range(12)]
            for block in blocks[round % 2::2] + blocks[1 - round % 2::2]:
                allocator.free(block)
        uneven = write(os.path.join(self.folder, "uneven.pickle"), {
            "segments": allocator.snapshot_segments(), "device_traces": [allocator.trace], "external_annotations": []})
        for path in (self.splitting, uneven):
            sweep = self.numbers("--sweep", path)["sweep"]
            baseline, rows = sweep["baseline"]["peak_reserved_bytes"], sweep["rows"]
            usual, simpler = sweep["winner_for_any_version"], sweep["winner_simpler"]
            self.assertIsNotNone(usual)
            fewest = next(options(r) for r in rows if "PYTORCH_ALLOC_CONF=" + r["alloc_conf"] == usual["line"])
            most = rows[0]["peak_reserved_bytes"] + baseline // 100
            near = [r for r in rows if r["runs"] and not r["is_baseline"] and r["needs_pytorch"] is None and
                    options(r) < fewest and r["peak_reserved_bytes"] <= most and
                    100 * (baseline - r["peak_reserved_bytes"]) >= baseline]
            best = min(near, key=options, default=None)
            self.assertEqual(simpler and simpler["line"], best and "PYTORCH_ALLOC_CONF=" + best["alloc_conf"])
            text = self.told("--sweep", path)
            self.assertEqual("Nearly as good, and simpler:" in text, best is not None)

    def test_bounds(self):
        """90 MiB are live, and can lie one above the other; 84 fit in their place."""
        (bounds,) = self.numbers("--sweep", self.splitting)["bounds"]
        self.assertEqual((bounds.pop("plan_kind"), bounds.pop("separate_plan_kind")), ("by size", "by size"))
        self.assertEqual({k: v // MIB for k, v in bounds.items()}, {
            "device": 0, "recorded_peak_reserved_bytes": 174, "live_bytes": 90, "active_bytes": 90, "plan_bytes": 90,
            "separate_active_bytes": 90, "separate_plan_bytes": 90, "peak_reserved_bytes": 174})

    def test_nothing_to_win(self):
        """72 MiB are reserved for a block of 30, a freed one of 40 and a small one: their segments are just as large."""
        found = self.numbers("--sweep", "--memory", "1GiB", write(os.path.join(self.folder, "s.pickle"), small_snapshot()))
        self.assertIsNone(found["sweep"]["winner"])
        text = self.told("--sweep", self.snapshot)
        self.assertIn("No change is recommended", text)
        self.assertNotIn("PYTORCH_ALLOC_CONF=", text)

    def test_fit(self):
        """With less than 174 MiB the allocator gives back what it has cached before it fails: 90 MiB are enough."""
        found = self.numbers("--fit", self.splitting)
        self.assertNotIn("sweep", found)
        self.assertEqual(found["fit"]["granule_bytes"], 2 * MIB)
        fits = {f["of"]: f for f in found["fit"]["settings"]}
        self.assertEqual((fits["baseline"]["capacity_bytes"], fits["baseline"]["lower_bound_bytes"]), (90 * MIB, 90 * MIB))
        less = fits["baseline"]["next_lower"]
        self.assertEqual((less["capacity_bytes"], less["oom"]["event"], less["oom"]["requested_bytes"]),
                         (88 * MIB, 5, 50 * MIB))
        self.assertEqual(fits["baseline"]["gpu"], "rtx-4060")
        # 84 MiB find no memory until what is cached went back; the card has room for all of it
        self.assertEqual((fits["baseline"]["num_alloc_retries"], fits["baseline"]["gpu_num_alloc_retries"]), (1, 0))
        text = self.told("--fit", self.splitting)
        self.assertIn("runs with 90.00 MiB (--memory 90MiB), with 1 retry; lower bound 90.00 MiB", text)
        self.assertIn("fails with 2 MiB less: device 0, event 5, 50.00 MiB for forward", text)
        self.assertIn(" Start nothing was live before the trace ", self.told("--memory", "90MiB", self.splitting))
        self.replay("--memory", str(88 * MIB), self.splitting, code=1)

    def test_devices_without_events(self):
        """Device 1 has 100 MiB reserved and no events: it needs them wherever the rest runs."""
        snapshot = splitting_snapshot()
        snapshot["device_traces"].append([])
        snapshot["segments"].append({"device": 1, "address": 1 << 40, "total_size": 100 * MIB, "stream": 0,
                                     "segment_type": "large", "allocated_size": 0, "active_size": 0,
                                     "blocks": [{"size": 100 * MIB, "state": "inactive"}]})
        path = write(os.path.join(self.folder, "two.pickle"), snapshot)
        for fit in self.numbers("--fit", path)["fit"]["settings"]:
            self.assertEqual((fit["capacity_bytes"], fit["lower_bound_bytes"]), (100 * MIB, 100 * MIB))
            less = fit["next_lower"]
            self.assertEqual((less["capacity_bytes"], less["oom"]["device"], less["oom"]["event"]), (98 * MIB, 1, None))
        self.assertIn("too little with 2 MiB less: device 1, which has no events, has more reserved",
                      self.told("--fit", path))
        self.replay("--memory", str(100 * MIB), path)
        self.replay("--memory", str(98 * MIB), path, code=1)
        rows = self.numbers("--sweep", "--limit", "99MiB", path, code=1)["sweep"]["rows"]
        self.assertFalse(any(row["passes_limit"] for row in rows))
        rows = self.numbers("--sweep", "--memory", "99MiB", path, code=1)["sweep"]["rows"]
        self.assertFalse(any(row["runs"] for row in rows))

    def test_exit_codes(self):
        """The verdict is the baseline's, whatever the sweep finds. 80 MiB do not hold the 90 that are live."""
        found = self.numbers("--sweep", "--limit", "120MiB", self.splitting, code=1)
        self.assertEqual(found["verdict"], "FAIL")
        passing = {r["alloc_conf"]: r["passes_limit"] for r in found["sweep"]["rows"]}
        self.assertTrue(passing["expandable_segments:True"])
        self.assertFalse(found["sweep"]["baseline"]["passes_limit"])
        self.assertEqual(self.numbers("--sweep", "--limit", "180MiB", self.splitting)["verdict"], "PASS")
        found = self.numbers("--sweep", "--memory", "80MiB", self.splitting, code=1)
        self.assertEqual((found["verdict"], found["sweep"]["winner"]), ("OOM", None))
        self.assertTrue(all(r["oom"]["event"] is not None and not r["runs"] for r in found["sweep"]["rows"]))

    def test_another_baseline(self):
        found = self.numbers("--sweep", "--alloc-conf", "expandable_segments:True", self.splitting)
        self.assertEqual(found["sweep"]["baseline"]["alloc_conf"], "expandable_segments:True")
        self.assertEqual(found["sweep"]["baseline"]["peak_reserved_bytes"], 100 * MIB)
        self.assertIn("", [r["alloc_conf"] for r in found["sweep"]["rows"]])

    def test_memory_is_no_matter_to_fit(self):
        found = self.numbers("--fit", "--memory", "80MiB", self.splitting, code=1)
        self.assertEqual(found["verdict"], "OOM")
        self.assertEqual(found["fit"]["settings"][0]["capacity_bytes"], 90 * MIB)

    def test_threads(self):
        for options in (["--sweep"], ["--fit", "--sweep"]):
            texts = {self.replay(*options, "-j", n, self.splitting).stdout for n in ("1", "2", "7")}
            self.assertEqual(len(texts), 1)

    def test_summary_has_all_rows(self):
        self.replay("--sweep", "--summary", "all.txt", self.splitting)
        with open(os.path.join(self.folder, "all.txt"), encoding="utf-8") as file:
            text = file.read()
        rows = self.numbers("--sweep", self.splitting)["sweep"]["rows"]
        self.assertEqual(sum(" runs " in line for line in text.splitlines()), len(rows))

    def test_what_to_do_is_replayed(self):
        """gmanalyze: each entry's saving is on top of those above it, and the first one's what gmreplay replays."""
        subprocess.run([os.environ["GMANALYZE"], "-q", "--no-charts", "--json", "all.json", DEMO],
                       cwd=self.folder, timeout=120, check=True, stdin=subprocess.DEVNULL)
        with open(os.path.join(self.folder, "all.json"), encoding="utf-8") as file:
            told = [t for t in json.load(file)["to_do"] if t["saves_bytes"] is not None]
        peak, then = (self.numbers("--memory", "1000TiB", *options, DEMO)["devices"][0]["peak_reserved_bytes"]
                      for options in ([], ["--alloc-conf", "expandable_segments:True"]))
        self.assertEqual((told[0]["finding"], told[0]["saves_bytes"]), ("variable-shapes", peak - then))
        for entry in told:
            self.assertEqual(entry["saves_after_those_above"], peak - entry["peak_reserved_then_bytes"])
            peak = entry["peak_reserved_then_bytes"]

    def test_plan(self):
        """What is not needed is not planned; settings are what the option replays; each step is on top of the one before."""
        plan = self.numbers("--plan", "h100-80", DEMO)["plan"]
        self.assertEqual((plan["is_enough"], [s["fix"] for s in plan["steps"]]), (True, ["as recorded"]))
        plan = self.numbers("--plan", "rtx-5070", DEMO)["plan"]
        self.assertEqual((plan["is_enough"], plan["missing_bytes"], plan["capacity_bytes"]),
                         (True, None, plan["usable_bytes"] - plan["usable_bytes"] // 20))
        self.assertEqual([(s["fix"], s["costs"]) for s in plan["steps"]],
                         [("as recorded", None), ("expandable_segments:True", "none")])
        peaks = [self.numbers("--memory", "1000TiB", *options, DEMO)["devices"][0]["peak_reserved_bytes"]
                 for options in ([], ["--alloc-conf", "expandable_segments:True"])]
        self.assertEqual([s["peak_reserved_bytes"] for s in plan["steps"]], peaks)
        self.assertEqual([s["saves_bytes"] for s in plan["steps"]], [None, peaks[0] - peaks[1]])
        self.assertEqual({**plan["alone"][0], "saves_bytes": peaks[0] - peaks[1]}, plan["steps"][1])
        self.assertEqual(len({fix["fix"] for fix in plan["alone"]}), len(plan["alone"]))

    def training(self, weights, kept, states, sign=None):
        """Three steps of weights, what the forward pass keeps, and states of the optimizer, of so many MiB."""
        frames = {"model": [frame("__init__", "/a/torch/nn/modules/linear.py", 99), frame("<module>", "/a/train.py", 1)],
                  "forward": [frame("forward", "/a/torch/nn/modules/linear.py", 130), frame("<module>", "/a/train.py", 5)],
                  "backward": [frame("backward", "/a/torch/_tensor.py", 626), frame("<module>", "/a/train.py", 6)],
                  "step": [frame("_init_group", "/a/torch/optim/adam.py", 170), frame("step", "/a/torch/optim/adam.py", 240),
                           frame("<module>", "/a/train.py", 7)]}
        allocator = Recorded()
        allocator.alloc(weights * MIB, frames["model"])
        for turn in range(3):
            activation = allocator.alloc(kept * MIB, frames["forward"] + ([frame(sign, "/a/train.py", 2)] if sign else []))
            gradient = allocator.alloc(weights * MIB, frames["backward"])
            allocator.free(activation)
            if turn == 0:
                allocator.alloc(states * MIB, frames["step"])
            allocator.free(gradient)
        return write(os.path.join(self.folder, "training.pickle"), allocator.snapshot())

    def test_bits_of_a_plan(self):
        """In 32 bits all of a program halves, and that is no fix beside 8-bit states; where half the bits show, weights do,
        with what torch's optimizers make like them."""
        for sign in (None, "autocast"):
            path = self.training(256, 512, 512, sign)
            plan = self.numbers("--plan", "h100-80", path)["plan"]
            alone = {fix["fix"]: fix["peak_reserved_bytes"] for fix in plan["alone"]}
            wanted, other = ("weights in half the bits", "model.bfloat16()")[::1 if sign else -1]
            self.assertNotIn(other, alone)
            scaled = ["Parameter", "Gradient", "Optimizer state"] + ([] if sign else ["Activation"])
            options = [word for role in scaled for word in ("--scale", f"{role}=0.5")]
            peak = self.numbers("--memory", "1000TiB", *options, path)["devices"][0]["peak_reserved_bytes"]
            self.assertEqual(alone[wanted], peak)
            self.assertEqual(peak, (1280 if sign else 768) * MIB)

    def test_states_of_a_plan(self):
        """The diagnosis names states, too, and would have them on the host: that is one fix, and 8 bits are another."""
        path = self.training(1024, 256, 2048)
        plan = self.numbers("--plan", "h100-80", path)["plan"]
        alone = [fix["fix"] for fix in plan["alone"]]
        self.assertEqual([fix[:23] for fix in alone if "the host" in fix], ["Keep them on the host ("])
        self.assertIn("8-bit optimizer", alone)

    def test_steps_of_a_plan(self):
        """What saves next to nothing as long as something dearer makes the peak comes after that."""
        path = os.path.join(os.path.dirname(DEMO), "zoo", "slot_server@2.15.0.gmtrace")
        steps = self.numbers("--plan", "rtx-4060", path, code=1)["plan"]["steps"]
        saves = [step["saves_bytes"] >= before["peak_reserved_bytes"] // 100 for before, step in zip(steps, steps[1:])]
        self.assertEqual(saves, sorted(saves, reverse=True))
        self.assertEqual((len(saves), sum(saves)), (7, 4))

    def test_picture_of_a_plan(self):
        """As large as its steps ask for; only beside a plan."""
        heights = []
        for card in ("h100-80", "rtx-5070"):
            self.replay("-q", "--plan", card, "--chart", os.path.join(self.folder, "plan.png"), DEMO)
            with open(os.path.join(self.folder, "plan.png"), "rb") as file:
                head = file.read(24)
            self.assertEqual(head[:8], b"\x89PNG\r\n\x1a\n")
            heights.append(int.from_bytes(head[20:24], "big"))
        self.assertEqual(heights[1] - heights[0], 2 * 48)
        self.replay("--chart", os.path.join(self.folder, "none.png"), DEMO, code=2)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "none.png")))

    def test_plan_that_is_not_enough(self):
        """30 GiB that nobody knows anything about: no fix of the trace touches them."""
        def event(action, size):
            return {"action": action, "addr": 1 << 45, "size": size * MIB, "stream": 0, "frames": []}

        trace = [event("segment_alloc", 30 << 10), event("alloc", 30 << 10)]
        path = write(os.path.join(self.folder, "large.pickle"), {"segments": [], "device_traces": [trace]})
        plan = self.numbers("--plan", "rtx-4060", path, code=1)["plan"]
        self.assertEqual((plan["is_enough"], plan["missing_bytes"]), (False, (30 << 30) - plan["capacity_bytes"]))
        self.assertIn("not enough: with all that the trace can prove 30.00 GiB are reserved: 23.11 GiB are missing",
                      self.told("--plan", "rtx-4060", path, code=1))
        # On a larger card it gets to where it was refused; what it would have needed next nobody knows.
        oom = {"action": "oom", "device_free": MIB, "size": 64 * MIB, "stream": 0, "frames": []}
        path = write(os.path.join(self.folder, "ended.pickle"), {"segments": [], "device_traces": [[*trace, oom]]})
        self.assertIsNone(self.numbers("--plan", "h100-80", path, code=1)["plan"]["is_enough"])
        for options in (["--verify"], ["--steps", "2"]):
            self.replay("--plan", "h100-80", *options, path, code=2)
        self.replay("--plan", "h10000", path, code=2)

    def test_refused(self):
        for options in (["--verify", "--sweep"], ["--verify", "--fit"], ["--sweep", "-j", "0"], ["--sweep", "-j", "x"],
                        ["--sweep", "--alloc-conf", "max_split_size_mb:1"], ["--sweep=yes"]):
            done = self.replay(*options, self.splitting, code=2)
            self.assertRegex(done.stderr.decode(), r"\Agmreplay: [^\n]+\n\Z")
            self.assertEqual(done.stdout, b"")


main()
