# SPDX-License-Identifier: Apache-2.0
"""Does gmanalyze name the mistake? Small programs with one planted mistake each, or none, and a score.

    zoo.py                              scores the recordings that are kept in tests/data/zoo
    zoo.py --torch V/bin/python [NAME]  records the programs under gmdry first (once, in build/zoo), and scores these
    zoo.py --torch V/bin/python --keep  ... and keeps the recordings and what was measured
    zoo.py --floor                      exit code 1 if it is worse than tests/zoo/floor.txt
    zoo.py --late                       ... of the kept recordings as if they had begun later
    zoo.py --frames                     ... as if they had frames of C++, too, as PyTorch records where nothing else is asked
    zoo.py --unnamed                    ... without annotations, as PyTorch before 2.5 records

README.md says what a program's header means and what counts. Exit code 3: a program cannot be recorded."""
import argparse
import ast
import concurrent.futures
import functools
import gc
import glob
import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
KEPT = os.path.join(TOP, "tests/data/zoo")
BUILD = os.environ.get("GM_ZOO_BUILD", os.path.join(TOP, "build/zoo"))
PROGRAMS = os.environ.get("GM_ZOO_PROGRAMS", os.path.join(HERE, "programs"))
MARK = "# <- the mistake"
sys.path.insert(0, os.path.join(TOP, "tests/oracle"))
from roles import without_paths  # noqa: E402


def tool(name):
    return os.environ.get(name.upper(), os.path.join(TOP, "build/bin", name))


