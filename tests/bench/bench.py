#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed and memory of gmanalyze as ratios, measured in turns with what it is compared to, in one run; then the speed of
gmreplay's model, and where its time goes; gmfleet on 64 files; and the page in browsers. At the end the table that
README.md quotes, with PyTorch's _memory_viz.py beside it where GM_TORCH_PYTHON is a Python with torch.

usage: bench.py [--full] [--rounds N] | --growth [--huge]

Compared: the whole job (process start, all charts, everything written) with pickle.load alone; decoding with a bare
scan of the same opcodes, which is the limit for one core. The snapshots are a real one of 3 MB and two made of it by
repeating its trace, if ../shared (or $GM_SHARED) is there; else the demo. Large files are kept in build/bench.
--growth measures something else: how cost grows with files (growth.py).
"""
import argparse
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

from fleet_bench import show_fleet
from growth import show_growth
from others import Table
from page_bench import show_page

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CACHE = os.path.join(SOURCE, "build", "bench")
BINARY = os.environ.get("GMANALYZE") or os.path.join(SOURCE, "build", "bin", "gmanalyze")
REPLAY = os.path.join(os.path.dirname(BINARY), "gmreplay")
PROFILE = os.path.join(SOURCE, "build", "profile")
SHARED = os.environ.get("GM_SHARED") or os.path.join(SOURCE, "..", "shared")
REAL = os.path.join(SHARED, "snapshots", "Wedsonlin__assignment2-systems__results__medium_128_training_memory_snapshot.pickle")
MKBIG = os.path.join(SHARED, "tools", "mkbig.py")
MIB = 1 << 20

# pickle.load without its danger, at its full speed: the C unpickler, which calls back only for globals.
PICKLE_LOAD = """
import pickle, sys, time
class Restricted(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"refused {module}.{name}")
start = time.perf_counter()
with open(sys.argv[1], "rb") as file:
    snapshot = Restricted(file).load()
