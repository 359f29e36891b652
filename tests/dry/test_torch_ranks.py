# SPDX-License-Identifier: Apache-2.0
"""Several ranks of real PyTorch on the stand-in: what they tell each other arrives, barriers hold, and a rank that is
alone (--world-size) records what it records among the others. Needs GM_TORCH_PYTHON, as test_torch.py does."""
import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

PYTHON = os.environ.get("GM_TORCH_PYTHON")
GMDRY = os.environ["GMDRY"]

BEGINS = """
import os, torch, torch.distributed as dist
from torch import nn
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
"""

ENDS = """
print(f"STATS {rank} {torch.cuda.max_memory_allocated()} {torch.cuda.max_memory_reserved()}\\n", end="")
dist.destroy_process_group()
"""

TRAINS = """
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512)).cuda())
optimizer = torch.optim.AdamW(model.parameters())
for i in range(3):
    model(torch.randn(32, 512, device="cuda")).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""

SHARDS = """
try:
    from torch.distributed.fsdp import fully_shard
except ImportError:
    from torch.distributed._composable.fsdp import fully_shard
model = nn.Sequential(*[nn.TransformerEncoderLayer(128, 4, 512, batch_first=True) for _ in range(2)]).cuda()
for layer in model:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for i in range(3):
    model(torch.randn(4, 64, 128, device="cuda")).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""

TALKS = """
import time
def same(what, is_so):
    assert is_so, what
told = [{"name": "x" * 50}, [1, 2]] if rank == 0 else [None, None]
dist.broadcast_object_list(told, 0)
same("broadcast", told == [{"name": "x" * 50}, [1, 2]])
told = [None] * size
dist.all_gather_object(told, ("y" * 10 * rank, rank))
same("gathered", told == [("y" * 10 * i, i) for i in range(size)])
numbers = torch.tensor([rank + 1, 10 * rank], device="cuda")
dist.all_reduce(numbers)
same("sum", numbers.tolist() == [size * (size + 1) // 2, 5 * size * (size - 1)])
sent, got = torch.tensor([size * rank + i for i in range(size)], device="cuda"), torch.empty(size, dtype=torch.long, device="cuda")
dist.all_to_all_single(got, sent)
same("all to all", got.tolist() == [size * i + rank for i in range(size)])
mine = [dist.new_group([i]) for i in range(size)][rank]
dist.all_reduce(numbers, group=mine)
same("alone in its group", dist.get_world_size(mine) == 1)
if rank == 0:
    time.sleep(1)
    open("late", "w").close()
dist.barrier()
same("barrier", os.path.exists("late"))
"""

FORKS = """
import torch, torch.multiprocessing as multiprocessing
def work():
    torch.zeros(30 << 20, dtype=torch.uint8, device="cuda")
if __name__ == "__main__":
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
"""


class Ranks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_it(self, text, *options, launcher=()):
        with open(self.folder + "/program.py", "w") as file:
            file.write(text)
        done = subprocess.run([GMDRY, "-q", "--no-charts", "--json", "said.json", *options, "--", PYTHON, *launcher,
                               "program.py"], cwd=self.folder, text=True, capture_output=True, timeout=300,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.folder + "/said.json") as file:
            return done, json.load(file)

    def launch(self, text, *options):
        return self.run_it(BEGINS + text + ENDS, "--devices", "2", "--snapshot", "among{rank}.pickle", *options,
                           launcher=("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"))

    def allocations(self, name):
        with open(f"{self.folder}/{name}.pickle", "rb") as file:
            traces = pickle.load(file)["device_traces"]
        return [e["size"] for e in max(traces, key=len) if e["action"] == "alloc"]

    def check_beside(self, text):
        """A rank among the others, and alone."""
        done, said = self.launch(text)
        counted = sorted(line.split()[1:] for line in done.stdout.splitlines() if line.startswith("STATS "))
        self.assertEqual([[str(p[key]) for key in ("rank", "peak_allocated_bytes", "peak_reserved_bytes")]
                          for p in said["processes"]], counted)
        alone = self.run_it(BEGINS + text + ENDS, "--world-size", "2", "--rank", "1", "--snapshot", "alone.pickle")[1]
        self.assertEqual(self.allocations("alone"), self.allocations("among1"))
        return alone["processes"], said["processes"][1:]

    def test_distributed_data_parallel(self):
        self.check_beside(TRAINS)  # buckets are freed when NCCL's watchdog, a thread, comes along: peaks may differ

    def test_sharded(self):
        self.assertEqual(*self.check_beside(SHARDS))

    def test_what_ranks_tell_each_other(self):
        said = self.launch(TALKS)[1]
        self.assertIs(said["exact"], True)

    def test_one_of_many(self):
        done, said = self.run_it(BEGINS + SHARDS + ENDS, "--world-size", "1024", "--rank", "512", "--steps", "2",
                                 launcher=("-m", "torch.distributed.run", "--nproc-per-node", "8", "--nnodes", "128"))
        self.assertTrue(done.stdout.splitlines()[-1].startswith("rank 512 of 1024 needs "), done.stdout)
        self.assertEqual([p["rank"] for p in said["processes"]], [512])

    def test_forked_process(self):
        said = self.run_it(FORKS)[1]
        self.assertEqual([p["peak_allocated_bytes"] for p in said["processes"]], [30 << 20])


if __name__ == "__main__":
    if not PYTHON:
        print("GM_TORCH_PYTHON is not set")
        sys.exit(77)
    unittest.main()
