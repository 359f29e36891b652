# SPDX-License-Identifier: Apache-2.0
"""Small programs of every kind under gmdry, on any number of PyTorch's versions: a table of what works.

    matrix.py --torch 2.6.0 2.15.0            makes an environment for each below build/matrix (torch without NVIDIA's wheels)
    matrix.py --python V/bin/python           takes an environment as it is
    matrix.py --torch 2.6.0 --only graphs load --verbose

A program works if it ends as it should, every address in its snapshot is the one that gmreplay's model chooses, and the
peaks that it counts itself are those that gmdry says. The lines at its top say what is special about it:
    # needs: PACKAGES     # since: the first version of torch that can do it     # launch: a module, with options
    # gmdry: OPTIONS      # environment: NAME=VALUE     # verdict: OOM           # peak: bytes, if it cannot count itself
    # trace: none, if its allocator keeps none
Exit code 1 if one fails, 77 if there is no environment."""
import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BASE = ["filelock", "typing_extensions", "sympy", "networkx", "jinja2", "fsspec", "numpy", "setuptools", "packaging"]
# What needs torch is installed without what it depends on, as torch depends on gigabytes that are not used.
BESIDE = ["nvidia-ml-py", "safetensors", "transformers", "psutil", "pillow", "pyyaml", "tqdm", "hjson", "einops", "msgpack",
          "ninja", "py-cpuinfo", "pydantic"]
ON_TORCH = ["accelerate", "deepspeed", "peft"]

COUNTS = """
if __name__ == "__main__":
    import json as _json
    import torch as _torch
    if _torch.cuda.is_initialized() and _torch.cuda.get_allocator_backend() != "pluggable":
        _peaks = [[_torch.cuda.max_memory_allocated(d), _torch.cuda.max_memory_reserved(d)]
                  for d in range(_torch.cuda.device_count())]
        print(f"STATS {_json.dumps(_peaks)}\\n", end="")  # at once: ranks share the output
"""


class Program:
    def __init__(self, path):
        self.name = os.path.splitext(os.path.basename(path))[0]
        with open(path) as file:
            self.text = file.read()
        self.about = {key: value.split() for key, value in re.findall(r"^# (\w+): (.*)$", self.text, re.M)}

    def get(self, key):
        return self.about.get(key, [])


class Environment:
    def __init__(self, python, extra=""):
        self.python, self.extra = python, extra
        code = ("import importlib.util as u, json, platform, torch; print(json.dumps([torch.__version__, "
                "platform.python_version(), [n for n in %r if u.find_spec(n)]]))"
                % ["accelerate", "deepspeed", "peft", "pynvml", "safetensors", "torchvision", "transformers", "triton"])
        # torch without NVIDIA's libraries can be imported on the stand-in only
        said = subprocess.run([gmdry(), "-q", "--json", os.devnull, "--", python, "-c", code], text=True, capture_output=True,
                              env=self.environment())
        line = next((line for line in said.stdout.splitlines() if line.startswith("[")), None)
        if line is None:
            sys.exit(f"matrix: {python}: {said.stderr.strip()}")
        self.torch, self.version, self.packages = json.loads(line)
        self.title = f"torch {self.torch}, Python {self.version}"

    def environment(self, more=()):
        path = os.pathsep.join(filter(None, [self.extra, os.environ.get("PYTHONPATH", "")]))
        return {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1",
                **({"PYTHONPATH": path} if path else {}), **dict(pair.split("=", 1) for pair in more)}

    def number(self):
        return tuple(int(n) for n in re.match(r"(\d+)\.(\d+)", self.torch).groups())


def gmdry():
    return os.environ.get("GMDRY", os.path.join(TOP, "build/bin/gmdry"))


def gmreplay():
    return os.environ.get("GMREPLAY", os.path.join(TOP, "build/bin/gmreplay"))


def install(python, *arguments):
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *arguments], check=True)


def compiler_of(python):
    """The Triton that this torch wants."""
    code = "import importlib.metadata as m; print(next(r for r in m.requires('torch') if r.startswith('triton')).split(';')[0])"
    return subprocess.run([python, "-c", code], text=True, capture_output=True, check=True).stdout.strip()


def make_environment(version):
    """Kept for the next call; torchvision's version follows torch's."""
    folder = os.path.join(TOP, "build/matrix", "torch-" + version)
    python = os.path.join(folder, "bin/python")
    if not os.path.exists(os.path.join(folder, "ready")):
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        minor = int(version.split(".")[1])
        install(python, *BASE, *BESIDE)
        install(python, "--no-deps", "torch==" + version, *ON_TORCH)
        install(python, "--no-deps", compiler_of(python))
        with contextlib.suppress(subprocess.CalledProcessError):  # it comes out later than torch
            install(python, "--no-deps", f"torchvision==0.{minor + 15}.*")
        with open(os.path.join(folder, "ready"), "w"):
            pass
    return python


def cannot(program, environment):
    """Why it is not tried; None: it is."""
    missing = [name for name in program.get("needs") if name not in environment.packages]
    if missing:
        return "no " + ", ".join(missing)
    since = program.get("since")
    return "since " + since[0] if since and environment.number() < tuple(map(int, since[0].split("."))) else None


def counted(stdout):
    """The peaks that processes printed: of each device those of the one that needs most."""
    peaks = {}
    for line in re.findall(r"STATS (\[\[.*\]\])", stdout):
        for device, (allocated, reserved) in enumerate(json.loads(line)):
            if reserved > 0:
                most = peaks.setdefault(device, [0, 0])
                peaks[device] = [max(most[0], allocated), max(most[1], reserved)]
    return peaks


