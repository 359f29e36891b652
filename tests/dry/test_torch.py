# SPDX-License-Identifier: Apache-2.0
"""Real PyTorch on the stand-in: what it recorded is what its own allocator's model in gmreplay chooses, and what it
counts itself is what gmdry says. Needs GM_TORCH_PYTHON, a Python with a CUDA build of torch; no GPU."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PYTHON = os.environ.get("GM_TORCH_PYTHON")
GMDRY, GMREPLAY = os.environ["GMDRY"], os.environ["GMREPLAY"]

COUNTS = """
print("STATS", json.dumps([[torch.cuda.max_memory_allocated(d), torch.cuda.max_memory_reserved(d)]
                           for d in range(torch.cuda.device_count()) if torch.cuda.max_memory_reserved(d) > 0]))
"""

TRAINS = """
import json, torch
from torch import nn
model = nn.Sequential(nn.Embedding(1000, 128), nn.TransformerEncoderLayer(128, 4, batch_first=True), nn.Linear(128, 1000))
model.cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(5):
    ids = torch.randint(0, 1000, (4, 64), device="cuda")
    loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step)
"""

GROWS = """
import json, torch
cache = torch.empty(2, 8, 0, 64, device="cuda", dtype=torch.float16)
with torch.no_grad():
    for i in range(64):
        new = torch.randn(2, 8, 4, 64, device="cuda", dtype=torch.float16)
        cache = torch.cat([cache, new], 2)
        out = nn = torch.nn.functional.scaled_dot_product_attention(new, cache, cache)
"""

FAILS = """
import torch
held = []
while True:
    held.append(torch.empty(100 << 20, dtype=torch.uint8, device="cuda"))
"""

TWO = """
import json, torch
x = torch.randn(64, 1024, device="cuda:0")
layers = [torch.nn.Linear(1024, 1024, device=f"cuda:{d}") for d in (0, 1)]
layers[1](layers[0](x).to("cuda:1")).sum().backward()
"""

STREAMS = """
import json, torch
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    a = torch.randn(1000, 1000, device="cuda")
a.record_stream(torch.cuda.current_stream())
b = a @ a
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    c = b * 2 + b
graph.replay()
del a, b, c, graph
torch.cuda.empty_cache()
"""

CONVOLVES = """
import json, sys, torch
from torch import nn
torch.backends.cudnn.benchmark = "benchmark" in sys.argv
net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, groups=4),
                    nn.ConvTranspose2d(32, 16, 4, 2), nn.Conv2d(16, 16, 5, groups=16), nn.Flatten(2), nn.Conv1d(16, 4, 3))
net.append(nn.Unflatten(1, (1, 4))).append(nn.Unflatten(3, (-1, 1))).append(nn.Conv3d(1, 2, (2, 3, 1))).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for layout in (torch.contiguous_format, torch.channels_last):
    for dtype in (torch.float32, torch.bfloat16):
        with torch.autocast("cuda", dtype, enabled=dtype != torch.float32):
            out = net(torch.randn(4, 3, 32, 32, device="cuda").to(memory_format=layout))
        out.float().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
with torch.no_grad():
    net.eval()(torch.randn(4, 3, 32, 32, device="cuda"))
assert torch.backends.cudnn.version() == torch.backends.cudnn._cudnn.getRuntimeVersion()[0] * 10000 + \
    torch.backends.cudnn._cudnn.getRuntimeVersion()[1] * 100 + torch.backends.cudnn._cudnn.getRuntimeVersion()[2]
assert torch.backends.cudnn._cudnn.getCompileVersion() == torch.backends.cudnn._cudnn.getRuntimeVersion()
wheels = any("nvidia" in line and "libcudnn" in line for line in open("/proc/self/maps"))
print("OWN" if wheels and torch.backends.cudnn.version() >= 91000 else "RULE")
"""

RECURS = """
import json, torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
x = torch.randn(10, 4, 16, device="cuda")
for net in (nn.LSTM(16, 32, 2, dropout=0.2), nn.GRU(16, 32, bidirectional=True, bias=False),
            nn.LSTM(16, 32, 2, proj_size=8, bidirectional=True), nn.RNN(16, 32, nonlinearity="relu")):
    net.cuda()(x)[0].sum().backward()
    net(pack_padded_sequence(x, [10, 7, 7, 1]))[0].data.sum().backward()
    with torch.no_grad():
        net.eval()(x)
