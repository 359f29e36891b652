#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--memory-summary: the counters of torch.cuda.memory_stats(), by hand; and what a snapshot cannot tell."""
from harness import MIB, Case, main, small_snapshot, write

KIB = 1 << 10


class Summary(Case):
    def summary(self, snapshot):
        return self.analysis(write(self.snapshot, snapshot))["memory_summary"]

    def words(self, snapshot, *options):
        write(self.snapshot, snapshot)
        return self.run_it("-q", "--no-charts", "--memory-summary", *options, self.snapshot).stdout.decode()

    def test_by_hand(self):
        """Segments of 30, 40 and 2 MiB; blocks of 30 MiB, 40 MiB (freed at the end) and 1024 bytes."""
        device, = self.summary(small_snapshot())
        end, peak = device["at_end"], device["at_peak"]
        self.assertEqual((device["num_ooms"], device["num_alloc_retries"], device["note"]), (0, 0, None))
        self.assertEqual(end["allocated_bytes"]["all"], {"current": 30 * MIB + KIB, "peak": 70 * MIB + KIB,
                                                         "allocated": 70 * MIB + KIB, "freed": 40 * MIB})
        self.assertEqual(end["requested_bytes"]["small_pool"], {"current": 1000, "peak": 1000, "allocated": 1000, "freed": 0})
        self.assertEqual(end["reserved_bytes"]["all"], dict.fromkeys(("current", "peak", "allocated"), 72 * MIB) | {"freed": 0})
        self.assertEqual(end["segment"]["large_pool"]["current"], 2)
        self.assertEqual(end["inactive_split_bytes"]["all"]["current"], 2 * MIB - KIB)
        self.assertEqual(end["inactive_split"]["large_pool"]["peak"], 0)
        self.assertEqual(peak["active"]["all"]["current"], 3)
        self.assertEqual(peak["allocation"]["all"]["freed"], 0)
        self.assertEqual(peak["event"], 5)  # segment_alloc and alloc, three times

    def test_table(self):
        text = self.words(small_snapshot(devices=2))
        self.assertEqual(text.count("PyTorch CUDA memory summary, device ID 1  "), 2)
        self.assertIn("\n\nDevice 0 at the end:\n|", text)
        self.assertIn("Device 0 at the peak of requested memory, after event 5:", text)
        self.assertIn("| Allocated memory      |  30721 KiB |  71681 KiB |  71681 KiB |  40960 KiB |", text)
        self.assertIn("|       from large pool |  30720 KiB |  71680 KiB |  71680 KiB |  40960 KiB |", text)
        self.assertIn("| Allocations           |       2    |       3    |       3    |       1    |", text)
        tables = [line for line in text.splitlines() if line.startswith("|")]
        self.assertEqual({len(line) for line in tables}, {77})
        self.assertEqual(text.count("device ID 1"), 2)
        self.assertNotIn("device ID 1", self.words(small_snapshot(devices=2), "--device", "0"))

    def test_cut(self):
        """Without its first two events the trace begins with 30 MiB."""
        snapshot = small_snapshot()
        snapshot["device_traces"][0] = snapshot["device_traces"][0][2:]
        device, = self.summary(snapshot)
        self.assertIn("begins when 30.00 MiB were reserved", device["note"])
        self.assertEqual(device["at_end"]["allocated_bytes"]["all"],
                         {"current": 30 * MIB + KIB, "peak": 70 * MIB + KIB, "allocated": 40 * MIB + KIB, "freed": 40 * MIB})
        self.assertIn("what was before is not in the file", " ".join(self.words(snapshot).split()))

    def test_no_trace(self):
        snapshot = small_snapshot()
        snapshot["device_traces"] = [[]]
        device, = self.summary(snapshot)
        self.assertEqual(device["at_end"]["reserved_bytes"]["all"],
                         {"current": 72 * MIB, "peak": None, "allocated": None, "freed": None})
        self.assertEqual((device["at_peak"], device["num_ooms"]), (None, None))
        text = self.words(snapshot)
        self.assertIn("| Allocated memory      |  30721 KiB |     n/a    |     n/a    |     n/a    |", text)
        self.assertIn("CUDA OOMs: n/a          |        cudaMalloc retries: n/a       |", text)
        self.assertIn("There is no trace", text)

    def test_contradiction(self):
        """A block of the snapshot that was freed by the trace: only what the snapshot says is told."""
        snapshot = small_snapshot()
        freed = next(e for e in snapshot["device_traces"][0] if e["action"] == "alloc")
        snapshot["device_traces"][0] += [dict(freed, action="free_requested"), dict(freed, action="free_completed")]
        device, = self.summary(snapshot)
        self.assertEqual(device["at_end"]["allocated_bytes"]["all"]["current"], 30 * MIB + KIB)
        self.assertIsNone(device["at_end"]["allocated_bytes"]["all"]["peak"])
        self.assertIn("does not lead to the snapshot", device["note"])

    def test_standard_output(self):
        self.assert_one_error(self.run_it("--memory-summary", "--json", "-", self.snapshot, code=2), "--memory-summary")


main()
