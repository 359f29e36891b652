# SPDX-License-Identifier: Apache-2.0
"""gmfleet on 64 snapshots against what people do instead: a shell loop over gmanalyze, and Python that unpickles the same
files in as many processes. Called by bench.py; alone: fleet_bench.py BINDIR SNAPSHOTS."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

FILES = 64
UNPICKLE = """
import concurrent.futures, os, pickle, sys
class Restricted(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"refused {module}.{name}")
def load(path):
    with open(path, "rb") as file:
        return len(Restricted(file).load())
paths = [os.path.join(d, n) for d, _, names in os.walk(sys.argv[1]) for n in names]
with concurrent.futures.ProcessPoolExecutor(int(sys.argv[2])) as pool:
    list(pool.map(load, paths))
"""


def make_job(folder, snapshots):
    """64 files, 8 ranks x 8 iterations, the real snapshots of more than 100 KB in turn."""
    sources = sorted(os.path.join(snapshots, n) for n in os.listdir(snapshots) if n.endswith(".pickle"))
    sources = [p for p in sources if os.path.getsize(p) > 100_000] or sources
    for i in range(FILES):
        target = os.path.join(folder, f"iteration_{i // 8}")
        os.makedirs(target, exist_ok=True)
        shutil.copyfile(sources[i % len(sources)], os.path.join(target, f"rank{i % 8}_memory_snapshot.pickle"))
    return sum(os.path.getsize(os.path.join(d, n)) for d, _, names in os.walk(folder) for n in names)


def seconds_of(command, **options):
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{command}: exit {done.returncode}: {done.stderr.decode()}")
    return time.perf_counter() - start


def show_fleet(binaries, snapshots, rounds=5):
    threads = str(len(os.sched_getaffinity(0)))
    gmfleet, gmanalyze = (os.path.join(binaries, name) for name in ("gmfleet", "gmanalyze"))
    with tempfile.TemporaryDirectory(prefix="gmfleet-bench-") as folder:
        job, results = os.path.join(folder, "job"), os.path.join(folder, "results")
        size = make_job(job, snapshots)
        loop = 'for f in "$2"/*/*; do "$1" -q -o "$3" "$f" || exit 1; done'
        loop_only = 'for f in "$2"/*/*; do "$1" -q --no-charts -o "$3" "$f" || exit 1; done'
        ways = {
            f"gmfleet -j {threads}": [gmfleet, "-q", "-j", threads, "-o", results, job],
            "gmfleet -j 1": [gmfleet, "-q", "-j", "1", "-o", results, job],
            "shell loop over gmanalyze --no-charts": ["sh", "-c", loop_only, "sh", gmanalyze, job, results],
            "shell loop over gmanalyze": ["sh", "-c", loop, "sh", gmanalyze, job, results],
            f"Python unpickling alone, {threads} processes": [sys.executable, "-c", UNPICKLE, job, threads],
        }
        best = dict.fromkeys(ways, float("inf"))
        for _ in range(rounds):
            for way, command in ways.items():
                best[way] = min(best[way], seconds_of(command))
        print(f"a job of {FILES} snapshots, {size / (1 << 20):.1f} MiB, best of {rounds}")
        first = next(iter(best.values()))
        for way, seconds in best.items():
            print(f"  {way:<44} {1e3 * seconds:9.1f} ms {FILES / seconds:9.1f} files/s   {seconds / first:6.2f} x")
        print()


if __name__ == "__main__":
    show_fleet(sys.argv[1], sys.argv[2])