p = torch.randn(20, 4, 8, device="cuda", requires_grad=True)
nn.functional.ctc_loss(p.log_softmax(2), torch.ones(12, dtype=torch.int32), [20] * 4, [3] * 4).backward()
"""


READS = '''
import json, torch
x = torch.randn(30000, device="cuda", requires_grad=True)
mask = x > 0
sizes = [x.nonzero().shape[0], x[mask].shape[0], torch.masked_select(x, mask).shape[0], torch.where(mask)[0].shape[0]]
x[mask].sum().backward()
sizes.append(torch.repeat_interleave(torch.ones(10, dtype=torch.long, device="cuda")).shape[0])
sizes.append(torch.unique(x.detach()).shape[0])
values = [x.sum().item(), mask.sum().item(), mask.any().item(), x.detach()[:2].tolist(), x.long()[:2].tolist()]
print("SIZES", sizes)
print("VALUES", values)
torch.nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)
torch.distributions.Categorical(logits=x.detach()[:4])
if x.sum() > 2:
    print("more")
for i in range(3):
    x.sum().item()
'''

FILLS = '''
import json, torch
made = [torch.full((3,), 7, device="cuda"), torch.full((), 65536.0, device="cuda"), torch.zeros(2, device="cuda"),
        torch.ones(1, dtype=torch.bool, device="cuda"), torch.ones(2, dtype=torch.bfloat16, device="cuda"),
        torch.tensor([3, 4], device="cuda")]
print(*(one.tolist() for one in made))
'''

LAGS = '''
import json, torch
side = torch.cuda.Stream()
for i in range(4):
    a = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    with torch.cuda.stream(side):
        b = a + 1
    a.record_stream(side)
    del a, b
    print("ACTIVE", torch.cuda.memory_stats()["active_bytes.all.current"] >> 20)
torch.cuda.synchronize()
torch.empty(1, device="cuda")
print("ACTIVE", torch.cuda.memory_stats()["active_bytes.all.current"] >> 20)
'''
SORTS = """
import torch
torch.randn(100000, device="cuda").sort()
torch.randn(64, 5000, device="cuda").topk(10)
torch.randn(100000, device="cuda").cumsum(0)
torch.nn.Embedding(1000, 64, device="cuda")(torch.zeros(4096, dtype=torch.long, device="cuda")).sum().backward()
"""

RECORDS = """
import torch
before = torch.empty(1000, device="cuda")
torch.cuda.memory._record_memory_history(max_entries=1000)
after = torch.empty(2000, device="cuda")
torch.cuda.memory._record_memory_history(max_entries=1000)
last = torch.empty(3000, device="cuda")
events = torch.cuda.memory._snapshot()["device_traces"][0]
print("SIZES", [e["size"] for e in events if e["action"] == "alloc"])
"""


LIBRARIES = """
import json, torch
def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)
a, batch, tall = normal(64, 64), normal(5, 16, 16), normal(64, 32)
for driver in (None, "gesvd", "gesvdj", "gesvda"):
    torch.linalg.svd(tall, driver=driver)
torch.linalg.svd(batch), torch.linalg.eigh(a), torch.linalg.eigh(batch), torch.linalg.eigvals(a)
torch.linalg.qr(tall), torch.linalg.cholesky(a), torch.linalg.cholesky(batch), torch.linalg.lu(a), torch.linalg.lu_factor(batch)
torch.linalg.lstsq(tall, normal(64, 4)), torch.linalg.solve(batch, normal(5, 16, 2)), torch.linalg.inv(a), torch.linalg.det(batch)
torch.linalg.ldl_factor(a), torch.linalg.pinv(tall), torch.linalg.eigh(normal(20, 20, dtype=torch.complex128))
sparse = torch.eye(50, 60)
for it in (sparse.to_sparse_csr().cuda(), sparse.to_sparse().cuda()):
    torch.sparse.mm(it, normal(60, 7))
