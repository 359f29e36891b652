# SPDX-License-Identifier: Apache-2.0
"""gmanalyze --memory-summary against torch.cuda.memory_summary() itself, line by line. Needs GM_TORCH_PYTHON."""
import os
import subprocess
import sys
import tempfile
import unittest

PYTHON = os.environ.get("GM_TORCH_PYTHON")
GMDRY, GMANALYZE = os.environ["GMDRY"], os.environ["GMANALYZE"]

BEGINS = """
import torch
def record():
    torch.cuda.memory._record_memory_history(max_entries=1000000)
"""
TRAINS = """
record()
model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024, bias=i % 2 == 0) for i in range(5))).cuda()
{late}
optimizer = torch.optim.AdamW(model.parameters())
for step in range(3):
    loss = model(torch.randn(1500 * (step + 1), 1024, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
keep = [torch.empty(700 * n + 1, device="cuda") for n in range(50)]
del keep[::2]
"""
FAILS = TRAINS + """
blocks = [torch.empty(20 << 30, dtype=torch.uint8, device="cuda") for _ in range(3)]
del blocks
torch.empty(70 << 30, dtype=torch.uint8, device="cuda")
try:
    torch.empty(300 << 30, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError:
    pass
"""
STREAMS = TRAINS + """
with torch.cuda.stream(torch.cuda.Stream()):
    large, small = (torch.empty(n, device="cuda") for n in (10 << 20, 100))
large.record_stream(torch.cuda.default_stream())
small.record_stream(torch.cuda.default_stream())
del large
torch.cuda.empty_cache()
graph, x = torch.cuda.CUDAGraph(), torch.randn(500, 1024, device="cuda")
with torch.no_grad():
    model(x)
    with torch.cuda.graph(graph):
        y = model(x)
"""
ENDS = """
torch.cuda.synchronize()
torch.cuda.memory._dump_snapshot("end.pickle")
print(torch.cuda.memory_summary(), end="")
"""


class Summary(unittest.TestCase):
    def tables(self, text, settings=""):
        """PyTorch's lines and ours of the end, and what else we say."""
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/program.py", "w", encoding="utf-8") as file:
                file.write(BEGINS + text + ENDS)
            done = subprocess.run([GMDRY, "-q", "--no-charts", "--json", "said.json", "--", PYTHON, "program.py"],
                                  cwd=folder, text=True, capture_output=True, timeout=300, check=True,
                                  env={**os.environ, "PYTORCH_CUDA_ALLOC_CONF": settings, "OMP_NUM_THREADS": "1"})
            ours = subprocess.run([GMANALYZE, "-q", "--no-charts", "--memory-summary", "end.pickle"], cwd=folder,
                                  text=True, capture_output=True, check=True).stdout
        end = ours[ours.rindex("at the end:"):].splitlines()[1:]
        return ([line for line in done.stdout.splitlines() if line.startswith("|")],
                [line for line in end if line.startswith("|")], " ".join(line for line in end if not line.startswith("|")))

    def check(self, text, settings=""):
        theirs, ours, words = self.tables(text, settings)
        self.assertEqual(theirs, ours)
        self.assertEqual(words.strip(), "")
        self.assertEqual(len(ours), 47)

    def test_training(self):
        self.check(TRAINS.format(late=""))

    def test_settings(self):
        for settings in ("expandable_segments:True", "max_split_size_mb:21", "roundup_power2_divisions:4"):
            with self.subTest(settings=settings):
                self.check(TRAINS.format(late=""), settings)

    def test_out_of_memory(self):
        self.check(FAILS.format(late=""))
        theirs = self.tables(FAILS.format(late=""))[0]
        self.assertIn("CUDA OOMs: 1 ", theirs[3])
        self.assertIn("retries: 2 ", theirs[3])

    def test_streams_and_graphs(self):
        self.check(STREAMS.format(late=""))
        self.check(STREAMS.format(late=""), "expandable_segments:True")

    def test_a_trace_that_begins_late(self):
        """What is in use, and here the peaks, are PyTorch's; sums are those of the trace, and that is said."""
        theirs, ours, words = self.tables(TRAINS.replace("record()\n", "").format(late="record()"))
        self.assertEqual([line.split("|")[:3] for line in theirs[6:]], [line.split("|")[:3] for line in ours[6:]])
        self.assertNotEqual(theirs, ours)
        self.assertIn("The trace begins when 22.00 MiB were reserved", words)


if __name__ == "__main__":
    if not PYTHON:
        print("GM_TORCH_PYTHON is not set")
        sys.exit(77)
    unittest.main()
