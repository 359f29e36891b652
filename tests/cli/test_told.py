#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an engineer is told first, in cases made by hand: the summary's width, findings of the whole, and that nothing is
said of a peak or a history that the file does not have."""
import os
import re
import unicodedata

from harness import MIB, Allocator, Case, Clock, Recorded, Run, frame, main, write

STEP = [frame("forward", "/app/model/attention.py", 12), frame("main", "/app/train.py", 3)]
ZOO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/zoo")
WEIGHTS = [frame("__init__", "/site-packages/torch/nn/modules/linear.py", 3), frame("main", "/app/train.py", 3)]
OTHER = [frame("forward", "/app/model/mlp.py", 7), frame("main", "/app/train.py", 3)]


def run_of(*devices):
    """devices: lists of (MiB, frames, freed at the end). Everything is live at the peak."""
    segments, traces = [], []
    for device, blocks in enumerate(devices):
        allocator = Recorded(device)
        for block in [(allocator.alloc(size * MIB, frames), is_freed) for size, frames, is_freed in blocks]:
            if block[1]:
                allocator.free(block[0])
        segments += allocator.snapshot_segments()
        traces.append(allocator.trace)
    return {"segments": segments, "device_traces": traces, "external_annotations": []}


def without_trace(snapshot):
    return {**snapshot, "device_traces": [[] for _ in snapshot["device_traces"]]}


class Told(Case):
    def findings(self, snapshot):
        found = self.analysis(write(self.at("s.pickle"), snapshot))["findings"]
        return {f["id"]: f for f in found}

    def test_one_site_without_a_trace(self):
        """There is no peak to speak of."""
        with_trace = run_of([(600, STEP, False), (100, OTHER, False)])
        found = self.findings(with_trace)["peak-by-one-site"]
        self.assertIn("at the peak of device 0", found["detail"])
        found = self.findings(without_trace(with_trace))["peak-by-one-site"]
        self.assertNotIn("peak", found["title"] + found["detail"])
        self.assertIn("holds 600.0 MiB of 700.0 MiB requested that are live on device 0", found["detail"])
        self.run_it("--no-charts", self.at("s.pickle"))
        with open(self.at("results", self.latest(), "README.md"), encoding="utf-8") as file:
            self.assertIn("One call site holds much of what is live (600.0 MiB)<br>", file.read())

    def test_many_tensors_of_one_line_without_a_trace(self):
        """A graph would keep what other lines made, too; a list or a hook keeps those of one."""
        of_module = STEP[:1] + [frame("_call_impl", "/site-packages/torch/nn/modules/module.py", 1)] + STEP[1:]
        others = OTHER[:1] + of_module[1:]
        for count, beside, title in ((80, 1, "Many tensors of one line are kept"), (80, 40, "One call site holds much of what is live"),
                                     (40, 1, "One call site holds much of what is live")):
            blocks = [(5 * 80 // count, of_module, False)] * count + [(5, others, False)] * beside
            found = self.findings(without_trace(run_of([(600, WEIGHTS, False), *blocks])))["peak-by-one-site"]
            self.assertEqual(found["title"].split(" (")[0], title)

    def test_one_site_beside_a_mistake(self):
        """What the peak would be without it stands in the table of call sites, and is no fact of its own beside it."""
        run = Run()
        kept = []
        for _ in range(6):
            kept.append(run.alloc(100, 11, ("loss", 9)))
            run.free(run.forward())
        path = write(self.at("s.pickle"), run.snapshot())
        self.assertIn("peak-by-one-site", {f["id"] for f in self.analysis(path)["findings"]})
        self.run_it("--no-charts", path)
        for name in ("analysis_report.txt", "README.md"):
            with open(self.at("results", self.latest(), name), encoding="utf-8") as file:
                text = file.read()
            self.assertNotIn("One call site", text)
            self.assertIn("Without: how high the peak would be", text.replace("*", ""))

    def test_site_of_what_lasts(self):
        """Weights that one line makes: the advice is about weights, and of sites it names what comes and goes."""
        run = run_of([*[(200, WEIGHTS, False)] * 4, (300, STEP, True)])
        run["segments"].pop()  # doubtful, so that nothing is said to be healthy
        found = self.analysis(write(self.at("s.pickle"), run))
        self.assertIn("train.py:3", {f["id"]: f for f in found["findings"]}["peak-by-one-site"]["detail"])
        self.assertEqual([(item["title"].split(" (")[0], item["saves_bytes"]) for item in found["to_do"]][:2],
                         [("One call site carries much of the peak", 300 * MIB),
                          ("Parameters are 72.7 % of the peak", None)], found["to_do"])

    def test_out_of_memory_beside_a_mistake(self):
        """It is told on top and in its section, with the bytes in the appendix; not as a fact once more."""
        run, kept = Run(), []
        for _ in range(6):
            run.alloc(100, 11, ("loss", 9))
            kept.append(run.forward())
        snapshot = run.snapshot()
        snapshot["device_traces"][0].append({"action": "oom", "size": 500 * MIB, "device_free": 100 * MIB, "stream": 0,
                                             "time_us": Clock.now + 9000, "frames": OTHER})
        path = write(self.at("s.pickle"), snapshot)
        found = self.analysis(path)
        self.assertIn("out-of-memory", {f["id"] for f in found["findings"]})
        self.assertNotIn("out-of-memory", {item["id"] for item in found["to_do"]})
        self.run_it("--no-charts", path)
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("\nWhy     ran out of memory, at least 364.0 MiB short", text)  # 36 MiB are cached
        self.assertEqual(text.count("\nOUT OF MEMORY"), 2)
        self.assertEqual(text.count("Out of memory: "), 0)

    def test_what_was_given_back_before_memory_ran_out(self):
        """What a fix saves is of what is reserved without a limit, which is more than there was: both are told."""
        run, logits = Run(), None
        run.free(run.allocator.alloc(500 * MIB, run.stack(8, ("warm_up", 2)), stream=7))
        for turn in range(8):
            hidden = run.forward()
            if turn == 1:
                run.allocator.empty_cache()
            run.alloc(80, 11, ("features", 9))
            new = run.alloc(300, 12, ("head", 33))
            if logits:
                run.free(logits)
            logits = new
            run.free(hidden)
        run.allocator.trace.append({"action": "oom", "addr": 0, "device_free": 0, "size": 900 << 20, "stream": 0,
                                    "time_us": run.allocator.clock(), "frames": run.stack(12, ("head", 33))})
        report = self.analysis(write(self.at("s.pickle"), run.snapshot()))
        self.assertIn("1.43 GiB reserved", report["headline"][0]["text"])
        self.assertIn("saves 680.0 MiB, replayed: 1.93 -> 1.27 GiB reserved", report["headline"][3]["text"])

    def test_card_is_told_once(self):
        """Where the fix above fits on it, it is none that the next one is needed for."""
        self.run_it("-q", "--no-charts", os.path.join(ZOO, "nano_train@2.15.0.gmtrace"))
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            fixes = " ".join(file.read().split("\nTO DO\n")[1].split("\n\n  1. ")[0].split())
        self.assertEqual(fixes.count("then it fits on rtx-4060 "), 1)

    def test_cache_of_keys_is_told_first(self):
        """Most of a server's memory is its cache; that of a large prompt, freed since, is no more than a fact."""
        server = Recorded()
        server.alloc(800 * MIB, [frame("__init__", "/app/model.py", 5), frame("main", "/app/serve.py", 3)])
        for _ in range(16):
            server.alloc(500 * MIB, [frame("allocate_kv_cache", "/app/kv_cache.py", 12), frame("main", "/app/serve.py", 5)])
        for size in (430, 20, 20, 20):
            server.free(server.alloc(size * MIB, STEP))
        told = self.run_it("--no-charts", write(self.at("s.pickle"), {
            "segments": server.snapshot_segments(), "device_traces": [server.trace]})).stdout.decode()
        self.assertRegex(told, r"\nWhy +No known mistake; the cache of keys and values makes most of the peak \(7\.81 GiB\)\n")
        self.assertRegex(told, r"\nWhere +allocate_kv_cache  app/kv_cache\.py:12, from \w+\.py:\d+\n")

    def test_choice_is_no_mistake(self):
        """States of Adam, in a run in which nothing is wrong: that is said first, and what less would cost. Each figure is
        of what is listed: what a replay showed to be in vain is below nothing."""
        path = os.path.join(ZOO, "healthy_checkpointed@2.15.0.gmtrace")
        lines = self.run_it("--no-charts", path).stdout.decode().splitlines()
        self.assertRegex(lines[2], r"^Why +No known mistake; states of the optimizer make much of the peak \(216\.2 MiB\)$")
        self.assertRegex(lines[3], r"^Do this nothing; by choice: optimizer states on the host, saves [\d.]+ MiB, price: time")
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("By choice, at a price. Peak of reserved bytes", text)
        self.assertNotIn("What it saves.", text)
        self.assertNotIn("then it fits", text)  # on any card it does as it is
        self.assertIn("  1. [choice] States of the optimizer", text)
        found = self.analysis(path)
        first = found["to_do"][0]
        self.assertTrue(first["is_choice"])
        self.assertEqual(first["saves_bytes"], first["saves_after_those_above"])
        self.assertEqual(first["peak_reserved_then_bytes"] + first["saves_bytes"], 590 * MIB)
        self.assertIn("healthy", {f["id"] for f in found["findings"]})

    def test_nothing_is_known_of_it(self):
        """Neither stacks nor a trace: to record them comes before what a small cache might return."""
        snapshot = without_trace(run_of([(7000, [], False), (600, [], True)]))
        lines = self.run_it("--no-charts", write(self.at("s.pickle"), snapshot)).stdout.decode().splitlines()
        self.assertRegex(lines[2], r"^Why +Much allocated memory has no stack trace")
        self.assertRegex(lines[3], r"^Do this Record \(torch\.cuda\.memory\._record_memory_history\)")

    def test_growth_that_a_mistake_tells_is_told_once(self):
        """What lets go late or keeps too much says so; advice to look for leaks at the same line contradicted it."""
        for program, mistake in (("lidar_prefetch", "pending-on-streams"), ("pendulum_ppo", "loss-keeps-graph"),
                                 ("chat_session", "kv-cache-by-cat")):
            found = self.analysis(os.path.join(ZOO, f"{program}@2.15.0.gmtrace"))
            told = [t["id"] for t in found["to_do"]]
            self.assertEqual((told[0], "memory-growth" in told), (mistake, False), told)
            self.assertEqual("memory-growth" in [f["id"] for f in found["findings"]], program != "chat_session")  # its text grows

    def test_little_is_not_most_of_what_grows(self):
        """Caches that are made anew longer: 272 MiB more, of which next to nothing was kept."""
        found = self.analysis(os.path.join(ZOO, "chat_decoder@2.15.0.gmtrace"))
        self.assertEqual(found["timeline"]["devices"][0]["steps"]["pattern_detail"],
                         "Requested bytes at the ends of steps grow by 1.25 MiB a step (steps 3 to 220).")

    def test_what_is_to_do_has_a_figure_in_long_traces(self):
        """148,587 events: a setting was told without one, as the last, where others had been replayed before it."""
        rows = self.analysis(os.path.join(ZOO, "chat_decoder@2.15.0.gmtrace"))["to_do"]
        self.assertEqual([(row["id"], row["saves_bytes"]) for row in rows], [("kv-cache-by-cat", 168 * MIB), ("replayed-settings", 460 * MIB)])

    def test_top_and_coverage_add_up(self):
        """What was freed, but waits for a stream, is neither allocated nor free; times are those of the tables."""
        lines = self.run_it("--no-charts", os.path.join(ZOO, "lidar_prefetch@2.15.0.gmtrace")).stdout.decode().splitlines()
        self.assertIn("2.09 GiB reserved, 880.3 MiB allocated, 1.14 GiB pending, ", lines[0])
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("The trace covers 9 steps, 2.092 s, 571 events.", text)
        self.assertIn("Device 0: 571 events in 2.092 s,", text)

    def test_small_choice_comes_after_that_nothing_is_wrong(self):
        """A seventh of the peak for a third more time."""
        path = os.path.join(ZOO, "healthy_adversaries@2.15.0.gmtrace")
        self.assertRegex(self.run_it("--no-charts", path).stdout.decode(), r"\nWhy +No known mistake: .*, 83\.4 % in use\nDo this nothing\n")
        self.assertEqual(self.analysis(path)["to_do"][0]["id"], "healthy")

    def test_trace_without_an_allocation(self):
        snapshot = without_trace(run_of([(600, STEP, False)]))
        self.assertEqual(self.findings(snapshot)["no-trace"]["title"], "The file has no trace of events")
        snapshot["device_traces"] = [[{"action": "snapshot", "addr": 0, "size": 600 * MIB, "stream": 0}]]
        found = self.findings(snapshot)["no-trace"]
        self.assertEqual(found["title"], "The trace holds no allocation")
        self.assertIn("It has 1 event, none of which", found["detail"])

    def test_empty(self):
        empty = {"segments": [], "device_traces": [[], []]}
        self.assertEqual(list(self.findings(empty)), ["empty-snapshot"])
        settings = {"max_split_size": 64 * MIB, "expandable_segments": True}  # which warn of each other
        told = self.analysis(write(self.at("s.pickle"), {**empty, "allocator_settings": settings}))["to_do"]
        self.assertEqual([told[0]["finding"], len(told)], ["empty-snapshot", 2])

    def test_cache_that_the_peak_used(self):
        """800 MiB of 1,000 are freed at the end: no waste. What one more segment caches beside them is."""
        blocks = [(400, STEP, True), (400, OTHER, True), (200, STEP, False)]
        found = self.findings(run_of(blocks))
        for name in ("large-cache", "large-unused-blocks"):
            self.assertEqual(found[name]["severity"], "info", name)
            self.assertIn("at the peak all of the reserved memory was in use", found[name]["detail"])
        allocator = Recorded()
        allocator.free(allocator.alloc(900 * MIB, STEP))
        allocator.alloc(1000 * MIB, OTHER)
        found = self.findings(allocator.snapshot())
        self.assertEqual(found["large-cache"]["severity"], "info")  # the peak is what matters
        self.assertNotIn("in use;", found["large-cache"]["detail"])

    def test_part_is_no_more_severe_than_the_whole(self):
        """A cached block is a warning where all that is cached is one that does not say so itself: 600 MiB beside 6,000,
        not 300; beside 600 large-cache says what empty_cache() returns."""
        for size, live, severities in ((300, 600, ("info", "warning")), (300, 6000, ("info", "info")),
                                       (600, 6000, ("warning", "warning"))):
            found = self.findings(without_trace(run_of([(size, OTHER, True), (live, STEP, False)])))
            whole = found.get("large-cache", found.get("allocator-efficiency"))
            self.assertEqual((found["large-unused-blocks"]["severity"], whole["severity"]), severities)
            self.assertEqual("empty_cache()" in found["large-unused-blocks"]["detail"], "large-cache" not in found)

    def test_sites_of_another_device_are_told_once(self):
        """In the appendix the table in full needs no brief one right above it."""
        sizes = [(size, frames, False) for size in (100, 200) for frames in (STEP, OTHER)]
        self.run_it("--no-charts", write(self.at("s.pickle"), run_of(sizes, sizes + sizes)))
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            sections = re.findall(r"(?m)^CALL SITES AT THE PEAK.*\n-+\n((?:(?!^-+$).*\n)*)", file.read())
        self.assertEqual([section.count("Mostly") for section in sections], [1, 1])

    def test_files_are_told_by_their_ends(self):
        """Of files in one long folder the beginnings were all that --group file showed."""
        folder = "/home/somebody/a_folder_of_many_letters/and_another/"
        sizes = [(size, [frame("step", folder + name, 3)], False) for size, name in ((100, "one.py"), (200, "two.py"))]
        self.run_it("--no-charts", "--group", "file", write(self.at("s.pickle"), run_of(sizes)))
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            table = file.read().split("By file\n")[1]
        self.assertRegex(table, r"/two\.py\n.*/one\.py\n")

    def test_uneven_devices(self):
        heavy = [(3000, STEP, False), (3000, OTHER, False)]
        found = self.findings(run_of([(1000, STEP, False)], heavy))["uneven-devices"]
        self.assertEqual((found["severity"], found["bytes"]), ("warning", 2500 * MIB))
        self.assertIn("5.86 GiB on device 1 and 1000.0 MiB on device 0; the mean of 2 devices is 3.42 GiB",
                      found["detail"])
        self.assertIn("Device 1 runs out of memory first while others hold less", found["detail"])
        self.assertNotIn("uneven-devices", self.findings(run_of([(20, STEP, False)], heavy)))  # only a context
        self.assertNotIn("uneven-devices", self.findings(run_of(heavy, [(5000, STEP, False)])))

    def test_activations_without_a_backward_pass(self):
        """Kept for a backward pass that does not come, or that comes: freed in it."""
        module = [frame("forward", "/x/torch/nn/modules/linear.py", 9), *STEP]
        backward = [frame("torch::autograd::Engine::evaluate_function", "engine.cpp", 1), *STEP]
        for has_backward in (False, True):
            allocator = Recorded()
            kept = [allocator.alloc(40 * MIB, module) for _ in range(40)]
            for _ in range(20 if has_backward else 0):
                allocator.free(allocator.alloc(2 * MIB, backward))
            for block in kept:
                allocator.free(block)
            snapshot = allocator.snapshot()
            told = self.findings(snapshot)["peak-by-one-site"]["detail"]
            self.assertIn("They are activations", told)
            self.assertEqual("torch.inference_mode()" in told, not has_backward, told)

    def test_shares_of_nearly_nothing(self):
        snapshot = run_of([(1, STEP, False)])
        allocator = Allocator(0, 0x7F8000000000, Clock())
        allocator.free(allocator.alloc(40000 * MIB, STEP))
        snapshot["segments"] += allocator.snapshot_segments()
        self.assertIn("is <0.1 %: poor", self.findings(snapshot)["large-cache"]["detail"])

    def test_roles_where_there_are_no_stacks(self):
        """Every size four times: parameter, gradient, two states."""
        snapshot = without_trace(run_of([(size, [], False) for size in (40, 50, 60, 70, 80) for _ in range(4)]))
        summary = self.run_it("--no-charts", write(self.at("s.pickle"), snapshot)).stdout.decode()
        self.assertIn("Made of Optimizer state 600.0 MiB (50.0 %), ", summary)

    def test_summary_is_narrow(self):
        long_step = [frame("forward_with_a_very_long_name_" * 4, "/app/a_folder_with_a_long_name/attention_model.py", 12)]
        traced = run_of([(1019, long_step, False)], [(900, long_step, True)])
        for snapshot in (traced, without_trace(traced), run_of([(1019, long_step, True)])):
            lines = self.run_it("--no-charts", write(self.at("s.pickle"), snapshot)).stdout.decode().splitlines()
            self.assertEqual(len(lines), 6)
            for line in lines[:5]:
                self.assertLessEqual(sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line), 100, line)
        self.assertRegex(lines[0], r"^Needs +[\d.]+ MiB reserved, 1020\.0 MiB allocated")
        lines = self.run_it("--no-charts", write(self.at("s.pickle"), traced)).stdout.decode().splitlines()
        self.assertRegex(lines[0], r"^Needs +device 0: [\d.]+ MiB reserved, 1020\.0 MiB allocated")

    def test_weights_that_are_not_trained(self):
        """They were there before the trace: half as many bits. Too small: nothing."""
        def said(size):
            allocator = Allocator(0, 0x7F0000000000, Clock())
            stack = [frame("__init__", "/app/model.py", 5), frame("<module>", "/app/train.py", 3)]
            allocator.recording = True
            for _ in range(4):
                allocator.alloc(size * MIB, stack)
            allocator.free(allocator.alloc(4096, stack))
            snapshot = {"segments": allocator.snapshot_segments(), "device_traces": [allocator.trace[-1:]]}
            return self.run_it("--no-charts", write(self.at("s.pickle"), snapshot)).stdout.decode()
        self.assertIn("\nDo this weights in half as many bits (200.0 MiB less by arithmetic), and record a forward pass\n", said(100))
        self.assertNotIn("half as many bits", said(2))

    def test_out_of_memory(self):
        """What was missing, and of whom the count is."""
        snapshot = run_of([(600, STEP, True)], [(300, STEP, True)])
        oom = {"action": "oom", "size": 500 * MIB, "device_free": 100 * MIB, "stream": 0, "time_us": 1700000000900000,
               "frames": OTHER}
        at = [next(i for i, e in enumerate(t) if e["action"] == "alloc") + 1 for t in snapshot["device_traces"]]
        snapshot["device_traces"][0].insert(at[0], oom)
        path = write(self.at("s.pickle"), snapshot)
        done = self.run_it("--no-charts", path).stdout.decode()
        self.assertRegex(done, r"(?m)Why +ran out of memory, at least 400\.0 MiB short, the device is too small for this run$")
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            self.assertIn("smallest card with as much as that request needed is rtx-4060", " ".join(file.read().split()))
        snapshot["device_traces"][1][at[1]:at[1]] = [oom, oom]
        done = self.run_it("--no-charts", write(path, snapshot)).stdout.decode()
        self.assertRegex(done, r"Why +out of memory 3 times on 2 devices, first 400\.0 MiB short")
        del snapshot["device_traces"][0][at[0]]
        done = self.run_it("--no-charts", write(path, snapshot)).stdout.decode()
        self.assertRegex(done, r"Why +device 1 out of memory 2 times, first 400\.0 MiB short")
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            self.assertIn("500.0 MiB was asked for", " ".join(file.read().split()))


if __name__ == "__main__":
    main()
