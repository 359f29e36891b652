#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ledger of a run that serves a model: its rows, what a token needs, what there is room for."""
from harness import MIB, Case, Recorded, frame, main, write

STEPS = 12


class Server:
    """Weights of 96 MiB; forwards of 4 layers that keep a key and a value each."""

    def __init__(self):
        self.allocator = Recorded()
        for n in range(8):
            self.alloc(12 * MIB, ("__init__", "model.py", 1 + n))

    def alloc(self, size, *frames):
        return self.allocator.alloc(size, [*(frame(name, f"/app/{file}", line) for name, file, line in frames),
                                           frame("<module>", "/app/serve.py", 30)])

    def forward(self, rows):
        for n in range(4):
            self.allocator.free(self.alloc(rows * 4096, ("attend", "model.py", 40 + n), ("forward", "model.py", 20)))

    def snapshot(self):
        return self.allocator.snapshot()


def fixed():
    """8 blocks of 16 MiB, made once."""
    server = Server()
    for _ in range(8):
        server.alloc(16 * MIB, ("__init__", "kv_cache.py", 7), ("allocate_kv_cache", "kv_cache.py", 12))
    for _ in range(STEPS):
        server.forward(1024)
    return server.snapshot()


def growing():
    """8 tensors of 1 MiB for the prompt; 8 KiB longer each in each step."""
    server, past = Server(), [None] * 8
    for step in range(STEPS):
        server.forward(512)
        for i, old in enumerate(past):
            past[i] = server.alloc(MIB + 8192 * step, ("update", "transformers/cache_utils.py", 90))
            if old is not None:
                server.allocator.free(old)
    return server.snapshot()


class Serving(Case):
    def ledger(self, snapshot, *options):
        write(self.snapshot, snapshot)
        ledger = self.analysis(*options, self.snapshot)["timeline"]["devices"][0]["serving"]
        if ledger is not None:
            self.assertEqual(sum(row["bytes"] for row in ledger["rows"]), ledger["reserved_bytes"])
        return ledger

    def rows(self, ledger):
        return {row["name"]: row["bytes"] for row in ledger["rows"]}

    def test_fixed(self):
        ledger = self.ledger(fixed())
        rows = self.rows(ledger)
        self.assertEqual((rows["Weights"], rows["KV cache"]), (96 * MIB, 128 * MIB))
        self.assertEqual(ledger["cache_requested_bytes"], 128 * MIB)
        for key in ("growth_bytes_per_step", "bytes_per_token", "capacity_bytes", "room_bytes", "more_tokens"):
            self.assertIsNone(ledger[key], key)

    def test_cut_off_on_another_device(self):
        """What passes of the first round read may be keys and values; not where the program ran out of memory in it, on
        whatever device."""
        server = Server()
        server.forward(1024)
        for _ in range(8):
            server.alloc(16 * MIB, ("tables", "serve.py", 9))
        for n in range(40):
            server.forward(1024 + n)
        snapshot = server.snapshot()
        self.assertIsNotNone(self.ledger(snapshot))
        snapshot["device_traces"].append([{"action": "oom", "addr": 0, "size": MIB, "stream": 0, "frames": []}])
        self.assertIsNone(self.ledger(snapshot))

    def test_next_to_no_cache(self):
        server = Server()
        server.alloc(MIB, ("allocate_kv_cache", "kv_cache.py", 12))
        for _ in range(STEPS):
            server.forward(65536)
        self.assertIsNone(self.ledger(server.snapshot()))
        self.assertIsNotNone(self.ledger(server.snapshot(), "--tokens", "64"))

    def test_what_must_be_said(self):
        ledger = self.ledger(fixed(), "--tokens", "4096", "--sequences", "2", "--gpu", "rtx-4060")
        passing = self.rows(ledger)["Activations and temporaries"]
        self.assertEqual(ledger["bytes_per_token"], 32768)
        self.assertEqual(ledger["bytes_per_sequence"], (128 * MIB + passing) // 2)
        self.assertEqual(ledger["room_bytes"], ledger["capacity_bytes"] - ledger["reserved_bytes"])
        self.assertEqual(ledger["more_tokens"], ledger["room_bytes"] // 32768)
        self.assertEqual(ledger["more_sequences"], ledger["room_bytes"] // ledger["bytes_per_sequence"])
        done = self.run_it("--no-charts", "--tokens", "4096", "--gpu", "rtx-4060", self.snapshot)
        self.assertIn(f"room for {ledger['more_tokens']:,} more tokens on rtx-4060", done.stdout.decode())
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            text = " ".join(file.read().split())
        self.assertIn("A token needs 32.00 KiB of it (32,768 bytes).", text)
        self.assertIn(f"{ledger['more_tokens']:,} more tokens", text)
        self.run_it("--gpu", "rtx-9999", self.snapshot, code=2)

    def test_no_room(self):
        """8.72 GiB are reserved, of which a process can have 7.25 GiB on that card."""
        server = Server()
        server.alloc(8832 * MIB, ("__init__", "kv_cache.py", 7), ("allocate_kv_cache", "kv_cache.py", 12))
        ledger = self.ledger(server.snapshot(), "--tokens", "4096", "--gpu", "rtx-4060")
        self.assertEqual((ledger["room_bytes"], ledger["more_tokens"]), (0, 0))
        done = self.run_it("--no-charts", "--tokens", "4096", "--gpu", "rtx-4060", self.snapshot)
        self.assertRegex(done.stdout.decode(), r"(?m)^Needs .*, 1\.\d\d GiB more than fit on rtx-4060,")
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            text = " ".join(file.read().split())
        self.assertRegex(text, r"1\.\d\d GiB more is reserved than the 7.25 GiB that a process can have of rtx-4060\.")
        self.assertNotIn("Room for", text)

    def test_growing(self):
        """8 x 8 KiB a step, of however many sequences."""
        ledger = self.ledger(growing(), "--gpu", "rtx-4060")
        self.assertEqual(ledger["growth_bytes_per_step"], 65536)
        self.assertIn(ledger["growth_steps"], (STEPS - 2, STEPS - 1))
        self.assertEqual(ledger["more_steps"], ledger["room_bytes"] // 65536)
        self.assertIsNone(ledger["bytes_per_token"])
        self.assertEqual(self.ledger(growing(), "--sequences", "4")["bytes_per_token"], 16384)
        self.run_it("--no-charts", self.snapshot)
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            text = " ".join(file.read().split())
        self.assertIn("The KV cache grows by 64.00 KiB in each step of all sequences together", text)
        self.assertIn("--sequences N", text)
        self.assertIn("--gpu CARD", text)

    def test_out_of_memory_tells_the_capacity(self):
        snapshot = fixed()
        snapshot["device_traces"][0].append({"action": "oom", "size": 1 << 40, "stream": 0, "frames": [],
                                             "device_free": 8 * MIB, "time_us": 1800000000000000})
        ledger = self.ledger(snapshot)
        self.assertEqual(ledger["capacity_bytes"], ledger["reserved_bytes"] + 8 * MIB)
        self.assertEqual((ledger["room_bytes"], ledger["gpu"]), (8 * MIB, None))

    def test_not_of_other_runs(self):
        server = Server()
        for _ in range(STEPS):
            server.forward(1024)
        self.assertIsNone(self.ledger(server.snapshot()))
        write(self.snapshot, server.snapshot())
        self.run_it("--no-charts", self.snapshot)
        with open(self.at("results", self.latest(), "analysis_report.txt"), encoding="utf-8") as file:
            self.assertNotIn("SERVING", file.read())


main()
