# SPDX-License-Identifier: Apache-2.0
"""gmdry as its users meet it, with commands that need no PyTorch: they write what the hook would have written."""
import contextlib
import json
import os
import pathlib
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

GMDRY = os.environ["GMDRY"]
MIB = 1 << 20

# A segment of 20 MiB with one block of 12 MiB that lives.
SNAPSHOT = {
    "segments": [{"device": 0, "address": 0x1000000, "total_size": 20 * MIB, "allocated_size": 12 * MIB,
                  "active_size": 12 * MIB, "requested_size": 12 * MIB, "stream": 0, "segment_type": "large",
                  "blocks": [{"address": 0x1000000, "size": 12 * MIB, "requested_size": 12 * MIB,
                              "state": "active_allocated", "frames": []},
                             {"address": 0x1000000 + 12 * MIB, "size": 8 * MIB, "requested_size": 0,
                              "state": "inactive", "frames": []}]}],
    "device_traces": [[{"action": "segment_alloc", "addr": 0x1000000, "size": 20 * MIB, "stream": 0, "frames": []},
                       {"action": "alloc", "addr": 0x1000000, "size": 12 * MIB, "stream": 0, "frames": []}]],
}

# 12 GiB that are cached while 20 more are asked for: 32 are reserved, 20 are enough if the 12 are given back.
GIB = 1 << 30
FIRST, SECOND = 1 << 40, 2 << 40
RETRIES = {
    "segments": [{"device": 0, "address": address, "total_size": size, "allocated_size": used, "active_size": used,
                  "requested_size": used, "stream": 0, "segment_type": "large",
                  "blocks": [{"address": address, "size": size, "requested_size": used, "frames": [],
                              "state": "active_allocated" if used else "inactive"}]}
                 for address, size, used in [(FIRST, 12 * GIB, 0), (SECOND, 20 * GIB, 20 * GIB)]],
    "device_traces": [[{"action": action, "addr": address, "size": size, "stream": 0, "frames": []}
                       for action, address, size in [("segment_alloc", FIRST, 12 * GIB), ("alloc", FIRST, 12 * GIB),
                                                     ("free_requested", FIRST, 12 * GIB),
                                                     ("free_completed", FIRST, 12 * GIB),
                                                     ("segment_alloc", SECOND, 20 * GIB),
                                                     ("alloc", SECOND, 20 * GIB)]]],
}

TELLS = """
import os, pickle, sys
folder = os.environ["GMDRY_FOLDER"] + "/processes/" + str(os.getpid())
os.makedirs(folder + "/run")
pickle.dump({snapshot!r}, open(folder + "/run/train.pickle", "wb"))
open(folder + "/told", "w").write("why end\\nrank -1\\nsteps 0\\nsnapshot " + folder + "/run/train.pickle\\n" + {lines!r})
open(os.environ["GMDRY_LOG"], "a").write({log!r})
sys.exit({code})
"""


def telling(lines="device 0 12582912 20971520 0 0\n", log="", code=0, snapshot=SNAPSHOT):
    return [sys.executable, "-c", TELLS.format(snapshot=snapshot, lines=lines, log=log, code=code)]


# Needs what the expression says (MiB) of the value that --find puts in; out of memory above 1,000.
NEEDS = """
import os, pickle, sys
value = float(sys.argv[1])
mib = int({needs})
print("output of", value)
folder = os.environ["GMDRY_FOLDER"] + "/processes/" + str(os.getpid())
os.makedirs(folder + "/run")
pickle.dump({snapshot!r}, open(folder + "/run/train.pickle", "wb"))
is_oom = mib > 1000
lines = "device 0 %d %d %d 0\\n" % (min(mib, 990) << 20, min(mib, 1000) << 20, is_oom) + "wanted 0 1048576\\n" * is_oom
open(folder + "/told", "w").write("why end\\nrank -1\\nsteps 0\\nsnapshot " + folder + "/run/train.pickle\\n" + lines)
if value == {breaks}:
    print("it breaks here")
    sys.exit(9)
sys.exit(is_oom)
"""