csr = sparse.to_sparse_csr().cuda()
csr @ normal(60), csr + csr, csr @ sparse.t().contiguous().to_sparse_csr().cuda()
torch.sparse.sampled_addmm(csr, normal(50, 8), normal(8, 60))
torch.triangular_solve(a, torch.eye(64).to_sparse_csr().cuda())
torch.fft.rfft2(a), torch.special.bessel_j0(a), torch.special.zeta(a, a), torch.special.i1(a)
torch._int_mm(torch.zeros(64, 64, device="cuda", dtype=torch.int8), torch.zeros(64, 64, device="cuda", dtype=torch.int8))
"""

COMPILED = """
import json, torch
from torch import nn
model = nn.Sequential(nn.Embedding(1000, 128), nn.TransformerEncoderLayer(128, 4, batch_first=True, dropout=0.0),
                      nn.Linear(128, 1000)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
compiled = torch.compile(model{mode})
for step in range(3):
    ids = torch.randint(0, 1000, (4, 64), device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        loss = nn.functional.cross_entropy(compiled(ids).flatten(0, 1), ids.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


class Torch(unittest.TestCase):
    def run_it(self, text, *options, more=COUNTS, environment=(), flags=(), reads=False):
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/program.py", "w") as file:
                file.write(text + more)
            done = subprocess.run([GMDRY, "-q", "--no-charts", "--json", "said.json", "--snapshot", "kept.pickle", *options,
                                   "--", PYTHON, *flags, "program.py"], cwd=folder, text=True, capture_output=True, timeout=300,
                                  env={**os.environ, **dict(environment), "OMP_NUM_THREADS": "1"})
            with open(folder + "/said.json") as file:
                said = json.load(file)
            verify = subprocess.run([GMREPLAY, "--verify", folder + "/kept.pickle"], text=True, capture_output=True)
            self.assertEqual(verify.returncode, 0, verify.stdout + verify.stderr + done.stderr)
        if not reads:
            self.assertNotIn("gmdry: ", done.stderr.replace("gmdry: the command failed", ""))
        return done, said

    def check(self, text, *options, **more):
        done, said = self.run_it(text, *options, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        counted = json.loads(done.stdout.split("STATS ")[1].splitlines()[0])
        self.assertEqual([[d["peak_allocated_bytes"], d["peak_reserved_bytes"]] for d in said["devices"]], counted)
        self.assertEqual(said["verdict"], "FITS")
        return done, said

    def test_training(self):
        self.check(TRAINS)

    def test_expandable_segments(self):
        self.check(TRAINS, environment={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})

    def test_steps(self):
        done, _ = self.run_it(TRAINS, "--steps", "2")
        self.assertEqual((done.returncode, done.stdout.count("step ")), (0, 1), done.stderr)  # it ends inside the second

    def test_convolutions(self):
        done, said = self.check(CONVOLVES)
        self.assertEqual("cudnnBackendExecute" in said["estimated"], "RULE" in done.stdout)
        said = self.check("import sys; sys.argv.append('benchmark')\n" + CONVOLVES)[1]
        self.assertIn("cudnnBackendExecute:fastest", said["estimated"])

    def test_kernels_that_pytorch_compiles(self):
        self.check("import json, torch\ntorch.special.airy_ai(torch.randn(10, device='cuda'))\n")

    def test_recurrent_networks(self):
        done, said = self.check(RECURS, reads=True)  # PyTorch draws the seed of dropout on the card, and reads it
        self.assertEqual(done.stderr.count("gmdry: "), 1, done.stderr)
        self.assertIn("cudnnGetRNNTempSpaceSizes", said["estimated"])

    def test_cards_that_wheels_have_no_images_of_their_own_for(self):
        for gpu in ("rtx-4090", "rtx-3090", "a100-80"):
            with self.subTest(gpu):
                self.check("import json\n" + SORTS, "--gpu", gpu)

    def test_recording_of_the_program(self):
        done, _ = self.run_it(RECORDS, more="")
        self.assertIn("SIZES [8000, 12000]", done.stdout)
    def test_recording_that_the_program_ends(self):
        """The peaks are PyTorch's own of the whole program."""
        text = GROWS.replace("import json, torch\n", "import json, torch\nfirst = torch.empty(1 << 20, device='cuda')\n"
                             "torch.cuda.memory._record_memory_history(enabled=None)\n")
        self.assertIn("enabled=None", text)
        self.check(text)

    def test_libraries(self):
        """Linear algebra, sparse products, transforms: no function of NVIDIA's that is not known."""
        for data in ("zeros", "ones"):
            _, said = self.check(LIBRARIES, "--data", data, reads=True)
            self.assertEqual(said["unknown_functions"], [])
            self.assertIn("cusolverDnXpotrf_bufferSize", said["estimated"])
            self.assertIs(said["exact"], False)

    def test_compiled(self):
        """By inductor, with Triton's kernels; replayed as graphs."""
        if subprocess.run([PYTHON, "-c", "import triton, setuptools"], capture_output=True).returncode != 0:
            self.skipTest("no triton beside torch")
        for mode in ("", ", mode='reduce-overhead'"):
            _, said = self.check(COMPILED.replace("{mode}", mode), reads=True)
            self.assertEqual(said["unknown_functions"], [])
            self.assertTrue([k for k in said["kernels"] if k["name"].startswith("triton_")], said["kernels"])

    def test_growing_cache(self):
        _, said = self.check(GROWS)
        self.assertIs(said["exact"], not said["estimated"])  # newer versions take cuDNN's attention on this card

    def test_isolated(self):
        self.check(TRAINS, flags=["-I"])

    def test_what_depends_on_data(self):
        done, said = self.check(READS, reads=True)
        sites = {(entry["operator"], entry["site"]): (entry["count"], entry["decides"]) for entry in said["data_dependent"]}
        for operator, line in [("nonzero", 5), ("index", 5), ("masked_select", 5), ("where", 5), ("index", 6),
                               ("repeat_interleave", 7), ("_unique2", 8)]:
            self.assertEqual(sites[operator, f"program.py:{line}"][1], "size")
        self.assertEqual(sites["item", "program.py:9"], (3, "unknown"))
        self.assertEqual(sites["is_nonzero", "program.py:14"], (1, "unknown"))
        self.assertEqual(sites["item", "program.py:17"], (3, "unknown"))
        self.assertIs(said["exact"], False)
        self.assertEqual(done.stderr.count("gmdry: nonzero at program.py:5: a size depends on data"), 1)
        self.assertEqual(done.stderr.count("gmdry: item at program.py:17: the program reads a value"), 1)

    def test_what_is_filled_is_known(self):
        done, said = self.check(FILLS)
        self.assertIs(said["exact"], True)
        self.assertIn("[7, 7, 7] 65536.0 [0.0, 0.0] [True] [1.0, 1.0] [3, 4]\n", done.stdout)

    def test_reads_of_other_threads_and_of_a_program_that_ends(self):
        program = """
import atexit, threading, torch
x = torch.randn(100, device="cuda")
class Late:
    def __del__(self):
        x.sum().item()
late = Late()
late.late = late
atexit.register(lambda: x.nonzero())
thread = threading.Thread(target=lambda: x[x > 0])
thread.start()
thread.join()
class Reads(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, gradient):
        gradient.sum().item()
        return gradient
Reads.apply(x.clone().requires_grad_()).sum().backward()
import json
"""
        said = self.check(program, reads=True)[1]
        sites = {(entry["operator"], entry["site"]) for entry in said["data_dependent"]}
        self.assertLessEqual({("nonzero", "program.py:9"), ("index", "program.py:10"), ("item", "program.py:19")}, sites)

    def test_data(self):
        expected = {
            "zeros": ([0, 0, 0, 0, 0, 1], [0.0, 0, False, [0.0, 0.0], [0, 0]]),
            "ones": ([30000] * 4 + [10, 1], [1.0, 1, True, [1.0, 1.0], [1, 1]]),
            "half": ([15000] * 4 + [5, 15000], None),
            "random": (None, None),
        }
        for data, (sizes, values) in expected.items():
            said = [self.check(READS, "--data", data, reads=True)[0].stdout for _ in range(2 if data == "random" else 1)]
            self.assertEqual(len(set(said)), 1)  # the same in every run
            lines = dict(line.split(" ", 1) for line in said[0].splitlines() if line[:5] in ("SIZES", "VALUE"))
            counts = json.loads(lines["SIZES"])
            self.assertEqual(counts, sizes or counts)
            self.assertTrue(all(0 <= n <= 30000 for n in counts))
            self.assertEqual(len(set(counts[:4])), 1)  # one mask has one number
            if values:
                self.assertEqual(lines["VALUES"], str(values))

    def test_events(self):
        for when, active in [("now", [64, 64, 64, 64, 0]), ("sync", [64, 128, 192, 256, 0]), ("3", [64, 128, 128, 192, 0])]:
            done = self.check(LAGS, "--events", when)[0]
            self.assertEqual([int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("ACTIVE")],
                             active, when)

    def test_two_devices(self):
        self.assertEqual(len(self.check(TWO, "--devices", "2")[1]["devices"]), 2)

    def test_streams_and_graphs(self):
        self.check(STREAMS)

    def test_peaks_that_the_program_resets(self):
        text = GROWS.replace("import json, torch\n", "import json, torch\nbig = torch.empty(1 << 30, dtype=torch.uint8, "
                             "device='cuda')\ndel big\ntorch.cuda.empty_cache()\ntorch.cuda.reset_peak_memory_stats()\n")
        said = self.run_it(text)[1]
        self.assertEqual(said["devices"][0]["peak_allocated_bytes"], 1 << 30)

    def test_out_of_memory(self):
        done, said = self.run_it(FAILS, "--memory", "2GiB", more="")
        self.assertEqual((done.returncode, said["verdict"]), (1, "OOM"))
        # 1.5 GiB behind the context hold 15 segments of 100 MiB.
        self.assertEqual(said["devices"][0]["peak_reserved_bytes"], 1500 << 20)


if __name__ == "__main__":
    if not PYTHON:
        print("GM_TORCH_PYTHON is not set")
        sys.exit(77)
    unittest.main()