print(time.perf_counter() - start)
sys.stdout.flush()
import os
os._exit(0)
"""


# Seconds of the clock, peak resident bytes (not below this process's own, about 12 MiB), stdout, stderr, seconds of CPU.
Done = collections.namedtuple("Done", "seconds peak said complained cpu")


def run(command, fine=(0,), **options):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=err, **options)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, complained = out.read().decode(), err.read().decode()
    if child.returncode not in fine:
        sys.exit(f"{' '.join(command)}: exit code {child.returncode}\n{complained}")
    return Done(seconds, usage.ru_maxrss * 1024, said, complained, usage.ru_utime + usage.ru_stime)


def phases_of(complained):
    """{"read+decode": seconds, ...} from what gmanalyze -v says."""
    pairs = re.findall(r"(read\+decode|analyse|draw|write|total) ([\d.]+) ms", complained)
    return {name: float(value) / 1000 for name, value in pairs}


class Measured:
    def __init__(self, path, rounds, scan):
        self.size = os.path.getsize(path)
        self.done = {"whole": [], "bare": [], "load": []}
        loads, scans, phases = [], [], []
        with tempfile.TemporaryDirectory(prefix="gmanalyze-bench-") as results:
            run([BINARY, "-q", "-o", results, path])  # the file into the page cache, the fonts' cache too
            for _ in range(rounds):
                scans.append(float(run([scan, path])[2].split()[0]))
                self.done["whole"].append(run([BINARY, "-q", "-v", "-o", results, path]))
                self.done["bare"].append(run([BINARY, "-q", "--no-charts", "--no-page", "-o", results, path]))
                self.done["load"].append(run([sys.executable, "-c", PICKLE_LOAD, path]))
                phases.append(phases_of(self.done["whole"][-1].complained))
                loads.append(float(self.done["load"][-1].said))
        self.peak, self.load_peak = (max(d.peak for d in self.done[what]) for what in ("whole", "load"))
        self.whole, self.bare = (statistics.median(d.seconds for d in self.done[what]) for what in ("whole", "bare"))
        self.load, self.scan = map(statistics.median, (loads, scans))
        self.phases = {name: statistics.median(p[name] for p in phases) for name in phases[0]}


def show_goal(what, value, limit, unit, at_least=False):
    met = value >= limit if at_least else value <= limit
    print(f"  {'met   ' if met else 'MISSED'} {what:<46} {value:9.2f} {unit:<4} goal {'>=' if at_least else '<='} {limit:.2f}"
          f"  ({value / limit:.2f} of it)")


def show(name, path, rounds, scan, is_real, table):
    m = Measured(path, rounds, scan)
    if is_real:
        table.add_column(f"{m.size / 1e6:.0f} MB")
        table.add("`gmanalyze`: report, pictures, page, JSON", m.done["whole"])
        table.add("`gmanalyze --no-charts --no-page`", m.done["bare"])
        table.add("`pickle.load` and nothing else", m.done["load"])
        table.add_others(run, path, 3 if m.size < 16 * MIB else 1)
    print(f"{name}: {m.size / MIB:.1f} MiB, median of {rounds}")
    print(f"  whole job      {1e3 * m.whole:10.1f} ms   {m.size / m.whole / 1e9:6.3f} GB/s   peak {m.peak / MIB:8.1f} MiB")
    for phase in ("read+decode", "analyse", "draw", "write"):
        print(f"    {phase:<12} {1e3 * m.phases[phase]:10.1f} ms   {100 * m.phases[phase] / m.whole:5.1f} %")
    rest = m.whole - sum(m.phases[phase] for phase in ("read+decode", "analyse", "draw", "write"))
    print(f"    {'the rest':<12} {1e3 * rest:10.1f} ms   {100 * rest / m.whole:5.1f} %   (process start and end)")
    print(f"  pickle.load    {1e3 * m.load:10.1f} ms   {m.size / m.load / 1e9:6.3f} GB/s   peak {m.load_peak / MIB:8.1f} MiB")
    print(f"  opcode scan    {1e3 * m.scan:10.1f} ms   {m.size / m.scan / 1e9:6.3f} GB/s")
    decode = m.phases["read+decode"]
    if m.size < 16 * MIB:
        if is_real:
            show_goal("whole job, with pictures and page", 1e3 * m.whole, 28, "ms")
            show_goal("report and JSON alone", 1e3 * m.bare, 15, "ms")
        print(f"         {'whole job, faster than pickle.load by':<46} {m.load / m.whole:9.2f} x")
    elif m.size < 256 * MIB:
        print(f"         {'whole job, faster than pickle.load by':<46} {m.load / m.whole:9.2f} x")
        show_goal("whole job, of the time of the scan", m.whole / m.scan, 3, "x")
        show_goal("peak memory, of the file's size", m.peak / m.size, 0.5, "x")
    else:
        show_goal("whole job, faster than pickle.load by", m.load / m.whole, 20, "x", at_least=True)
        show_goal("whole job, of the time of the scan", m.whole / m.scan, 2, "x")
        show_goal("peak memory, of the file's size", m.peak / m.size, 0.5, "x")
    show_goal("decoding, of the speed of the scan", 100 * m.scan / decode, 100, "%", at_least=True)
    print()


def build_profile():
    """A build whose model says what it is doing, for the shares; the speeds are those of the ordinary one."""
    run(["cmake", "-S", SOURCE, "-B", PROFILE, "-DCMAKE_BUILD_TYPE=Release", "-DGM_TESTS=OFF", "-DGM_PROFILE=ON"])
    run(["cmake", "--build", PROFILE, "--target", "replay_shares"])
    return os.path.join(PROFILE, "bin", "replay_shares")


def show_trace(path):
    """A .gmtrace of that snapshot: no pickle to read, so all but that."""
    with tempfile.TemporaryDirectory(prefix="gmanalyze-bench-") as folder:
        trace = os.path.join(folder, "small.gmtrace")
        events = sum(d["events"] for d in json.loads(
            run([REPLAY, "-q", "--json", "-", "--trace-out", trace, path])[2])["devices"])
        least = min(run([BINARY, "-q", "--no-charts", "--no-page", "-o", folder, trace]).seconds for _ in range(11))
    show_goal(f"a .gmtrace of {events:,} events, of 20,000 without charts", 1e3 * least * 20000 / events, 10, "ms")


def show_replay(path, rounds, shares):
    """Events per second of the model's loop alone, and of the whole process; the best of some rounds: other programs
    can only slow it down."""
    for mode, option in (("what-if", []), ("verify", ["--verify"])):
        # A trace that was lengthened by repeating it contradicts itself where the repetitions meet: --verify says FAIL.
        done = [run([REPLAY, "-q", "--json", "-", *option, path], (0, 1)) for _ in range(rounds)]
        told = [json.loads(d.said) for d in done]
        speeds = [t["events_per_second"] for t in told]
        whole = sum(d["events"] for d in told[0]["devices"]) / min(d.seconds for d in done)
        words = run([shares, mode, "500", path])[2].split()
        share = dict(zip(words[4::2], words[5::2]))
        print(f"  gmreplay {mode:<8} {max(speeds) / 1e6:6.1f} M events/s, best of {rounds}; search {share['search']} %, "
              f"split and merge {share['split_merge']} %, bookkeeping {share['bookkeeping']} %, device "
              f"{share['device']} %, outside the model {share['outside']} %")
        if mode == "what-if":
            show_goal("what-if, million events per second", max(speeds) / 1e6, 10, "M/s", at_least=True)
        show_goal(f"{mode}, the whole process", whole / 1e6, 8, "M/s", at_least=True)
    with tempfile.TemporaryDirectory(prefix="gmreplay-bench-") as folder:
        out = os.path.join(folder, "sweep.json")
        seconds = run([REPLAY, "-q", "--sweep", "--json", out, path])[0]
        with open(out, encoding="utf-8") as file:
            found = json.load(file)
    rows, events = len(found["sweep"]["rows"]), sum(d["events"] for d in found["devices"])
    print(f"  gmreplay --sweep {seconds:8.2f} s for {rows} settings of {events / 1e6:.2f} M events, all of the run")
    if events < 2e6:
        show_goal("a sweep of 100 settings over 1 M events", seconds * 100 / rows * 1e6 / events, 3, "s")
    print()


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--huge", action="store_true")
    options = parser.parse_args()
    if options.growth:
        sys.exit(0 if show_growth(os.path.dirname(BINARY), huge=options.huge) else 1)
    os.makedirs(CACHE, exist_ok=True)
    scan = os.path.join(CACHE, "opcode_scan")
    subprocess.run([os.environ.get("CC", "cc"), "-O3", "-o", scan, os.path.join(SOURCE, "tests/bench/opcode_scan.c")],
                   check=True)
    demo = os.path.join(CACHE, "demo.pickle")
    subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "tests/data/make_demo_snapshot.py"), demo], check=True)
    table = Table()
    show("demo", demo, options.rounds, scan, False, table)
    if not os.path.exists(REAL):
        print("no shared snapshots here: the real one and the large ones are left out")
        return
    show("medium_128_training", REAL, options.rounds, scan, True, table)
    show_trace(REAL)
    show_fleet(os.path.dirname(BINARY), os.path.dirname(REAL), min(5, options.rounds))
    show_page(BINARY, "medium_128_training", REAL)
    shares = build_profile()
    for n, rounds in ((75, min(5, options.rounds)), (750, 3)) if options.full else ((75, min(5, options.rounds)),):
        big = os.path.join(CACHE, f"medium_128_training_x{n}.pickle")
        if not os.path.exists(big):
            print(f"making {big}", flush=True)
            subprocess.run([sys.executable, MKBIG, REAL, big + ".part", str(n)], check=True, stdout=subprocess.DEVNULL)
            os.rename(big + ".part", big)
        show(f"the same, trace repeated {n} times", big, rounds, scan, True, table)
        show_replay(big, rounds, shares)
        show_page(BINARY, f"the same, trace repeated {n} times", big)
    table.show()


if __name__ == "__main__":
    main()