class Gmdry(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.mkdir(self.folder.name + "/tmp")
        self.environment = dict(os.environ, TMPDIR=self.folder.name + "/tmp")

    def run_it(self, options, command, trace=None, **more):
        before = ["strace", "-f", "-y", "-qq", "-s", "300", "-o", trace] if trace else []
        done = subprocess.run([*before, GMDRY, "--no-charts", *options, "--", *command], cwd=self.folder.name, text=True,
                              capture_output=True, env={**self.environment, **more}, timeout=120)
        self.assertEqual(os.listdir(self.folder.name + "/tmp"), [])  # nothing outlives it
        return done

    def json_of(self, options, command):
        done = self.run_it(["--json", "-", *options], command)
        return done, json.loads(done.stdout)

    def test_fits(self):
        done = self.run_it([], telling())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("needs 20.00 MiB reserved on h100-80 (peak 12.00 MiB allocated): fits"),
                        done.stdout)
        runs = [name for name in os.listdir(self.folder.name + "/results") if name.endswith("_train")]
        self.assertEqual(len(runs), 1)
        with open(f"{self.folder.name}/results/{runs[0]}/analysis.json") as file:
            analysis = json.load(file)
        self.assertEqual(analysis["totals"]["reserved_bytes"], 20 * MIB)
        for file, before in [("analysis_report.txt", ""), ("README.md", "```\n")]:
            with open(f"{self.folder.name}/results/{runs[0]}/{file}") as report:
                self.assertTrue(report.read().startswith(before + done.stdout.splitlines()[0] + "\n"))

    def test_json(self):
        done, said = self.json_of(["--gpu", "4090", "--memory", "10GiB"], telling())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((said["schema"], said["gpu"], said["exit_code"], said["verdict"]),
                         ("gmdry.run/1", "rtx-4090", 0, "FITS"))
        device = said["devices"][0]
        self.assertEqual([device[key] for key in ("device", "peak_allocated_bytes", "peak_reserved_bytes",
                                                  "context_bytes", "total_bytes")],
                         [0, 12 * MIB, 20 * MIB, 512 * MIB, 10240 * MIB])
        self.assertIs(said["exact"], True)
        self.assertEqual(said["command"][0], sys.executable)

    def test_untraced(self):
        """Another allocator than PyTorch's has peaks and no trace."""
        tells = ("import os\nfolder = os.environ['GMDRY_FOLDER'] + '/processes/1'\nos.makedirs(folder)\n"
                 "open(folder + '/told', 'w').write('rank -1\\nuntraced\\ndevice 0 12582912 20971520 0 0\\n%s')\nexit(%d)")
        done, said = self.json_of(["--sweep"], [sys.executable, "-c", tells % ("", 0)])
        self.assertEqual((done.returncode, said["verdict"], said["devices"][0]["peak_reserved_bytes"]), (0, "FITS", 20 * MIB))
        self.assertIn("the allocator keeps no trace", done.stderr)
        self.assertFalse(os.path.exists(self.folder.name + "/results"))
        done = self.run_it([], [sys.executable, "-c", tells % ("wanted 0 1048576\\n", 1)])
        self.assertIn("does not fit on h100-80: out of memory at 20.00 MiB reserved", done.stdout)
        self.assertEqual(done.returncode, 1)

    def test_process_without_memory(self):
        """A worker of a compiler opens the devices and uses none of them: its snapshot is empty."""
        worker = telling(lines="device 0 0 0 0 0\n")
        done, said = self.json_of([], ["sh", "-c", '"$@" & wait; shift 3; exec "$@"', "sh", *worker, *telling()])
        self.assertEqual((done.returncode, said["devices"][0]["processes"]), (0, 1), done.stderr)
        self.assertEqual(len([name for name in os.listdir(self.folder.name + "/results") if "train" in name]), 1)
        self.assertEqual(self.json_of([], worker)[1]["devices"], [])

    def test_kernels_by_name(self):
        log = "kernel 2 _Z3addPf\nkernel 5 triton_poi_fused_0\nkernel 9 _Z3addPf\nkernel 5 a b\n"
        self.assertEqual([(k["name"], k["launches"]) for k in self.json_of([], telling(log=log))[1]["kernels"]],
                         [("_Z3addPf", 11), ("a b", 5), ("triton_poi_fused_0", 5)])

    def crash(self, what):
        """Of a process that the stand-in is in, with ctypes instead of PyTorch."""
        command = [sys.executable, "-c", "import ctypes, os\ncuda = ctypes.CDLL('libcudart.so.12')\n"
                   "pointer = ctypes.c_void_p()\ncuda.cudaMalloc(ctypes.byref(pointer), 1000)\n" + what]
        done, said = self.json_of([], command)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(said["crash"], done.stderr)
        return said["crash"]

    def test_crash(self):
        self.assertEqual(self.crash("os.abort()"), "SIGABRT; the last function of the stand-in: cudaMalloc of CUDA runtime")
        self.assertEqual(self.crash("cuda.cublasSetStream_v2(None, None)\nctypes.string_at(0)"),
                         "SIGSEGV; the last function of the stand-in: cublasSetStream_v2 of cuBLAS")
        self.assertEqual(self.crash("ctypes.string_at(pointer.value)"), "SIGSEGV, at an address of device memory; the "
                         "last function of the stand-in: cudaMalloc of CUDA runtime")

    def test_crash_with_a_handler(self):
        """What was there before has its turn."""
        command = [sys.executable, "-X", "faulthandler", "-c", "import ctypes\n"
                   "ctypes.CDLL('libcudart.so.12').cudaFree(None)\nctypes.string_at(0)"]
        done, said = self.json_of([], command)
        self.assertIn("Fatal Python error", done.stderr)
        self.assertIn("cudaFree", said["crash"])
        self.assertEqual(said["exit_code"], 139)

    def test_caches_of_compilers_are_not_kept(self):
        """What they would keep, made with the stand-in, is wrong on a card."""
        done = self.run_it([], ["sh", "-c", "mkdir -p $TRITON_CACHE_DIR/a $TORCHINDUCTOR_CACHE_DIR/b && echo "
                                "$GMDRY_FOLDER $TRITON_CACHE_DIR $TORCHINDUCTOR_CACHE_DIR $USE_PYTORCH_KERNEL_CACHE"],
                           TRITON_CACHE_DIR=self.folder.name, TORCHINDUCTOR_CACHE_DIR=self.folder.name)
        folder, triton, inductor, kernels = done.stdout.splitlines()[0].split()
        self.assertEqual([os.path.dirname(triton), os.path.dirname(inductor), kernels], [folder, folder, "0"])

    def test_what_is_exact(self):
        said = self.json_of([], telling(log="reads\ncounts 7 3 24\n"))[1]
        self.assertEqual((said["exact"], said["launches"], said["copies_to_host"]), (None, 7, 3))
        said = self.json_of([], telling(log="unknown cusolverX\nunknown cusolverX\nestimated cufftY\n"))[1]
        self.assertEqual((said["exact"], said["unknown_functions"], said["estimated"]),
                         (False, ["cusolverX"], ["cufftY"]))

    def test_data_dependent(self):
        log = ("read value 1 item - train.py:50\nread size 1 nonzero - train.py:41\nread size 1 index nonzero a b.py:7\n"
               "reads\nread value 4 item - train.py:50\ncounts 7 8 24\nread size 2\n")
        done = self.run_it([], telling(log=log))
        self.assertIn("; depends on data at 2 places\n", done.stdout)
        self.assertIn("  nonzero at train.py:41\n  index (nonzero) at a b.py:7\n", done.stdout)
        self.assertIn("  item at train.py:50, 5 times\n", done.stdout)
        said = self.json_of([], telling(log=log))[1]
        self.assertEqual([[entry.get(key) for key in ("operator", "through", "site", "count", "decides")]
                          for entry in said["data_dependent"]],
                         [["item", None, "train.py:50", 5, "unknown"], ["nonzero", None, "train.py:41", 1, "size"],
                          ["index", "nonzero", "a b.py:7", 1, "size"]])
        self.assertIs(said["exact"], False)
        done = self.run_it(["-q"], telling(log="reads\nread value 1 item - train.py:50\n"))
        self.assertTrue(done.stdout.endswith("; may depend on data at 1 place\n"), done.stdout)
        done = self.run_it(["-q"], telling())
        self.assertTrue(done.stdout.endswith("; exact\n"), done.stdout)

    def find(self, what, needs, *options, breaks=None):
        code = NEEDS.format(needs=needs, snapshot=SNAPSHOT, breaks=breaks)
        name = what.split("=")[0]
        return self.json_of(["--memory", "1512MiB", "--find", what, *options], [sys.executable, "-c", code, "{%s}" % name])

    def test_find(self):
        for what, needs, largest, failing, most in [
                ("batch=1..512", "100 + 10 * value", 90, 91, 5),          # a line
                ("batch=1..512", "100 + 10 * value + 0.05 * value ** 2", 67, 68, 9),
                ("batch=1..512", "10 + value ** 2", 31, 32, 9),
                ("batch=1..512", "500 if value < 77 else 2000", 76, 77, 14),  # memory tells nothing
                ("batch=1..512", "500", 512, None, 3),                    # all fit
                ("batch=3..512", "2000", None, 3, 1),                     # none
                ("batch=5..5", "500", 5, None, 1),
                ("batch=8..512:8", "100 + 10 * value", 88, 96, 5),
                ("batch=1..512:x2", "100 + 10 * value", 64, 128, 5),
                ("scale=0.5..4:0.25", "100 + 450 * value", 2, 2.25, 6)]:
            done, said = self.find(what, needs)
            found = said["find"]
            self.assertEqual((found["largest_that_fits"], found["smallest_that_does_not"]), (largest, failing), what)
            self.assertLessEqual(len(found["tried"]), most, found)
            self.assertEqual(done.returncode, 0 if largest is not None else 1)
            tried = {one["value"]: one["fits"] for one in found["tried"]}
            self.assertEqual(len(tried), len(found["tried"]))  # nothing twice
            self.assertTrue(all(fits == (largest is not None and value <= largest) for value, fits in tried.items()))
            self.assertEqual(float(said["command"][-1]), largest if largest is not None else failing)
            self.assertEqual(said["verdict"], "FITS" if largest is not None else "OOM")
            self.assertNotIn("output of", done.stderr)
            runs = [name for name in os.listdir(self.folder.name + "/results") if name != "latest"]
            self.assertEqual(len(runs), 1)  # of the largest that fits
            subprocess.run(["rm", "-r", self.folder.name + "/results"], check=True)

    def test_find_under_a_limit(self):
        self.assertEqual(self.find("batch=1..512", "100 + 10 * value", "--limit", "500MiB")[1]["find"]["largest_that_fits"], 40)

    def test_find_says(self):
        code = NEEDS.format(needs="100 + 10 * value", snapshot=SNAPSHOT, breaks=None)
        done = self.run_it(["--memory", "1512MiB", "--find", "batch=1..512"], [sys.executable, "-c", code, "{batch}"])
        self.assertTrue(done.stdout.startswith("the largest batch that fits in 1.48 GiB is 90: 91 does not\n"), done.stdout)
        self.assertIn("gmdry: batch=91: does not fit", done.stderr)

    def test_find_stops_where_the_command_breaks(self):
        code = NEEDS.format(needs="100 + 10 * value", snapshot=SNAPSHOT, breaks=1.0)
        done = self.run_it(["--memory", "1512MiB", "--find", "n=1..9"], [sys.executable, "-c", code, "{n}"])
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("it breaks here", done.stderr)
        self.assertIn("with n=1 the command failed with exit code 9", done.stderr)

    def test_find_usage(self):
        for what, command in [("batch", "{batch}"), ("batch=", "{batch}"), ("batch=2..1", "{batch}"), ("batch=1..8", "batch"),
                              ("batch=1..8:0", "{batch}"), ("batch=0..8:x2", "{batch}"), ("batch=1..8:x1", "{batch}"),
                              ("lr=0.1..1", "{lr}"), ("batch=-1..8", "{batch}"), ("batch=1..8x", "{batch}")]:
            done = self.run_it(["--find", what], ["true", command])
            self.assertEqual((done.returncode, done.stdout), (2, ""), (what, done.stderr))

    def test_limit(self):
        done, said = self.json_of(["--limit", "19MiB"], telling())
        self.assertEqual((done.returncode, said["verdict"]), (1, "FAIL"))
        done, said = self.json_of(["--limit", "20MiB"], telling())
        self.assertEqual((done.returncode, said["verdict"]), (0, "FITS"))

    def test_out_of_memory(self):
        told = "device 0 12582912 20971520 1 1\nwanted 0 104857600\n"
        done = self.run_it([], telling(lines=told, code=1))
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not fit on h100-80: out of memory at 20.00 MiB reserved", done.stdout)
        self.assertIn("100.0 MiB more wanted", done.stdout)
        done = self.run_it(["--memory", "3GiB"], telling(lines=told, code=1))
        self.assertIn("does not fit in 3.00 GiB: out of memory at 20.00 MiB reserved", done.stdout)
        done = self.run_it(["--memory", "3GiB"], telling())
        self.assertIn("reserved in 3.00 GiB (peak ", done.stdout)
        done, said = self.json_of([], telling(lines=told))  # it went on without
        self.assertEqual((done.returncode, said["verdict"]), (0, "FITS"))

    def test_command_fails(self):
        done, said = self.json_of([], telling(code=7))
        self.assertEqual((done.returncode, said["exit_code"], said["verdict"]), (3, 7, None))
        self.assertIn("exit code 7", done.stderr)
        hint = "--data ones may do"
        self.assertNotIn(hint, self.run_it([], telling(code=7)).stdout)
        read = telling(code=7, log="reads\nread value 1 item - train.py:50\n")
        self.assertIn(hint, self.run_it([], read).stdout)
        self.assertIn("--data random may do", self.run_it(["--data", "ones"], read).stdout)
        self.assertNotIn("exact", self.run_it(["-q"], telling(code=7)).stdout)  # of what it might have needed nothing is known
        done = self.run_it([], ["/nowhere/at/all"])
        self.assertEqual(done.returncode, 3)
        self.assertIn("exit code 127 (not found)", done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn("did you mean: python", self.run_it([], ["train.py"]).stderr)
        done = self.run_it([], ["sh", "-c", "kill -9 $$"])
        self.assertIn("exit code 137", done.stderr)

    def test_json_on_stdout_is_alone(self):
        done, said = self.json_of([], ["echo", "of the command"])
        self.assertEqual((said["exit_code"], done.stderr), (0, "of the command\n"))

    def test_no_gpu_was_used(self):
        done, said = self.json_of([], ["true"])
        self.assertEqual((done.returncode, said["devices"], said["verdict"], said["exact"]), (0, [], None, None))

    def test_usage(self):
        for options, command, code in [([], [], 2), (["--gpu", "h1000"], ["true"], 2), (["--data", "both"], ["true"], 2),
                                       (["--events", "later"], ["true"], 2),
                                       (["--gpu", "mi300x"], ["true"], 2),
                                       (["--world-size", "8", "--rank", "8"], ["true"], 2),
                                       (["--rank", "0"], ["true"], 2)]:
            done = self.run_it(options, command)
            self.assertEqual(done.returncode, code, (options, done.stderr))
            self.assertEqual(done.stdout, "")

    def test_smallest_card(self):
        lines = f"device 0 {20 * GIB} {32 * GIB} 0 0\n"
        done = self.run_it([], telling(lines, snapshot=RETRIES))
        self.assertIn("; smallest card: l4 (tight), with 1 retry; exact\n", done.stdout)
        said = self.json_of([], telling(lines, snapshot=RETRIES))[1]
        self.assertEqual((said["smallest_card"], said["smallest_memory_bytes"]), ("l4", 20 * GIB))
        late = self.json_of([], telling(lines + "since program\n", snapshot=RETRIES))[1]  # the trace is not all
        self.assertEqual(late["smallest_memory_bytes"], None)
        self.assertNotEqual(late["smallest_card"], "l4")

    def test_sweep(self):
        lines = f"device 0 {20 * GIB} {32 * GIB} 0 0\n"
        done = self.run_it(["--sweep"], telling(lines, snapshot=RETRIES))
        self.assertIn("Best settings:\n    PYTORCH_ALLOC_CONF=expandable_segments:True\n", done.stdout)
        self.assertIn(" more: see --json FILE\n", done.stdout)
        said = self.json_of(["--sweep", "--gpu", "a100-40"], telling(lines, snapshot=RETRIES))[1]
        self.assertGreater(len(said["sweep"]["rows"]), 50)
        self.assertNotIn("sweep", self.json_of([], telling())[1])

    def test_environment(self):
        """The stand-in is found by every name, and the user's own settings stay behind it."""
        code = ("import ctypes, os\n"
                "n = ctypes.c_int()\n"
                "for name in ('libcuda.so.1', 'libcudart.so', 'libcudart.so.12', 'libnccl.so.2', 'libnvToolsExt.so.1'):\n"
                "    ctypes.CDLL(name).cudaGetDeviceCount(ctypes.byref(n))\n"
                "    print(n.value, end=' ')\n"
                "print(os.environ['LD_LIBRARY_PATH'].split(':')[-1], os.environ['CUDA_VISIBLE_DEVICES'])\n")
        done = self.run_it(["-q", "--devices", "3"], [sys.executable, "-c", code], LD_LIBRARY_PATH="/users/own",
                           CUDA_VISIBLE_DEVICES="0,2")
        self.assertEqual(done.stdout.splitlines()[0], "2 2 2 2 2 /users/own 0,2", done.stderr)

    def make_torch(self, cuda, more=()):
        """A package that is to the hook what torch is, with one device of which 2 MiB are in use."""
        torch = self.folder.name + "/packages/torch"
        for path, text in {
            "__init__.py": "from . import version, _C, cuda\n",
            "version.py": f"cuda = {cuda!r}\n",
            "_C.py": "def _cuda_resetPeakMemoryStats(*device): pass\n"
                     "def _cuda_attach_out_of_memory_observer(observer): pass\n",
            "cuda/__init__.py": "queued = []\ndef _lazy_call(call): queued.append(call)\n"
                                "def device_count(): return 1\n"
                                "def get_allocator_backend(): return backend\nbackend = 'native'\n"
                                "def memory_stats(device):\n"
                                "    return {'allocated_bytes.all.peak': 1 << 20, 'reserved_bytes.all.peak': 2 << 20}\n"
                                "def init():\n    for call in queued: call()\n"
                                "from .memory import *\n",
            "cuda/memory.py": "from . import device_count\n"
                              "def _record_memory_history(*args, **kwargs): print('records', kwargs['stacks'])\n"
                              f"def _snapshot(): return {SNAPSHOT!r}\n",
            "optim/__init__.py": "",
            "optim/optimizer.py": "def register_optimizer_step_post_hook(hook): pass\n",
            **dict(more),
        }.items():
            os.makedirs(os.path.dirname(f"{torch}/{path}"), exist_ok=True)
            with open(f"{torch}/{path}", "w") as file:
                file.write(text)
        return f"import sys; sys.path.insert(0, {self.folder.name + '/packages'!r}); import torch; "

    def test_whatever_pythons_options_are(self):
        program = self.make_torch("12.4") + "torch.cuda.init()"
        for options in ([], ["-I"], ["-E"], ["-S"], ["-I", "-S", "-X", "importtime"]):
            done = self.run_it(["-q"], [sys.executable, *options, "-c", program])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.splitlines()[0], "records python", (options, done.stderr))
            self.assertIn("needs 2.00 MiB reserved", done.stdout)

    def test_recording_that_the_program_ends(self):
        """What it allocates later is in no snapshot, but in the peaks; a recording that ends last has everything."""
        program = self.make_torch("12.4", {"cuda/memory.py": "from . import device_count\n"
                                           "def _record_memory_history(*args, **kwargs): pass\n"
                                           f"def _snapshot(): return {SNAPSHOT!r}\n"}.items())
        later = ("stats = torch.cuda.memory_stats(0); stats.update({'reserved_bytes.all.peak': 6 << 20, "
                 "'allocation.all.allocated': 7}); torch.cuda.memory_stats = lambda device: stats; ")
        end = "torch.cuda.memory._record_memory_history(enabled=None); "
        for order, mib in ((end + later, 6), (later + end, 6), (end, 2), (end + later + end, 6)):
            done = self.run_it([], [sys.executable, "-c", program + "torch.cuda.init(); " + order])
            self.assertIn(f"needs {mib}.00 MiB reserved", done.stdout, (order, done.stderr))
            has_later = order.startswith(end + later)
            self.assertEqual("the command ended the recording of its memory" in done.stderr, has_later, done.stderr)

    def test_another_allocator(self):
        """The driver's tells torch its peaks; of the program's own the stand-in knows what it took."""
        take = "import ctypes; p = ctypes.c_void_p(); ctypes.CDLL('libcudart.so.12').cudaMalloc(ctypes.byref(p), ctypes.c_size_t(%d)); "
        for backend, bytes, reserved, code in [("cudaMallocAsync", 0, 2 * MIB, 0), ("pluggable", 3 * MIB, 3 * MIB, 0),
                                               ("pluggable", 1 << 40, 0, 1)]:
            program = self.make_torch("12.4") + f"torch.cuda.backend = {backend!r}; torch.cuda.init(); {take % bytes}exit({code})"
            done, said = self.json_of([], [sys.executable, "-c", program])
            self.assertEqual((done.returncode, said["verdict"]), (code, "OOM" if code else "FITS"), done.stderr)
            self.assertEqual([device["peak_reserved_bytes"] for device in said["devices"]], [reserved])
            self.assertIn(f"gmdry: the program's allocator ({backend}) is not PyTorch's own: it has peaks, but no trace",
                          done.stderr)

    def test_objects_of_absent_ranks(self):
        """Those that are sent need nothing; those that a pipeline's stage would get end it with one line."""
        program = self.make_torch("12.4", {
            "__init__.py": "from . import version, _C, cuda\nclass Tensor: pass\n",
            "utils/_python_dispatch.py": "class TorchDispatchMode:\n    def __enter__(self): pass\n"
                                         "    def __exit__(self, *what): pass\n",
            "utils/_pytree.py": "tree_flatten = tree_unflatten = None\n",
            "distributed/__init__.py": "class Store: pass\n", "distributed/pipelining.py": "from .distributed_c10d import *\n"
                                       "def infer(): recv_object_list([None], src=0)\n",
            "distributed/distributed_c10d.py": "class Store: pass\n" + "".join(
                f"def {name}(*args, **kwargs): exit('asks the others')\n" for name in
                ("barrier", "init_process_group", "_new_process_group_helper", "send_object_list", "recv_object_list"))})
        program += "from torch.distributed.pipelining import *; send_object_list([1], 1); recv_object_list([1], src=1); infer()"
        done = self.run_it(["--world-size", "4"], [sys.executable, "-c", program])
        lines = [line for line in done.stderr.splitlines() if "gmdry: " in line]
        self.assertEqual(lines[0], "gmdry: recv_object_list: what absent ranks would send is not known")
        self.assertIn("give PipelineStage input_args and output_args", lines[1])
        self.assertEqual((len(lines), lines[2]), (3, "gmdry: the command failed with exit code 1"))

    def test_spawned_ranks(self):
        """Of those that a program would start itself, one runs, in the program's process."""
        program = self.make_torch("12.4", {"multiprocessing/__init__.py": "from .spawn import spawn, start_processes\n",
                                           "multiprocessing/spawn.py": "def spawn(*args, **more): exit('starts them')\n"
                                                                       "start_processes = spawn\n"})
        program += "import os, torch.multiprocessing as m; tell = lambda *a: print(os.getpid(), *a); tell('own'); "
        program += "m.spawn(tell, (7,), 4); print(m.start_processes(tell, nprocs=2, join=False, start_method='fork').join(3))"
        done = self.run_it(["--world-size", "8", "--rank", "7", "--devices", "4"], [sys.executable, "-c", program])
        own = done.stdout.split()[0]
        self.assertEqual(done.stdout.splitlines()[:4], [own + " own", own + " 3 7", own + " 1", "True"], done.stderr)

    def test_nothing_of_the_program_is_changed(self):
        """But what is watched: no name, no path, no option of Python."""
        look = ("print(sorted(vars()), sys.path[1:], sys.meta_path[-3:], sys.flags, 'PYTHONPATH' in os.environ, "
                "torch.cuda.memory.__spec__.loader, sys.modules.get('sitecustomize'))")
        program = self.make_torch("12.4") + "import os; torch.cuda.init(); " + look
        command = [sys.executable, "-I", "-S", "-c", program]
        alone = subprocess.run(command, cwd=self.folder.name, text=True, capture_output=True).stdout
        done = self.run_it(["-q"], command)
        at = r" at 0x[0-9a-f]+"
        self.assertEqual(re.sub(at, "", done.stdout.splitlines()[1]), re.sub(at, "", alone.strip()), done.stderr)

    def test_generation_ends_at_its_length(self):
        """Whatever the device says of rows that have ended; twice, as the second must not end as the first did."""
        program = self.make_torch("12.4")
        folder = self.folder.name + "/packages/transformers/generation"
        os.makedirs(folder)
        for path in (folder + "/../__init__.py", folder + "/__init__.py"):
            open(path, "w").close()
        with open(folder + "/utils.py", "w") as file:
            file.write("class Rows:\n    def __init__(self, length): self.shape = (2, length)\n"
                       "class MaxLengthCriteria:\n    max_length = 8\n"
                       "    def __call__(self, input_ids, scores, **kwargs): return 'on the device'\n"
                       "class GenerationMixin:\n"
                       "    def _has_unfinished_sequences(self, ended, synced_gpus, device): return not ended\n"
                       "    def generate(self, says):\n"
                       "        length, ended = 3, False\n"
                       "        while length < 20 and self._has_unfinished_sequences(ended, False, device='cuda'):\n"
                       "            length += 1\n"
                       "            assert MaxLengthCriteria()(Rows(length), None) == 'on the device'\n"
                       "            ended = says\n"
                       "        return length\n")
        program += ("from transformers.generation.utils import GenerationMixin as g; "
                    "print([g().generate(says) for says in (False, True, False)])")
        done = self.run_it(["-q"], [sys.executable, "-c", program])
        self.assertEqual(done.stdout.splitlines()[0], "[8, 8, 8]", done.stderr)

    def test_no_cuda(self):
        program = self.make_torch(None) + "print('on the CPU')"
        done = self.run_it([], [sys.executable, "-c", program])
        self.assertEqual((done.returncode, done.stdout), (4, "on the CPU\n"), done.stderr)
        self.assertEqual(done.stderr, "gmdry: the command's PyTorch is one without CUDA: gmdry needs a CUDA build of it, as PyPI has for "
                         "Linux\n")

    def test_no_torch(self):
        done, said = self.json_of([], [sys.executable, "-I", "-S", "-c", "import torch"])
        self.assertEqual((done.returncode, said["exit_code"], said["verdict"]), (4, 1, None))
        self.assertTrue(done.stderr.endswith("gmdry: the command's Python has no PyTorch, or cannot load it (pip install torch)\n"), done.stderr)
        self.assertEqual(done.stderr.count("gmdry: "), 1)

    def test_what_the_hook_is_told(self):
        show = ["sh", "-c", "echo $GMDRY_STACKS $GMDRY_STEPS $GMDRY_DATA $GMDRY_EVENTS"]
        self.assertEqual(self.run_it(["-q"], show).stdout.splitlines()[0], "python 0 zeros 0")
        self.assertEqual(self.run_it(["-q", "--stacks", "all", "--steps", "3", "--data", "half", "--events", "sync"],
                                     show).stdout.splitlines()[0], "all 3 half sync")

    def ranks(self, *processes):
        """The command that is a process for each text: its rank, its bytes (0: it is killed)."""
        with open(self.folder.name + "/train.py", "w") as file:
            file.write("import os, pickle, sys\nrank, size = sys.argv[1:]\n"
                       "folder = os.environ['GMDRY_FOLDER'] + f'/processes/{os.getpid()}'\n"
                       "under = folder + '/rank' + rank\n"
                       "os.makedirs(under)\n"
                       "if size == '0': os.kill(os.getpid(), 9)\n"
                       f"pickle.dump({SNAPSHOT!r}, open(under + '/train.pickle', 'wb'))\n"
                       "open(folder + '/told', 'w').write(f'why end\\nrank {rank}\\nsteps 2\\nsnapshot {under}/train.pickle\\n'"
                       "f'device {rank} {size} {size} 0 0\\n')\n")
        each = " ".join(f"'{process}'" for process in processes)
        return ["sh", "-c", f"for a in {each}; do {sys.executable} train.py $a; done; true"]

    def test_ranks(self):
        """The first line is of the rank that needs most; one that was killed is missed."""
        command = self.ranks(f"0 {8 * MIB}", f"1 {12 * MIB}", "2 0")
        done = self.run_it(["--snapshot", "kept{rank}.pickle", "--json", "said.json"], command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("rank 1 needs 12.00 MiB reserved"), done.stdout)
        self.assertIn("; uneven: rank 0 needs 8.00 MiB", done.stdout.splitlines()[0])
        self.assertIn("was ended before it told", done.stderr)
        with open(self.folder.name + "/said.json") as file:
            said = json.load(file)
        self.assertEqual(said["processes"], [{"rank": rank, "peak_allocated_bytes": size * MIB, "peak_reserved_bytes":
                                              size * MIB, "steps": 2} for rank, size in ((0, 8), (1, 12))])
        paths = sorted(json.loads(pathlib.Path(f"{self.folder.name}/results/{run}/analysis.json").read_text())["snapshot"]["path"]
                       for run in os.listdir(self.folder.name + "/results") if run != "latest")
        self.assertEqual(paths, ["kept0.pickle", "kept1.pickle"])
        self.assertTrue(all(os.path.exists(self.folder.name + "/" + path) for path in paths))

    def test_two_processes_of_one_rank(self):
        """One snapshot is kept, and it says that there was another."""
        done = self.run_it(["--snapshot", "kept{rank}.pickle"], self.ranks(f"0 {8 * MIB}", f"0 {12 * MIB}", f"1 {MIB}"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("kept{rank}.pickle: warning: of several processes of one rank the first's is kept", done.stderr)
        self.assertEqual(sorted(n for n in os.listdir(self.folder.name) if n.startswith("kept")),
                         ["kept0.pickle", "kept1.pickle"])

    def test_a_rank_alone(self):
        code = "import os; print(*[os.environ[n] for n in ('RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE')])"
        done = self.run_it(["--world-size", "1024", "--rank", "515", "--devices", "8"], [sys.executable, "-c", code])
        self.assertEqual(done.stdout.splitlines()[0], "515 1024 3 8", done.stderr)

    def test_snapshot(self):
        done = self.run_it(["-q", "--snapshot", "kept.pickle"], telling())
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.folder.name + "/kept.pickle", "rb") as file:
            self.assertEqual(pickle.load(file), SNAPSHOT)

    # ---- what it leaves behind: nothing

    def start(self, command, options=(), **more):
        """A process group of its own, so that keys can be pressed; once the command has said that it runs."""
        process = subprocess.Popen([GMDRY, "--no-charts", *options, "--", *command], cwd=self.folder.name, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**self.environment, **more},
                                   start_new_session=True)
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), "runs\n")
        self.assertEqual(len(os.listdir(self.folder.name + "/tmp")), 1)
        return process

    def end_of(self, process):
        out, err = process.communicate(timeout=60)
        for _ in range(100):  # killed, it does not wait for its folder's end
            if process.returncode >= 0 or not os.listdir(self.folder.name + "/tmp"):
                break
            time.sleep(0.1)
        self.assertEqual(os.listdir(self.folder.name + "/tmp"), [])
        return process.returncode, out, err

    def test_interrupted(self):
        """Ctrl-C reaches the command, and what it did until then is told."""
        text = TELLS.format(snapshot=SNAPSHOT, lines="device 0 12582912 20971520 0 0\n", log="", code=7)
        program = ("import time\ntry:\n    print('runs', flush=True)\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    pass\n"
                   + text)
        process = self.start([sys.executable, "-c", program])
        os.killpg(process.pid, signal.SIGINT)
        code, out, err = self.end_of(process)
        self.assertEqual(code, 3, err)
        self.assertIn("exit code 7", err)
        self.assertTrue(out.startswith("needs 20.00 MiB reserved"), out)
        process = self.start(["sh", "-c", "echo runs; exec sleep 60"])
        os.killpg(process.pid, signal.SIGINT)
        code, _, err = self.end_of(process)
        self.assertEqual((code, "exit code 130" in err), (3, True), err)

    def test_terminated(self):
        """A signal that is sent to gmdry alone reaches the command, too."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            process = self.start(["sh", "-c", "echo runs; exec sleep 60"])
            process.send_signal(number)
            code, _, err = self.end_of(process)
            self.assertEqual((code, f"exit code {128 + number}" in err), (3, True), err)

    def test_killed(self):
        """Even so: the folder goes, and the command is asked to."""
        process = self.start(["sh", "-c", "trap 'echo asked; exit' TERM; echo runs; for i in $(seq 600); do sleep 0.1; done"])
        process.kill()
        self.assertEqual(process.stdout.readline(), "asked\n")
        self.end_of(process)

    def test_outlived(self):
        """By a process that the command has left behind: it does not bring the folder back."""
        program = self.make_torch("12.4") + ("import os, time; os.fork() and os._exit(0); torch.cuda.init(); "
                                             "print('child', flush=True); "
                                             "[time.sleep(0.1) for _ in range(99) if os.path.exists(os.environ['GMDRY_FOLDER'])]")
        read, write = os.pipe()
        process = subprocess.Popen([GMDRY, "-q", "--no-charts", "--", sys.executable, "-c", program], cwd=self.folder.name,
                                   stdout=write, stderr=write, env=self.environment)
        os.close(write)
        with os.fdopen(read) as said:  # ends when the last of them has ended
            text = said.read()
        self.assertEqual(process.wait(), 0, text)
        self.assertIn("child", text)
        self.assertNotIn("Error", text)
        self.assertEqual(os.listdir(self.folder.name + "/tmp"), [])

    def test_killed_while_it_reports(self):
        """It waits for a reader of the pipe that the JSON goes to."""
        os.mkfifo(self.folder.name + "/pipe")
        process = self.start(["sh", "-c", "echo runs"], ["--json", "pipe"])
        self.assertEqual(process.stdout.readline()[:10], "no process")
        time.sleep(0.2)
        process.terminate()
        with open(self.folder.name + "/pipe", "rb", buffering=0, opener=lambda p, f: os.open(p, f | os.O_NONBLOCK)):
            self.end_of(process)

    def test_no_room(self):
        """On a file system that is full (root may make one): said, and nothing stays."""
        small = self.folder.name + "/small"
        os.mkdir(small)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], capture_output=True).returncode != 0:
            self.skipTest("no file system can be made")
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        with open(small + "/full", "wb") as file, contextlib.suppress(OSError):
            file.write(bytes(1 << 20))
        for options, more in ((["-o", "small/results"], {}), ([], {"TMPDIR": small})):
            done = self.run_it(options, telling(), **more)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (5, 1), done.stderr)
            self.assertEqual([name for name in os.listdir(small) if name != "results"], ["full"])
        self.assertEqual(os.listdir(small + "/results"), [])

    def test_another_user(self):
        if os.getuid() != 0:
            self.skipTest("root only can become another")
        os.chmod(self.folder.name, 0o777)
        os.chmod(self.folder.name + "/tmp", 0o777)
        done = subprocess.run([GMDRY, "-q", "--no-charts", "--", "id", "-u"], cwd=self.folder.name, text=True,
                              capture_output=True, env=self.environment, user=65534, group=65534, extra_groups=[])
        if done.returncode != 0 and not os.access(os.path.dirname(GMDRY), os.X_OK):
            self.skipTest("the build cannot be reached by others")
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (0, "65534"), done.stderr)
        self.assertEqual(os.listdir(self.folder.name + "/tmp"), [])

    def test_where_it_writes(self):
        """The run directory, and the folder that is removed; no network."""
        if shutil.which("strace") is None:
            self.skipTest("no strace")
        calls = self.folder.name + "/calls"
        done = self.run_it(["-q"], telling(), trace=calls, ASAN_OPTIONS="detect_leaks=0")  # which is traced itself
        self.assertEqual(done.returncode, 0, done.stderr)
        made = re.compile(r"^\d+ +(open|openat|creat|mkdir|mkdirat|symlink|symlinkat|link|linkat|rename|renameat|renameat2|"
                          r"mknod|mknodat)\((.*)\) = \d")
        outside, inside = [], 0
        with open(calls) as file:
            for line in file:
                self.assertNotRegex(line, r"(connect|bind)\(.*AF_INET")
                call = made.match(line)
                if call and ("open" not in call.group(1) or "O_CREAT" in line):
                    # -y tells a folder's path beside its number; what a relative path is relative to
                    folder = (re.findall(r"(?:\d+|AT_FDCWD)<(.*?)>", call.group(2)) or [self.folder.name])[-1]
                    path = os.path.join(folder, re.findall(r'"(.*?)"', call.group(2))[-1])
                    inside += path.startswith((self.folder.name + "/tmp/gmdry.", self.folder.name + "/results"))
                    if not path.startswith((self.folder.name + "/tmp/gmdry.", self.folder.name + "/results", "/dev/null")):
                        outside.append(line)
        self.assertEqual(outside, [])
        self.assertGreater(inside, 20)

    def test_who_loads_it(self):
        """Only what gmdry starts."""
        folder = os.path.dirname(GMDRY)
        for name in os.listdir(folder):
            said = subprocess.run(["ldd", os.path.join(folder, name)], text=True, capture_output=True).stdout
            self.assertNotIn("libgmdry", said, name)


if __name__ == "__main__":
    unittest.main()
