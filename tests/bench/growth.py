# SPDX-License-Identifier: Apache-2.0
"""How cost grows: files of more and more events of each shape of growth_files.py through gmanalyze, with pictures and
page and without, gmreplay --verify and gmreplay. For each the time of all CPUs for an event of the largest file, the peak
of memory as a multiple of that file, and the exponent of time between the two largest: 1 is linear, n log n is 1.05 to
1.1 here. Where time grows faster and valgrind is there, instructions are counted, too: those do not see that a larger
file leaves the caches. Called by bench.py --growth; alone: growth.py BINDIR [--most N] [--huge] [SHAPE...].

Files are made in a temporary folder ($TMPDIR), one at a time: up to 600 MB, with --huge, which adds 10^8 ordinary events,
6 GB.
"""
import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile

import growth_files

LIMIT = 1.1     # exponents above are bugs
CACHES = 1.3    # of time, where instructions do not grow faster than that
NOISE = 0.15    # seconds of CPU below which an exponent says nothing
PATIENCE = 120  # seconds of CPU for a million events, then it is stopped
COUNTED = (30_000, 300_000)  # events of the files for which instructions are counted, 50 times slower
JOBS = {
    "gmanalyze": ("gmanalyze", "-q", "-o", "{results}"),
    "no charts, no page": ("gmanalyze", "-q", "--no-charts", "--no-page", "-o", "{results}"),
    "verify": ("gmreplay", "-q", "--verify", "--json", "{results}/verify.json"),
    "what-if": ("gmreplay", "-q", "--json", "{results}/what_if.json"),
}


def run(binaries, job, path, around):
    """(exit code, usage, stderr) of one run with the words `around` before it."""
    with tempfile.TemporaryDirectory(prefix="gmanalyze-growth-") as results:
        program, *options = (word.format(results=results) for word in JOBS[job])
        child = subprocess.Popen([*around, os.path.join(binaries, program), *options, path], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE)
        complained = child.stderr.read().decode()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage, complained


def measure(binaries, job, path, n):
    """(least seconds of CPU, peak bytes) of some runs, or why there is no such figure."""
    patience, best = int(PATIENCE * max(1, n / 1e6)), None
    for _ in range(3 if n <= 100_000 else 1):
        code, usage, complained = run(binaries, job, path, ["prlimit", f"--cpu={patience}"])
        seconds = usage.ru_utime + usage.ru_stime
        if code == 3 and "holds no trace" in complained:
            return "no trace"
        if code not in (0, 1):
            return f"> {patience} s" if seconds > 0.9 * patience else f"exit {code}"
        done = (seconds, usage.ru_maxrss * 1024)
        best = done if best is None else tuple(map(min, best, done))
    return best


def write(folder, name, n):
    """In a process of its own: memory that this one once had counts as its children's peak."""
    path = os.path.join(folder, "growth.pickle")
    subprocess.run([sys.executable, "-B", growth_files.__file__, path, name, str(n)], check=True)
    return path


def exponent(n, cost, m, more):
    return math.log(more / cost) / math.log(m / n)


class Shape:
    """What a shape cost: cost[job][events]."""

    def __init__(self, name, binaries, folder):
        self.name, self.binaries, self.folder = name, binaries, folder
        self.cost, self.bytes, self.counted = {job: {} for job in JOBS}, {}, {}

    def add(self, n):
        path = write(self.folder, self.name, n)
        self.bytes[n] = os.path.getsize(path)
        for job, cost in self.cost.items():
            if not any(isinstance(c, str) for c in cost.values()):
                cost[n] = measure(self.binaries, job, path, n)
        os.remove(path)

    def exponent(self, job):
        """Of time between the two largest; None if it cannot be told."""
        known = [(n, c[0]) for n, c in sorted(self.cost[job].items()) if not isinstance(c, str)]
        return exponent(*known[-2], *known[-1]) if len(known) > 1 and known[-1][1] >= NOISE else None

    def count(self):
        """Exponents of instructions for the jobs whose time grows too fast."""
        fast = [job for job in JOBS if (self.exponent(job) or 0) > LIMIT]
        for job in fast if shutil.which("valgrind") else ():
            counts = []
            for n in COUNTED:
                path, out = write(self.folder, self.name, n), os.path.join(self.folder, "callgrind")
                said = run(self.binaries, job, path, ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"])[2]
                counts += [n, int(said.split("Collected : ")[1].split()[0])]
            self.counted[job] = exponent(*counts)

    def words(self, job):
        n, c = max(self.cost[job].items())
        if isinstance(c, str):
            return f"{c} at {n:,}"
        power = self.exponent(job)
        return (f"{1e9 * c[0] / n:.0f} ns, {c[1] / self.bytes[n]:.2f}" + ("" if power is None else f", {power:.2f}") +
                (f" (instructions {self.counted[job]:.2f})" if job in self.counted else ""))

    def is_bad(self):
        stopped = any(isinstance(c, str) and c != "no trace" for cost in self.cost.values() for c in cost.values())
        powers = [(self.exponent(job) or 0, self.counted.get(job, LIMIT + 1)) for job in JOBS]
        return stopped or any(time > (LIMIT if counted > LIMIT else CACHES) for time, counted in powers)


def show_growth(binaries, least=10_000, most=1_000_000, huge=False, names=()):
    """Prints a row for each shape; false: something grows faster than it may."""
    print("CPU for each event of the largest file, peak memory of its size, exponent of CPU between the last two files\n")
    print("| shape | events | " + " | ".join(JOBS) + " |")
    print("|---|---|" + "---|" * len(JOBS), flush=True)
    bad = []
    with tempfile.TemporaryDirectory(prefix="gmanalyze-growth-") as folder:
        for name in names or growth_files.SHAPES:
            shape, n = Shape(name, binaries, folder), least
            while n <= most * (1 if name != growth_files.ORDINARY else 100 if huge else 10):
                shape.add(n)
                n *= 10
            shape.count()
            print(f"| {name} | {max(shape.bytes):,} | " + " | ".join(map(shape.words, JOBS)) + " |", flush=True)
            if shape.is_bad():
                bad.append(name)
    print(f"\nfaster than n log n: {', '.join(bad) or 'nothing'}")
    return not bad


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--least", type=int, default=10_000)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--huge", action="store_true")
    parser.add_argument("shapes", nargs="*")
    told = parser.parse_intermixed_args()
    sys.exit(0 if show_growth(told.binaries, told.least, told.most, told.huge, told.shapes) else 1)