def classes():
    with open(os.path.join(HERE, "classes.txt"), encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {row[0]: row[1:] for row in rows}


def header_of(statement):
    """First and last line, of what has a body without it."""
    body = getattr(statement, "body", None)
    return statement.lineno, body[0].lineno - 1 if body else statement.end_lineno


def blamed(text):
    """The statements that are marked, each as its first and last line."""
    statements = [header_of(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    marked = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith(MARK)]
    return [min((s for s in statements if s[0] <= number <= s[1]), key=lambda s: s[1] - s[0]) for number in marked]


class Program:
    def __init__(self, path):
        self.path, self.file = path, os.path.basename(path)
        self.name = self.file[:-3]
        with open(path, encoding="utf-8") as file:
            text = file.read()
        about = {key: value.split() for key, value in re.findall(r"^# ([\w-]+): (.*)$", text, re.M)}
        self.kind = about["class"][0]
        self.also, self.gmdry, self.libs = (about.get(key, []) for key in ("also", "gmdry", "libs"))
        self.compare = about.get("compare", ["none" if self.kind == "healthy" else "peak"])[0]
        self.mended = int(about.get("mended", [0 if self.compare == "none" else 1])[0])
        self.lines = blamed(text)
        self.reads_settings = "ALLOC_CONF" in text
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:16]

    def truth(self, version, savings):
        return {"class": self.kind, "also": self.also, "lines": self.lines, "torch": version, "savings": savings,
                "digest": self.digest}


def programs(names):
    found = [Program(path) for path in sorted(glob.glob(os.path.join(PROGRAMS, "*.py")))]
    unknown = set(names) - {p.name for p in found}
    if unknown:
        sys.exit("zoo: no such program: " + ", ".join(sorted(unknown)))
    return [p for p in found if not names or p.name in names]


# ---- recording


class Run:
    """One way to run a program: with the mistake (variant 0) or without, in the memory it is recorded with or in any."""

    def __init__(self, program, variant=0, is_roomy=False):
        self.program, self.variant = program, variant
        options = program.gmdry
        if is_roomy:
            options = [o for before, o in zip([None, *options], options) if "--memory" not in (before, o)] + ["--memory", "4TiB"]
        # What a fork would be too late for: settings that PyTorch reads as it is imported, ranks of its own.
        self.is_alone = program.reads_settings or "--rank" in options
        self.options = tuple(options)
        self.peaks = self.snapshot = None

    def environment(self):
        return {"ZOO_MENDED": str(self.variant)} if self.variant else {}


def gmdry(python, options, command, folder, environment):
    """What gmdry says, as JSON. Snapshots are in FOLDER, by rank. RuntimeError: it says nothing."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("ZOO_")}
    done = subprocess.run([tool("gmdry"), "-q", "--no-charts", "--json", "said.json", "--snapshot", "{rank}.pickle", *options,
                           "--", python, "-B", *command], cwd=folder, text=True, capture_output=True,
                          env={**inherited, "OMP_NUM_THREADS": "1", **environment})
    try:
        with open(os.path.join(folder, "said.json"), encoding="utf-8") as file:
            return json.load(file), done.stderr
    except OSError:
        raise RuntimeError(done.stderr.strip()[-800:]) from None


def of_program(snapshot, path):
    """The snapshot without the frames that started the program."""
    def cut(value):
        if isinstance(value, dict):
            return {key: inside(one) if key == "frames" else cut(one) for key, one in value.items()}
        return [cut(one) for one in value] if isinstance(value, list) else value

    def inside(frames):
        starts = [i for i, frame in enumerate(frames) if frame["filename"] == path and frame["name"] == "<module>"]
        return frames[:starts[-1] + 1] if starts else frames

    return cut(snapshot)


def perform(runs, python):
    """Runs that one gmdry may have: those of several programs are forked, since most of the time is torch's import."""
    with tempfile.TemporaryDirectory() as folder:
        if runs[0].is_alone:
            said, words = gmdry(python, runs[0].options, [runs[0].program.path], folder,
                                {"RANK": "0", **runs[0].environment()})
        else:
            jobs = os.path.join(folder, "jobs.json")
            with open(jobs, "w", encoding="utf-8") as file:
                json.dump([{"path": run.program.path, "environment": run.environment()} for run in runs], file)
            said, words = gmdry(python, runs[0].options, [os.path.join(HERE, "several.py"), jobs], folder, {})
        peaks = {process["rank"]: process for process in said["processes"]}
        for rank, run in enumerate(runs):
            snapshot = os.path.join(folder, f"{rank}.pickle")
            if rank not in peaks or not os.path.exists(snapshot):
                raise RuntimeError(f"{run.program.file}: {words.strip()[-800:]}")
            run.peaks = {key: peaks[rank][f"peak_{key}_bytes"] for key in ("reserved", "allocated")}
            with open(snapshot, "rb") as file:
                run.snapshot = of_program(pickle.load(file), run.program.path)
        failed = re.findall(r"^(\w+(?:\.\w+)*(?:Error|Exception)): (.*)", words, re.M)
        failed = [f"{name}: {what}" for name, what in failed if name != "torch.OutOfMemoryError"]
        if failed:
            raise RuntimeError(f"{', '.join(run.program.file for run in runs)}: {failed[0]}")


def amounts(run):
    """Reserved and allocated bytes of what the program compares: of the device that needs most."""
    if run.program.compare != "end":
        return run.peaks
    segments = run.snapshot["segments"]
    return {"reserved": sum(s["total_size"] for s in segments), "allocated": sum(s["allocated_size"] for s in segments)}


class Recording:
    """of one program: the file, and what was measured; both are kept for the next call."""

    def __init__(self, program, version):
        self.program, self.version = program, version
        self.stem, self.truth = os.path.join(BUILD, version, program.name), None
        if os.path.exists(self.stem + ".json"):
            with open(self.stem + ".json", encoding="utf-8") as file:
                truth = json.load(file)
            self.truth = truth if truth["digest"] == program.digest else None
        is_roomy = program.compare == "need"
        self.runs = [] if self.truth else [Run(program)] + [Run(program, 0, True)] * is_roomy + [
            Run(program, variant, is_roomy) for variant in range(1, program.mended + 1)]

    def finish(self):
        if self.truth or any(run.peaks is None for run in self.runs):
            return
        before = self.runs[-1 - self.program.mended]
        savings = [{key: amounts(before)[key] - amounts(run)[key] for key in ("reserved", "allocated")}
                   for run in self.runs[-self.program.mended:] if self.program.mended]
        os.makedirs(os.path.dirname(self.stem), exist_ok=True)
        with open(self.stem + ".pickle", "wb") as file:
            pickle.dump(self.runs[0].snapshot, file)
        self.truth = self.program.truth(self.version, savings)
        with open(self.stem + ".json", "w", encoding="utf-8") as file:
            json.dump(self.truth, file)


def in_groups(recordings):
    """Runs that have the same options, of some programs at a time."""
    groups = {}
    for number, recording in enumerate(recordings):
        for run in recording.runs:
            groups.setdefault((number if run.is_alone else number // 6, run.variant if run.is_alone else 0, run.options), []).append(run)
    return groups.values()


def runnable(chosen, python):
    """Those whose libraries are there, and no word of the others is lost."""
    libs = sorted({lib for program in chosen for lib in program.libs})
    asks = "import importlib.util as u, sys; print(*[m for m in sys.argv[1:] if u.find_spec(m) is None])"
    absent = set(subprocess.run([python, "-c", asks, *libs], text=True, capture_output=True, check=True).stdout.split())
    for program in chosen:
        if absent.intersection(program.libs):
            print(f"zoo: {program.name}: left out, without {' '.join(sorted(absent.intersection(program.libs)))}", file=sys.stderr)
    return [program for program in chosen if not absent.intersection(program.libs)]


def record(chosen, python, version):
    """Of each program its recording; without `truth` if it does not run, and then says why."""
    recordings = [Recording(program, version) for program in chosen]
    new = [recording for recording in recordings if not recording.truth]

    def attempt(group):
        try:
            perform(group, python)
        except RuntimeError as error:
            print(f"zoo: {error}", file=sys.stderr, flush=True)
        for recording in new:
            if any(run in recording.runs for run in group):
                recording.finish()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(attempt, in_groups(new)))
    return recordings


def version_of(python):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([tool("gmdry"), "-q", "--json", os.devnull, "--", python, "-c",
                               "import torch; print(torch.__version__)"], cwd=folder, text=True, capture_output=True)
    found = re.search(r"^(\d+\.\d+\.\d+)", done.stdout, re.M)
    return found.group(1) if found else sys.exit(f"zoo: {python}: {done.stderr.strip()}")


def keep(recordings):
    """As .gmtrace, without the names of this machine's folders, and one table of what is true."""
    os.makedirs(KEPT, exist_ok=True)
    table = os.path.join(KEPT, "truth.json")
    truths = {}
    if os.path.exists(table):
        with open(table, encoding="utf-8") as file:
            truths = json.load(file)
    for name, (path, truth) in recordings.items():
        with open(path, "rb") as file:
            snapshot = without_paths(pickle.load(file))
        with tempfile.NamedTemporaryFile(suffix=".pickle") as small:
            pickle.dump(snapshot, small)
            small.flush()
            subprocess.run([tool("gmreplay"), "-q", "--trace-out", os.path.join(KEPT, name + ".gmtrace"), small.name], check=True)
        truths[name] = truth
    with open(table, "w", encoding="utf-8") as file:
        rows = [f"{json.dumps(name)}: {json.dumps(truths[name])}" for name in sorted(truths)]
        file.write("{\n" + ",\n".join(rows) + "\n}\n")


def kept(names):
    """What lies in tests/data/zoo; a recording of a text that has changed since is none."""
    with open(os.path.join(KEPT, "truth.json"), encoding="utf-8") as file:
        truths = json.load(file)
    texts = {p.name: p for p in programs(names)}
    recordings = {}
    for name, truth in truths.items():
        program = texts.get(name.split("@")[0])
        if program and program.digest != truth["digest"]:
            sys.exit(f"zoo: {name}: the program was changed after it was recorded (--torch PYTHON --keep {program.name})")
        if program:
            recordings[name] = (os.path.join(KEPT, name + ".gmtrace"), truth)
    return recordings


def pickled(path, out, begin=0, *options):
    """The snapshot of a kept recording, or its end, written there, too."""
    subprocess.run([tool("gmtrace"), "cut", "-q", "--from", str(begin), *options, "-o", out, path], check=True)
    with open(out, "rb") as file:
        return pickle.load(file)


def write(snapshot, out):
    with open(out, "wb") as file:
        pickle.dump(snapshot, file)


def begun_late(path, late):
    """Writes it as if recording had begun when three tenths of the events were over, and had ended with the last
    allocation; older blocks keep their stacks, as PyTorch's ring leaves them. False: the peak is not in it."""
    devices = devices_of(path)
    traced = [device["events"] for device in devices if device["events"] > 0]
    options = []
    for begin in (max(traced[0] - 1000, 0), 0) if len(traced) == 1 else ():
        (trace,) = filter(None, pickled(path, late, begin)["device_traces"])
        ends = [begin + i for i, event in enumerate(trace) if event["action"] in ("alloc", "oom")]
        if ends:
            options = ["--to", str(ends[-1])]
            break
    snapshot = pickled(path, late, 0, *options)
    for trace in snapshot["device_traces"]:
        del trace[:len(trace) * 3 // 10]
    write(snapshot, late)
    return peaks_of(devices_of(late)) == peaks_of(devices)


def with_frames(path, out):
    """Writes it as if it had been recorded on Windows, and with stacks="all": what PyTorch and Python have on the stack in
    C++ is around each line, and autograd's threads have nothing else. Which operator it was nobody knows any more: any."""
    def native(*names):
        return [{"name": name, "filename": "??", "line": 0} for name in names]

    @functools.lru_cache(maxsize=None)
    def around(operator, frames):
        arguments = "(c10::DispatchKeySet, at::Tensor const&)"
        made = native("torch::unwind::unwind()", "torch::CapturedTraceback::gather(bool, bool, bool)", "at::detail::empty_cuda()",
                      f"at::native::{operator}(at::Tensor const&)", f"at::_ops::{operator}::redispatch{arguments}",
                      f"torch::autograd::VariableType::(anonymous namespace)::{operator}{arguments}",
                      f"at::_ops::{operator}::call(at::Tensor const&)")
        if not frames:
            return made + native(f"torch::autograd::generated::{operator.capitalize()}Backward0::apply()",
                                 "torch::autograd::Engine::evaluate_function()", "torch::autograd::Engine::thread_main()")
        made += native(f"torch::autograd::THPVariable_{operator}(_object*, _object*, _object*)")
        for name, filename, line in frames:
            path = "C:\\" + re.sub(r"^.*python3[.\d]*/", "Python311/Lib/", filename).replace("/", "\\")
            made += [{"name": name, "filename": path, "line": line}, *native("_PyEval_EvalFrameDefault")]
        return made + native("Py_RunMain", "__libc_start_main")

    def of(row, size):
        frames = tuple((frame["name"], frame["filename"], frame["line"]) for frame in row["frames"])
        row["frames"] = around(("mul", "softmax", "embedding")[size // 512 % 3], frames)

    snapshot = pickled(path, out)
    for event in [event for trace in snapshot["device_traces"] for event in trace if "frames" in event]:
        of(event, event.get("size", 0))
    for block in [block for segment in snapshot["segments"] for block in segment["blocks"] if "frames" in block]:
        of(block, block["size"])
    write(snapshot, out)
    return True


def without_annotations(path, out):
    """Writes it as PyTorch before 2.5 does: nobody says where an optimizer's steps are."""
    snapshot = pickled(path, out)
    snapshot.pop("external_annotations", None)
    write(snapshot, out)
    return True


# ---- the score


class Said:
    """One thing that gmanalyze says: an id, the lines of code that it names first, and how many bytes."""

    def __init__(self, row):
        self.id = row["id"]
        self.bytes = row["saves_bytes"] if row.get("saves_bytes") is not None else row.get("bytes")
        text = row.get("site") or " ".join(str(row.get(key, "")) for key in ("title", "detail"))
        self.lines = [(file, int(line)) for file, line in re.findall(r"([\w.-]+\.py):(\d+)", text)][:2]
        self.is_alarm = self.id != "healthy" and row.get("severity", "warning") != "info"


def analysis_of(path):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "a.json")
        subprocess.run([tool("gmanalyze"), "-q", "--no-charts", "--no-page", "-o", folder, "--json", out, path], check=True)
        with open(out, encoding="utf-8") as file:
            return json.load(file)


def devices_of(path):
    done = subprocess.run([tool("gmtrace"), "info", "--json", "-", path], capture_output=True, check=True)
    return json.loads(done.stdout)["devices"]


def peaks_of(devices):
    return [device["peak_requested_bytes"] for device in devices]


def analyse(path):
    analysis = analysis_of(path)
    findings, rows = {row["id"]: row for row in reversed(analysis["findings"])}, {}
    for row in analysis["to_do"] + analysis["findings"]:
        name = row.get("id") or row.get("finding") or "?"
        rows.setdefault(name, Said({**findings.get(name, {}), **row, "id": name}))
    return list(rows.values())


class Verdict:
    """of one recording: what the first finding got right, and whether any names the class."""

    def __init__(self, name, truth, said, accepted):
        self.name, self.kind, self.version = name.split("@")[0], truth["class"], truth["torch"]
        self.savings = truth["savings"]
        self.first = said[0] if said else None
        healthy = self.kind == "healthy"
        self.alarms = [s.id for s in said if s.is_alarm] if healthy else []
        accepted = accepted + truth["also"]
        self.place = next((place for place, s in enumerate(said, 1) if s.id in accepted), 0)
        self.named = not healthy and self.place == 1
        told = said[self.place - 1] if self.place else None
        self.told = told
        self.line = told and self.is_line(told, truth["lines"])
        self.bytes = told and self.is_saving(told)
        self.hit = bool(self.named and self.line and self.bytes)

    def is_line(self, told, lines):
        return not lines or any(file == self.name + ".py" and a <= line <= b for file, line in told.lines for a, b in lines)

    def is_saving(self, told):
        return not self.savings or any(told.bytes is not None and abs(told.bytes - size) <= 0.1 * size
                                       for saving in self.savings for size in saving.values())

    def word(self):
        if self.kind == "healthy":
            return "ALARM " + " ".join(self.alarms) if self.alarms else "ok"
        if self.hit:
            return "hit"
        wrong = [what for what, right in (("line", self.line), ("bytes", self.bytes)) if not right]
        return "MISS" if not self.place else f"{'first' if self.named else f'place {self.place}'}" + "".join(f", wrong {w}" for w in wrong)

    def as_json(self):
        return {"program": self.name, "torch": self.version, "class": self.kind, "first": self.first and self.first.id,
                "place": self.place, "hit": self.hit, "line": bool(self.line), "bytes": bool(self.bytes), "alarms": self.alarms,
                "said_bytes": self.told and self.told.bytes, "measured": self.savings}


def mib(size):
    return "-" if size is None else f"{size / 2**20:.0f}"


def row_of(verdict):
    said = verdict.told or verdict.first
    measured = " or ".join(f"{mib(s['reserved'])}/{mib(s['allocated'])}" for s in verdict.savings) or "-"
    place = " ".join(f"{file}:{line}" for file, line in said.lines) if said else ""
    return (f"{verdict.name:<28} {verdict.kind:<26} {(verdict.first.id if verdict.first else '-'):<26} "
            f"{mib(said.bytes) if said else '-':>6} {measured:<22} {verdict.word():<28} {place}")


def held_back(verdicts):
    """Half of each class: whoever works on the diagnosis looks at their sum only."""
    names = {}
    for verdict in verdicts:
        names.setdefault(verdict.kind, set()).add(verdict.name)
    order = {kind: sorted(n, key=lambda name: hashlib.sha256(name.encode()).hexdigest()) for kind, n in names.items()}
    return {name for of_class in order.values() for name in of_class[1::2]}


def totals(verdicts):
    sick = [v for v in verdicts if v.kind != "healthy"]
    return {"programs": len(verdicts), "mistakes": len(sick), "hits": sum(v.hit for v in sick), "first": sum(v.named for v in sick),
            "listed": sum(v.place > 0 for v in sick), "missed": sum(v.place == 0 for v in sick),
            "healthy": len(verdicts) - len(sick), "alarms": sum(bool(v.alarms) for v in verdicts)}


def sentence(title, of):
    return (f"{title}: {of['mistakes']} mistakes: {of['hits']} hits (first, line, bytes), {of['first']} named first, "
            f"{of['listed']} in the list, {of['missed']} missed; {of['healthy']} healthy: {of['alarms']} with false alarms")


def is_below_floor(of, how):
    with open(os.path.join(HERE, "floor.txt"), encoding="utf-8") as file:
        rows = [line.split() for line in file if not line.startswith("#")]
    floor = {row[-2]: int(row[-1]) for row in rows if row[:-2] == how}
    worse = [f"{key} {of[key]}, committed {value}" for key, value in floor.items()
             if (of[key] > value if key == "alarms" else of[key] < value)]
    better = [f"{key} {of[key]}" for key, value in floor.items() if of[key] != value]
    print("\n".join(f"worse than the floor: {line}" for line in worse) or
          "not worse than the floor" + (f"; raise it: {', '.join(better)}" if better else ""))
    return bool(worse)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", metavar="PYTHON", help="record with this one (a file, or an environment's folder)")
    parser.add_argument("--keep", action="store_true", help="keep the recordings in tests/data/zoo")
    parser.add_argument("--floor", action="store_true", help="exit code 1 if it is worse than tests/zoo/floor.txt")
    parser.add_argument("--late", action="store_true", help="the kept recordings as if they had begun later")
    parser.add_argument("--frames", action="store_true", help="the kept recordings as if they had frames of C++, too")
    parser.add_argument("--unnamed", action="store_true", help="the kept recordings without annotations")
    parser.add_argument("--all", action="store_true", help="rows of the held-back half, too")
    parser.add_argument("--json", metavar="FILE", help="the table for programs")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.torch:
        python = os.path.join(options.torch, "bin/python") if os.path.isdir(options.torch) else options.torch
        version = version_of(python)
        done = record(runnable(programs(options.names), python), python, version)
        recordings = {f"{r.program.name}@{version}": (r.stem + ".pickle", r.truth) for r in done if r.truth}
        if options.keep:
            keep(recordings)
        if len(recordings) < len(done):
            return 3
    else:
        recordings = kept(options.names)
    accepted = classes()
    gc.disable()  # of snapshots it looks at millions of objects, and there are no cycles
    forms = [(way, changed) for way, changed in (("late", begun_late), ("frames", with_frames), ("unnamed", without_annotations))
             if getattr(options, way)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for _, changed in forms:
            new = {name: (os.path.join(folder, f"{changed.__name__}.{name}.pickle"), truth) for name, (_, truth) in recordings.items()}
            counts = list(pool.map(lambda name: changed(recordings[name][0], new[name][0]), new))
            recordings = {name: new[name] for name, does in zip(new, counts) if does}
        said = pool.map(lambda one: analyse(one[0]), recordings.values())
        verdicts = [Verdict(name, truth, told, accepted[truth["class"]])
                    for (name, (_, truth)), told in zip(recordings.items(), said)]
    held = set() if options.all or options.names else held_back(verdicts)
    print(f"{'program':<28} {'class':<26} {'first finding':<26} {'MiB':>6} {'measured: reserved/alloc.':<22}")
    for verdict in sorted(verdicts, key=lambda v: (v.kind == "healthy", v.kind, v.name, v.version)):
        if verdict.name not in held:
            print(row_of(verdict))
    if held:
        print(sentence("\nseen", totals([v for v in verdicts if v.name not in held])))
        print(sentence("held back", totals([v for v in verdicts if v.name in held])))
    print(sentence("all", totals(verdicts)))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"schema": "gmanalyze.zoo/1", "totals": totals(verdicts), "recordings": [v.as_json() for v in verdicts]}, file, indent=1)
    return int(options.floor and is_below_floor(totals(verdicts), [way for way, _ in forms]))


if __name__ == "__main__":
    sys.exit(main())