def last_words(stderr):
    """An unknown function, or the exception: the last one that is told, without what torchrun adds."""
    unknown = re.findall(r"gmdry: (\S+) of \S.* is not known", stderr)
    if unknown:
        return unknown[0] + " is not known"
    found = re.findall(r"(?m)^(?:\[rank\d\]: )?(\w[\w.]*(?:Error|Exception|Interrupt)\b.*)$", stderr)
    found = [line for line in found if "ChildFailedError" not in line]
    return (found or stderr.strip().splitlines() or ["?"])[-1]


class Result:
    def __init__(self, works, words, said=None):
        self.works, self.words = works, words
        devices = said["devices"] if said else []
        self.peak = max((d["peak_reserved_bytes"] for d in devices), default=0)
        self.exact = {True: "exact", False: "no", None: "?"}[said["exact"]] if said else ""


def judge(program, done, said, verify):
    wanted = (program.get("verdict") or ["FITS"])[0]
    if said["verdict"] != wanted:
        return Result(False, last_words(done.stderr) if said["exit_code"] else f"verdict {said['verdict']}", said)
    if verify.returncode != 0 and not program.get("trace"):
        return Result(False, "verify: " + (verify.stdout + verify.stderr).strip().splitlines()[0], said)
    told = {d["device"]: [d["peak_allocated_bytes"], d["peak_reserved_bytes"]] for d in said["devices"]}
    peaks = {0: [int(program.get("peak")[0])] * 2} if program.get("peak") else counted(done.stdout)
    if wanted == "FITS" and (told != peaks and "STATS" in done.stdout or program.get("peak") and told != peaks):
        return Result(False, f"gmdry says {told}, the program {peaks}", said)
    return Result(True, "ok" if peaks else "ok (counts nothing itself)", said)


def limit_memory():
    """Of the host: one that runs away must not take others with it. Memory of the device is no data."""
    resource.setrlimit(resource.RLIMIT_DATA, (6 << 30, 6 << 30))


def run(program, environment, verbose):
    reason = cannot(program, environment)
    if reason:
        return Result(None, reason)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, program.name + ".py"), "w") as file:
            file.write(program.text + COUNTS)
        launch = program.get("launch")
        command = [environment.python, *(["-m", *launch] if launch else []), program.name + ".py"]
        try:
            done = subprocess.run([gmdry(), "-q", "--no-charts", "--json", "said.json", "--snapshot", "kept.pickle",
                                   *program.get("gmdry"), "--", *command], cwd=folder, text=True, capture_output=True,
                                  timeout=300, preexec_fn=limit_memory,
                                  env=environment.environment(program.get("environment")))
        except subprocess.TimeoutExpired:
            return Result(False, "it did not end in 5 minutes")
        if verbose:
            print(done.stdout + done.stderr)
        if not os.path.exists(os.path.join(folder, "said.json")):
            return Result(False, last_words(done.stderr))
        with open(os.path.join(folder, "said.json")) as file:
            said = json.load(file)
        verify = subprocess.run([gmreplay(), "--verify", os.path.join(folder, "kept.pickle")], text=True, capture_output=True)
        return judge(program, done, said, verify)


def as_markdown(programs, environments, results):
    """One row for each program; what it says when it does not work."""
    short = {True: "ok", None: "-"}
    print("| program | " + " | ".join(e.torch.split("+")[0] for e in environments) + " |")
    print("|---|" + "---|" * len(environments))
    for program in programs:
        row = [results[program.name, e.title] for e in environments]
        print(f"| {program.name} | " + " | ".join(short.get(r.works, r.words) for r in row) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", nargs="*", default=[], metavar="VERSION")
    parser.add_argument("--python", nargs="*", default=[], metavar="PATH[:FOLDER]", help="with a folder of more packages")
    parser.add_argument("--only", nargs="*", metavar="PROGRAM")
    parser.add_argument("--markdown", action="store_true", help="the table once more, as Markdown")
    parser.add_argument("--verbose", action="store_true", help="what the programs print")
    options = parser.parse_args()
    folder = os.path.join(HERE, "programs")
    programs = [Program(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name.endswith(".py")]
    unknown = set(options.only or ()) - {p.name for p in programs}
    if unknown:
        parser.error("no such program: " + ", ".join(sorted(unknown)))
    programs = [p for p in programs if not options.only or p.name in options.only]
    if not options.torch + options.python:
        options.python = os.environ.get("GM_TORCH_PYTHON", "").split()
    pythons = [path.partition(":")[::2] for path in options.python] + [(make_environment(v), "") for v in options.torch]
    environments = [Environment(*python) for python in pythons]
    if not environments:
        print("matrix: neither --torch nor --python, and GM_TORCH_PYTHON is not set")
        return 77
    results = {}
    for environment in environments:
        print(f"\n{environment.title}\n  {'program':<22}{'':<6}{'reserved':>10}  {'exact':<6}{'s':>4}", flush=True)
        for program in programs:
            begun = time.monotonic()
            result = results[program.name, environment.title] = run(program, environment, options.verbose)
            word = {True: "ok", False: "FAILS", None: "-"}[result.works]
            words = "" if result.words == "ok" else result.words[:150]
            print(f"  {program.name:<22}{word:<6}{result.peak / 2**20:>6.0f} MiB  {result.exact:<6}"
                  f"{time.monotonic() - begun:>4.0f}  {words}", flush=True)
    if options.markdown:
        as_markdown(programs, environments, results)
    return int(any(result.works is False for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
