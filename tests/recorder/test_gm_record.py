# SPDX-License-Identifier: Apache-2.0
"""gm_record.py with programs over a torch that is not one (fake_torch): what it writes, what it leaves alone.
usage: test_gm_record.py GM_RECORD GMANALYZE"""
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL, GMANALYZE = (os.path.abspath(path) for path in sys.argv[1:3])
MiB = 1 << 20

TRAIN = """
import torch
optimizer = torch.optim.Optimizer()
weights = torch.Tensor(100 << 20)
for step in range(5):
    activations = torch.Tensor((step + 1) * 10 << 20)
    activations.free()
    optimizer.step()
"""


class Data(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} in a snapshot")


def load(path):
    with open(path, "rb") as file:
        return Data(file).load()


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gm_record-")
        self.addCleanup(self.folder.cleanup)
        self.at = self.folder.name

    def write(self, name, text):
        path = os.path.join(self.at, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return path

    def python(self, *words, **environment):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("FAKE_", "OMPI_", "SLURM_", "PMI_")) and name not in ("RANK", "LOCAL_RANK")}
        fakes = os.pathsep.join(os.path.join(HERE, name) for name in ("fake_torch", "fake_trainers"))
        kept.update(environment, PYTHONPATH=fakes, PYTHONDONTWRITEBYTECODE="1")
        return subprocess.run([sys.executable, *words], cwd=self.at, env=kept, capture_output=True, text=True,
                              timeout=60)

    def record(self, text, *options, arguments=(), **environment):
        path = self.write("train.py", text)
        return self.python(TOOL, *options, "--", path, *arguments, **environment)

    def files(self, under="memory_snapshot"):
        found = []
        for folder, _, names in os.walk(os.path.join(self.at, under)):
            found += [os.path.relpath(os.path.join(folder, name), os.path.join(self.at, under)) for name in names]
        return sorted(found)

    def table(self, path="memory_snapshot/rank0_memory_steps.csv"):
        with open(os.path.join(self.at, path), encoding="utf-8") as file:
            lines = file.read().split("\n")
        self.assertEqual(lines[0], "timestamp,member,step,allocated_GB,reserved_GB,current_GB")
        self.assertEqual(lines.pop(), "")
        rows = [line.split(",") for line in lines[1:]]
        for row in rows:
            self.assertRegex(row[0], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        return [row[1:] for row in rows]


def gb(mib):
    return f"{int(mib * 1000 / 1024 + 0.5) / 1000:.3f}"


class Written(Case):
    def test_a_program_as_it_is(self):
        done = self.record(TRAIN)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.files(), ["iteration_5/rank0_memory_snapshot.pickle", "rank0_memory_steps.csv"])
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("5 steps, 2 files in", done.stderr)

    def test_snapshot_is_read_and_named(self):
        self.record(TRAIN)
        path = os.path.join(self.at, "memory_snapshot/iteration_5/rank0_memory_snapshot.pickle")
        done = subprocess.run([GMANALYZE, "-q", "--no-charts", "-o", "results", "--json", "-", path], cwd=self.at,
                              capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        self.assertEqual(found["totals"]["reserved_bytes"], 100 * MiB)
        # weights, then five activations of 10 .. 50 MiB, each made and freed: 2 + 5 * 5 events
        self.assertEqual(found["snapshot"]["events"], 27)
        self.assertEqual(found["timeline"]["devices"][0]["peak_reserved_bytes"], 150 * MiB)
        self.assertRegex(os.readlink(os.path.join(self.at, "results/latest")), "_iter5_rank0$")

    def test_peaks_of_steps(self):
        self.record(TRAIN)
        rows = [["0", "init", "0.000", "0.000", "0.000"]]
        rows += [["0", str(n), gb(100 + 10 * n), gb(100 + 10 * n), gb(100)] for n in range(1, 6)]
        rows += [["0", "final", gb(100), gb(100), gb(100)]]
        self.assertEqual(self.table(), rows)

    def test_keep_peaks(self):
        self.record(TRAIN + "for n in (50, 5):\n    torch.Tensor(n << 20).free()\n    optimizer.step()\n"
                            "print(torch.cuda.max_memory_allocated() >> 20)\n", "--keep-peaks")
        peaks = (110, 120, 130, 140, 150, 150, 150, 150)
        self.assertEqual([row[2] for row in self.table()[1:]], [gb(n) for n in peaks])
        done = self.record(TRAIN + "print(torch.cuda.max_memory_allocated() >> 20)", "--keep-peaks")
        self.assertEqual(done.stdout, "150\n")

    def test_every_and_keep(self):
        self.record(TRAIN, "--every", "1", "--keep", "2", "--no-csv")
        self.assertEqual(self.files(), ["iteration_4/rank0_memory_snapshot.pickle",
                                        "iteration_5/rank0_2_memory_snapshot.pickle",
                                        "iteration_5/rank0_memory_snapshot.pickle"])
        self.assertFalse(os.path.exists(os.path.join(self.at, "memory_snapshot/iteration_1")))
        self.assertEqual(len(load(os.path.join(self.at, "memory_snapshot", self.files()[0]))["device_traces"][0]), 22)

    def test_steps(self):
        done = self.record(TRAIN + "print('end')", "--steps", "2", "--max-files=7", "--max-bytes", "1G")
        self.assertEqual(done.stdout, "end\n")
        self.assertEqual(self.files()[0], "iteration_2/rank0_memory_snapshot.pickle")
        self.assertIn("2 steps, 2 files", done.stderr)

    def test_name_and_output(self):
        self.record(TRAIN, "-o", "out", "--name=bs8")
        self.assertEqual(self.files("out"), ["bs8/iteration_5/rank0_memory_snapshot.pickle",
                                             "bs8/rank0_memory_steps.csv"])

    def test_ranks(self):
        for environment, rank in (({"RANK": "3", "LOCAL_RANK": "1"}, 3), ({"LOCAL_RANK": "1"}, 1),
                                  ({"OMPI_COMM_WORLD_RANK": "12"}, 12), ({"SLURM_PROCID": "7"}, 7),
                                  ({"FAKE_RANK": "5", "RANK": "3"}, 5), ({"RANK": "x"}, 0)):
            with self.subTest(environment):
                self.record(TRAIN, "-o", f"out{rank}", **environment)
                self.assertEqual(self.files(f"out{rank}"), [f"iteration_5/rank{rank}_memory_snapshot.pickle",
                                                            f"rank{rank}_memory_steps.csv"])

    def test_out_of_memory(self):
        done = self.record(TRAIN + "torch.Tensor(2 << 30)\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("OutOfMemoryError: CUDA out of memory", done.stderr)
        self.assertIn(f"out of memory on device 0 ({2 << 30} bytes were asked for)", done.stderr)
        self.assertEqual(self.files()[:2], ["iteration_5/rank0_memory_snapshot.pickle",
                                            "iteration_5/rank0_oom_memory_snapshot.pickle"])
        with open(os.path.join(self.at, "memory_snapshot", self.files()[2]), encoding="utf-8") as file:
            why = file.read()
        self.assertRegex(why, rf"^out of memory on device 0 \({2 << 30} bytes were asked for\)\n\ntime: \S+\nrank: 0\nstep: 5\n"
                              rf"device: 0\nrequested_bytes: {2 << 30}\ndevice_total_bytes: {1 << 30}\n"
                              rf"device_free_bytes: {924 << 20}\n$")
        last = load(os.path.join(self.at, "memory_snapshot", self.files()[1]))["device_traces"][0][-1]
        self.assertEqual((last["action"], last["size"]), ("oom", 2 << 30))

    def test_out_of_memory_many_times(self):
        done = self.record(TRAIN + """
for _ in range(10):
    try:
        torch.Tensor(2 << 30)
    except torch.cuda.OutOfMemoryError:
        pass
print("survived")
""")
        self.assertEqual((done.returncode, done.stdout), (0, "survived\n"))
        self.assertEqual(sum("oom" in path and path.endswith(".pickle") for path in self.files()), 3)
        self.assertIn("memory ran out 10 times; the first 3 have snapshots", done.stderr)

    def test_two_optimizers_make_one_step(self):
        self.record("""
import torch
first, second = torch.optim.Optimizer(), torch.optim.Optimizer()
torch.Tensor(1 << 20)
for _ in range(3):
    first.step()
    second.step()
""")
        self.assertIn("iteration_3/rank0_memory_snapshot.pickle", self.files())

    def test_an_earlier_file_is_replaced_in_one_step(self):
        old = self.write("memory_snapshot/iteration_5/rank0_memory_snapshot.pickle", "old")
        os.link(old, os.path.join(self.at, "linked"))
        self.record(TRAIN)
        load(old)
        with open(os.path.join(self.at, "linked"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")


class Versions(Case):
    SHOW = TRAIN + "print(torch.CALLS[0])\n"

    def calls(self, *options, **environment):
        done = self.record(self.SHOW, *options, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("failed", done.stderr)
        self.assertEqual(len(load(os.path.join(self.at, "memory_snapshot", self.files()[0]))["device_traces"][0]), 27)
        return done.stdout.strip()

    def test_signatures(self):
        self.assertEqual(self.calls(FAKE_TORCH="2.0"), "(True, 100000, True)")
        for version in ("2.1", "2.4", "2.6"):
            self.assertEqual(self.calls(FAKE_TORCH=version), "('all', 'all', 'all', 100000)")
        for version in ("2.8", "2.9", "2.11", "2.15"):
            self.assertEqual(self.calls(FAKE_TORCH=version), "('all', 'all', 'all', 100000, True)")

    def test_options_arrive(self):
        self.assertEqual(self.calls("--stacks", "python", "--max-entries=77", FAKE_TORCH="2.8"),
                         "('all', 'all', 'python', 77, True)")

    def test_hidden_signature(self):
        self.assertEqual(self.calls(FAKE_HIDDEN="1"), "('all', 'all', 'all', 100000)")

    def test_without_hook_and_observer(self):
        done = self.record(TRAIN + "try:\n    torch.Tensor(2 << 30)\nexcept RuntimeError:\n    pass\n",
                           FAKE_NO_HOOK="1", FAKE_NO_OBSERVER="1")
        self.assertEqual(done.returncode, 0)
        self.assertIn("call step() yourself", done.stderr)
        self.assertIn("no snapshot will be written then", done.stderr)
        self.assertEqual(self.files(), ["iteration_0/rank0_memory_snapshot.pickle", "rank0_memory_steps.csv"])
        self.assertEqual([row[1] for row in self.table()], ["init", "final"])

    def test_compiling(self):
        self.record(TRAIN, FAKE_COMPILING="1")
        self.assertEqual(self.files()[0], "iteration_0/rank0_memory_snapshot.pickle")


class LeftAlone(Case):
    def nothing(self, done, why, code=0):
        self.assertEqual(done.returncode, code, done.stderr)
        ours = [line for line in done.stderr.splitlines() if line.startswith("gm_record: ")]
        self.assertEqual(ours, [f"gm_record: {why}: nothing was recorded"])
        self.assertFalse(os.path.exists(os.path.join(self.at, "memory_snapshot")))

    def test_without_cuda(self):
        self.nothing(self.record("import torch\n", FAKE_CUDA="unbuilt"), "this torch is built without CUDA")
        self.nothing(self.record("import torch\nassert not torch.cuda.is_available()\n", FAKE_CUDA="no"),
                     "the program did not use CUDA")
        self.nothing(self.record("import torch\ntorch.Tensor(1)\n", FAKE_CUDA="no"), "the program did not use CUDA", 1)
        self.nothing(self.record("pass\n"), "the program did not import torch")

    def test_cuda_is_not_initialised_for_us(self):
        done = self.record("import torch\nassert not torch.cuda.is_initialized()\n")
        self.nothing(done, "the program did not use CUDA")

    def test_torch_is_not_imported_early(self):
        done = self.record("import os, sys\nassert 'torch' not in sys.modules\n"
                           "os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'x:1'\nimport torch\nprint(torch.CONF_AT_IMPORT)\n"
                           "import importlib\nimportlib.reload(torch.version) if False else None\n")
        self.assertEqual(done.stdout, "x:1\n", done.stderr)

    def test_exit_codes(self):
        for text, code in (("import sys; sys.exit(7)", 7), ("raise SystemExit('told')", 1), ("sys.exit()", 0),
                           ("import os; os._exit(9)", 9), ("raise KeyError('k')", 1),
                           ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
                           ("raise KeyboardInterrupt", -signal.SIGINT)):
            with self.subTest(text):
                self.assertEqual(self.record("import sys\n" + TRAIN + text + "\n").returncode, code)

    def test_snapshot_after_exceptions(self):
        done = self.record(TRAIN + "raise KeyError('mine')\n")
        self.assertIn("KeyError: 'mine'", done.stderr)
        self.assertIn("iteration_5/rank0_memory_snapshot.pickle", self.files())

    def test_arguments_and_path(self):
        self.write("beside.py", "VALUE = 4\n")
        done = self.record("import sys, beside, __main__\nprint(sys.argv[1:], beside.VALUE, __name__, __file__,"
                           " sys.path[0])\nclass Mine:\n    pass\nprint(__main__.Mine is Mine)\n",
                           arguments=("--every", "x", "--", "-m"))
        path = os.path.join(self.at, "train.py")
        folder = os.path.realpath(self.at)
        self.assertEqual(done.stdout, f"['--every', 'x', '--', '-m'] 4 __main__ {path} {folder}\nTrue\n")

    def test_without_dashes_and_modules(self):
        self.write("package/__init__.py", "")
        self.write("package/train.py", TRAIN + "import sys\nprint(sys.argv[1:], __name__)\n")
        for words in (("-m", "package.train", "-o", "x"), ("--", "-m", "package.train", "-o", "x"),
                      ("--every", "2", "package/train.py", "-o", "x")):
            done = self.python(TOOL, *words)
            self.assertEqual((done.returncode, done.stdout), (0, "['-o', 'x'] __main__\n"), done.stderr)
            self.assertIn("iteration_5/rank0_memory_snapshot.pickle", self.files())

    def test_usage(self):
        self.assertEqual(self.python(TOOL).returncode, 2)
        self.assertEqual(self.python(TOOL, "-m").returncode, 2)
        done = self.python(TOOL, "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("torchrun", done.stdout)

    def test_spawned_children(self):
        done = self.record("""
import multiprocessing
def work(n):
    return n * n
if __name__ == "__main__":
    for method in ("spawn", "fork"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(pool.map(work, [1, 2, 3]))
""")
        self.assertEqual(done.stdout, "[1, 4, 9]\n[1, 4, 9]\n", done.stderr)
        self.nothing(done, "the program did not import torch")

    def test_forked_child_writes_nothing(self):
        done = self.record(TRAIN + "import os\nif os.fork() == 0:\n    optimizer.step()\n    raise SystemExit(3)\n"
                                   "print(os.wait()[1] >> 8)\n")
        self.assertEqual(done.stdout, "3\n")
        self.assertEqual(self.files(), ["iteration_5/rank0_memory_snapshot.pickle", "rank0_memory_steps.csv"])
        self.assertEqual(len(self.table()), 7)

    def test_failures_are_told(self):
        done = self.record(TRAIN + "print('end')\n", FAKE_DUMP_FAILS="1")
        self.assertEqual((done.returncode, done.stdout), (0, "end\n"))
        self.assertIn("gm_record: snapshot failed: RuntimeError: CUDA error: device-side assert triggered", done.stderr)
        self.assertEqual(self.files(), ["rank0_memory_steps.csv"])  # and no half a snapshot

    def test_history_fails(self):
        done = self.record(TRAIN + "print('end')\n", FAKE_HISTORY_FAILS="1")
        self.assertEqual((done.returncode, done.stdout), (0, "end\n"))
        self.assertIn("gm_record: begin failed: RuntimeError: no history\n", done.stderr)
        self.assertIn("gm_record: recording could not begin: nothing was recorded\n", done.stderr)
        self.assertEqual(self.files(), [])

    def test_unwritable_output(self):
        self.write("memory_snapshot", "a file")
        done = self.record(TRAIN + "print('end')\n")
        self.assertEqual((done.returncode, done.stdout), (0, "end\n"))
        self.assertIn("failed: ", done.stderr)


class Program(Case):
    """One that has the recorder beside it."""

    def program(self, text, **environment):
        path = self.write("train.py", text)
        with open(TOOL, encoding="utf-8") as file:
            self.write("gm_record.py", file.read())
        return self.python(path, **environment)


class Context(Program):
    def test_steps_by_hand(self):
        done = self.program("""
import torch, gm_record
before = torch.Tensor(200 << 20)
torch.Tensor(300 << 20).free()
optimizer = torch.optim.Optimizer()
with gm_record.record("warmup", every=2) as rec:
    for step in range(3):
        torch.Tensor((step + 1) * 100 << 20).free()
        optimizer.step() if step else None
        rec.step()
print(torch.CALLS[-1], rec.steps)
""")
        self.assertEqual(done.stdout, "(None, 'all', 'all', 9223372036854775807) 3\n", done.stderr)
        folder = "memory_snapshot/warmup"
        self.assertEqual(self.files(folder), ["iteration_2/rank0_memory_snapshot.pickle",
                                              "iteration_3/rank0_memory_snapshot.pickle", "rank0_memory_steps.csv"])
        # 200 MiB lay there before, its peak of 500 is none of ours
        expected = [["0", "init"] + [gb(200)] * 3]
        expected += [["0", str(n), gb(200 + 100 * n), gb(200 + 100 * n), gb(200)] for n in (1, 2, 3)]
        expected += [["0", "final"] + [gb(200)] * 3]
        self.assertEqual(self.table(folder + "/rank0_memory_steps.csv"), expected)

    def test_exceptions_pass(self):
        done = self.program("""
import torch, gm_record
try:
    with gm_record.record():
        torch.Tensor(1 << 20)
        raise KeyError("mine")
except KeyError as error:
    print(error)
with gm_record.record("second"):
    torch.Tensor(1 << 20)
""")
        self.assertEqual(done.stdout, "'mine'\n", done.stderr)
        self.assertEqual(self.files(), ["iteration_0/rank0_memory_snapshot.pickle", "rank0_memory_steps.csv",
                                        "second/iteration_0/rank0_memory_snapshot.pickle",
                                        "second/rank0_memory_steps.csv"])

    def test_both_kinds_of_steps_are_one(self):
        done = self.program("""
import torch, gm_record
optimizer = torch.optim.Optimizer()
with gm_record.record() as rec:
    for step in range(3):
        torch.Tensor(1 << 20).free()
        optimizer.step()
        rec.step()
print(rec.steps)
""")
        self.assertEqual(done.stdout, "3\n", done.stderr)

    def test_so_many_steps(self):
        done = self.program("""
import torch, gm_record
with gm_record.record("out", steps=2, every=1) as rec:
    for step in range(5):
        torch.Tensor(1 << 20).free()
        rec.step()
torch.Tensor(1 << 20)
print(rec.steps, torch.CALLS[-1][0], [path.rpartition("memory_snapshot/")[2] for path in rec.files])
""")
        self.assertEqual(done.stdout, "2 None ['out/iteration_1/rank0_memory_snapshot.pickle', 'out/rank0_memory_steps.csv',"
                                      " 'out/iteration_2/rank0_memory_snapshot.pickle']\n", done.stderr)
        self.assertEqual(len(load(os.path.join(self.at, "memory_snapshot/out", self.files("memory_snapshot/out")[1]))
                             ["device_traces"][0]), 10)

    def test_before_a_function(self):
        done = self.program("""
import torch, gm_record

@gm_record.record("epoch", csv=False)
def epoch(n, by=1):
    "told"
    for step in range(n):
        torch.Tensor(by << 20).free()
        torch.optim.Optimizer().step()
    return n * by

print(epoch(2), epoch(2, by=3), epoch.__name__, epoch.__doc__)
try:
    @gm_record.record()
    def later():
        yield 1
except TypeError as error:
    print(error)
with gm_record.record("outer"):
    epoch(1)
""")
        self.assertEqual(done.stdout, "2 6 epoch told\nlater runs after its call has returned: use `with` inside of it\n",
                         done.stderr)
        self.assertEqual(self.files(), ["epoch/iteration_2/rank0_2_memory_snapshot.pickle",
                                        "epoch/iteration_2/rank0_memory_snapshot.pickle",
                                        "outer/iteration_1/rank0_memory_snapshot.pickle", "outer/rank0_memory_steps.csv"])

    def test_no_more_room_than_was_given(self):
        done = self.program("""
import os, torch, gm_record
os.makedirs("memory_snapshot/iteration_1")
for name in ("rank1_memory_snapshot.pickle", "mine.txt"):
    open("memory_snapshot/iteration_1/" + name, "w").close()
with gm_record.record(every=1, max_files=3, csv=False) as rec:
    for step in range(4):
        if step == 1:
            try:
                torch.Tensor(2 << 30)
            except torch.cuda.OutOfMemoryError:
                pass
        torch.Tensor(1 << 20).free()
        rec.step()
        if step == 2:  # somebody's own file under the name of ours
            os.remove("memory_snapshot/iteration_3/rank0_memory_snapshot.pickle")
            open("memory_snapshot/iteration_3/rank0_memory_snapshot.pickle", "w").close()
""")
        self.assertEqual(self.files(), ["iteration_1/mine.txt", "iteration_1/rank0_oom_memory_snapshot.pickle",
                                        "iteration_1/rank0_oom_memory_snapshot.txt",
                                        "iteration_1/rank1_memory_snapshot.pickle",
                                        "iteration_3/rank0_memory_snapshot.pickle",
                                        "iteration_4/rank0_2_memory_snapshot.pickle",
                                        "iteration_4/rank0_memory_snapshot.pickle"])
        self.assertEqual(os.path.getsize(os.path.join(self.at, "memory_snapshot/iteration_3/rank0_memory_snapshot.pickle")), 0)
        self.assertIn("removed 3 older snapshots", done.stderr)

    def test_bytes_are_bounded(self):
        self.program("""
import torch, gm_record
with gm_record.record(every=1, max_bytes="4KiB", csv=False) as rec:
    for step in range(20):
        torch.Tensor(1 << 20).free()
        rec.step()
""")
        sizes = [os.path.getsize(os.path.join(self.at, "memory_snapshot", path)) for path in self.files()]
        self.assertTrue(len(sizes) == 1 or sum(sizes) <= 4096, sizes)
        self.assertIn("iteration_20/rank0_2_memory_snapshot.pickle", self.files())
        self.assertIn("is no size", self.program("import gm_record\ngm_record.record(max_bytes='much')\n").stderr)

    def test_restarts_of_torchrun(self):
        self.program("import torch, gm_record\nwith gm_record.record(csv=False):\n    torch.Tensor(1)\n",
                     TORCHELASTIC_RESTART_COUNT="2", RANK="3")
        self.assertEqual(self.files(), ["restart_2/iteration_0/rank3_memory_snapshot.pickle"])

    def test_inside_of_the_command_it_joins(self):
        path = self.write("train.py", """
import gm_record, torch
with gm_record.record("inner") as rec:
    torch.Tensor(1 << 20)
    rec.step()
torch.Tensor(1 << 20)
""")
        done = self.python(TOOL, "--", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.files(), ["iteration_1/rank0_memory_snapshot.pickle", "rank0_memory_steps.csv"])
        self.assertEqual(len(load(os.path.join(self.at, "memory_snapshot", self.files()[0]))["device_traces"][0]), 4)

    def test_wrong_options_are_told_at_once(self):
        self.assertIn("stacks must be", self.program("import gm_record\ngm_record.record(stacks='c')\n").stderr)

    def test_left_open(self):
        done = self.program("import torch, gm_record\nrec = gm_record.record()\nrec.start()\ntorch.Tensor(1 << 20)\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("iteration_0/rank0_memory_snapshot.pickle", self.files())


TRAINED = """
import sys, pickle, gm_record
assert not {"torch", "lightning", "pytorch_lightning", "transformers"} & set(sys.modules)
import torch

class Model:
    def to_device(self):
        self.weights, self.optimizer = torch.Tensor(100 << 20), torch.optim.Optimizer()

    def training_step(self, batch):
        torch.Tensor(batch << 20).free()
"""


class Trainers(Program):
    """Callbacks in trainers that call the hooks of the real ones; test_gm_record_torch.py has those."""

    def events(self, path):
        return len(load(os.path.join(self.at, "memory_snapshot", path))["device_traces"][0])

    def test_lightning(self):
        done = self.program(TRAINED + """
import lightning.pytorch as L
callback = pickle.loads(pickle.dumps(gm_record.LightningCallback("fit", every=2, csv=False)))
trainer = L.Trainer([callback], accumulate_grad_batches=2)
trainer.validate(Model())
trainer.fit(Model(), [1] * 8)
""")
        self.assertEqual((done.returncode, self.files()), (0, ["fit/iteration_2/rank0_memory_snapshot.pickle",
                                                               "fit/iteration_4/rank0_2_memory_snapshot.pickle",
                                                               "fit/iteration_4/rank0_memory_snapshot.pickle"]), done.stderr)
        self.assertEqual(self.events(self.files()[1]), 2 + 8 * 5)  # the weights, too

    def test_lightning_fails(self):
        done = self.program(TRAINED + """
import lightning.pytorch as L
L.Trainer([gm_record.LightningCallback(csv=False)]).fit(Model(), [1, 2, 2000])
""")
        self.assertIn("OutOfMemoryError: CUDA out of memory", done.stderr)
        self.assertEqual(self.files(), ["iteration_2/rank0_memory_snapshot.pickle",
                                        "iteration_2/rank0_oom_memory_snapshot.pickle",
                                        "iteration_2/rank0_oom_memory_snapshot.txt"])

    def test_transformers(self):
        done = self.program(TRAINED + """
from transformers import Trainer
trainer = Trainer(Model(), [gm_record.TrainerCallback("fit", steps=3)])
trainer.train([1] * 5)
Trainer(Model(), [gm_record.TrainerCallback]).train([1] * 2)
""")
        self.assertEqual((done.returncode, self.files()), (0, ["fit/iteration_3/rank0_memory_snapshot.pickle",
                                                               "fit/rank0_memory_steps.csv",
                                                               "iteration_2/rank0_memory_snapshot.pickle",
                                                               "rank0_memory_steps.csv"]), done.stderr)
        self.assertEqual(self.events(self.files()[0]), 2 + 3 * 5)

    def test_inside_of_the_command(self):
        path = self.write("train.py", TRAINED.replace('"torch", ', "") + """
from transformers import Trainer
from gm_record import TrainerCallback
Trainer(Model(), [TrainerCallback("fit")]).train([1] * 5)
torch.Tensor(1)
""")
        done = self.python(TOOL, "--no-csv", "--", path)
        self.assertEqual((done.returncode, self.files()), (0, ["iteration_5/rank0_memory_snapshot.pickle"]), done.stderr)

    def test_nothing_else_is_there(self):
        done = self.program("""
import gm_record
try:
    gm_record.Nothing
except AttributeError as error:
    print(error)
gm_record.LightningCallback(stacks="c")
""")
        self.assertEqual(done.stdout, "module 'gm_record' has no attribute 'Nothing'\n")
        self.assertIn("stacks must be", done.stderr)


class Itself(unittest.TestCase):
    def test_old_pythons_can_read_it(self):
        import ast
        with open(TOOL, encoding="utf-8") as file:
            text = file.read()
        ast.parse(text, feature_version=(3, 8))
        self.assertIsNone(re.search(r"removeprefix|removesuffix|\bmatch .*:|zip\(.*strict", text))


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
