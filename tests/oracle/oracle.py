#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own caching allocator against gmreplay: seeded programs run under gmdry with every setting that the model
knows. Of each recording --verify must be exact; a what-if from the default recording must be the recording of the same
program under that setting, in its peaks, counts, events, segments and where memory ran out. A difference counts as
explained only if a counterfactual shows it: without what the recording cannot know, both are the same.

Prints a table, version by setting. Exit code 1 if anything is left over; what failed is kept, made smaller where it
can be, in FOLDER/failed and can be played again with --again. See tests/oracle/README.md."""
import argparse
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import causes
import judge
import kept
import programs
import settings
import shrink
import torches

VERSIONS = ["2.4.1", "2.6.0", "2.10.0", "2.12.0", "2.12.1", "2.15.0"]
NOT_THERE = ("Unrecognized", "unexpected keyword argument", "has no attribute 'MemPool'", "has no attribute 'use_mem_pool'")

ASSERTED = "no recording: an assertion in PyTorch's allocator failed"


class Worker:
    """A Python with torch imported, under gmdry."""

    def __init__(self, gmdry, python, folder):
        worker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
        self.log = open(os.path.join(folder, "worker.log"), "w+", encoding="utf-8")
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen([gmdry, "-q", "--no-charts", "--devices", "2", "-o", folder, "--", python, worker],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        env=environment)
        self.torch = self.answer()["torch"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise RuntimeError("the worker ended: " + self.log.read()[-1000:])
        return json.loads(line)

    def do(self, job):
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.log.close()


class Bench:
    """One worker, and what is done with it. Files lie in `folder`, from one program to the next."""

    def __init__(self, worker, gmreplay, folder):
        self.worker, self.gmreplay, self.folder = worker, gmreplay, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def record(self, program, name, conf="", memory=None, **more):
        return self.worker.do({"program": program, "conf": conf, "memory": memory or judge.CARD, "out": self.path(name),
                               "events": settings.lag(program["seed"], program["family"]), **more})

    @property
    def version(self):
        return self.worker.torch.split("+")[0]

    def what_if(self, conf, memory, answer, base="base.pickle", real="real.pickle", more=()):
        """What the model of the program's default recording says otherwise than the recording under the setting."""
        model = self.path("model.pickle")
        if os.path.exists(model):
            os.remove(model)
        limit = ["--memory", str(memory or judge.CARD)] if memory or causes.names_memory(conf) else []
        found = self.gmreplay("--alloc-conf", settings.as_text(conf), *limit, *more, "-o", model, self.path(base))
        return judge.compare(answer, self.path(real), found, model)


def is_not_there(answer):
    return any(word in answer["error"] for word in NOT_THERE)


def is_pytorchs_own(answer):
    """Whether the allocator has met something that its authors did not expect: there is no recording then."""
    return "INTERNAL ASSERT FAILED" in answer["error"] and "CUDACachingAllocator.cpp" in answer["error"]


class Row(collections.Counter):
    """Counts of one version and setting."""


class Oracle:
    def __init__(self, options):
        self.options, self.rows, self.left, self.lock = options, {}, [], threading.Lock()
        self.allocs = self.programs = 0
        self.examples = {}
        self.unseen = collections.Counter()  # of --verify: what a recording cannot show

    def row(self, version, conf, memory):
        return self.rows.setdefault((version, conf or "(defaults)", "limited" if memory else ""), Row())

    def keep(self, version, program, conf, memory, what, words, bench):
        """A failure, in a folder of its own, and what it takes to see it again."""
        with self.lock:
            number = len(self.left)
            self.left.append((version, program["seed"], conf, memory, what, words))
        if number >= self.options.keep:
            return
        if "ops" in program and self.options.shrink:
            program = shrink.smaller(bench, program, conf, memory, what)
        folder = os.path.join(self.options.folder, "failed", f"{version}_{program['seed']}_{number}")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        case = {"version": version, "conf": conf, "memory": memory, "what": what, "words": words, "program": program}
        with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as file:
            json.dump(case, file, indent=1)
        play(bench, case)
        for name in ("base.pickle", "real.pickle", "model.pickle"):
            if os.path.exists(bench.path(name)):
                shutil.copy(bench.path(name), folder)

    def judge_verify(self, bench, version, program, conf, memory, name, answer):
        wrong, allocs, unseen = judge.verify(bench.gmreplay, bench.path(name), answer)
        cause = causes.of_verify(bench, program, conf, memory, name, answer) if wrong else None
        with self.lock:
            row = self.row(version, conf, memory)
            self.unseen.update(unseen + ([causes.WORDS[cause]] if cause else []))
            row["recordings"] += 1
            row["verified"] += not wrong
            self.allocs += allocs
        if wrong and cause is None:
            self.keep(version, program, conf, memory, "verify", "; ".join(wrong), bench)

    def judge_what_if(self, bench, version, program, conf, memory, base, answer):
        wrong = bench.what_if(conf, memory, answer)
        cause = causes.of(bench, program, conf, memory, base, wrong) if wrong else None
        with self.lock:
            row = self.row(version, conf, memory)
            row["compared"] += 1
            row["equal"] += not wrong
            row["out of memory"] += answer["oom"] is not None
            row["retried"] += any(stats["num_alloc_retries"] for stats in answer["stats"] if stats)
            if wrong:
                row["cause " + (cause or "left over")] += 1
                self.examples.setdefault(cause or "left over", (version, program["seed"], conf, memory, wrong[0]))
        if wrong and cause is None:
            self.keep(version, program, conf, memory, "what-if", "; ".join(": ".join(pair) for pair in wrong), bench)

    def one(self, bench, version, seed):
        program = programs.program(seed)
        base = bench.record(program, "base.pickle")
        if "error" in base:
            if not is_not_there(base):
                self.keep(version, program, "", None, "program", base["error"], bench)
            return
        self.judge_verify(bench, version, program, "", None, "base.pickle", base)
        for conf, memory in settings.plan(seed, judge.peaks(base)):
            answer = bench.record(program, "real.pickle", conf, memory)
            if "error" in answer:
                with self.lock:
                    self.row(version, conf, memory)["not there" if is_not_there(answer) else "failed"] += 1
                    self.unseen.update([ASSERTED] if is_pytorchs_own(answer) else [])
                if not is_not_there(answer) and not is_pytorchs_own(answer):
                    self.keep(version, program, conf, memory, "program", answer["error"], bench)
                continue
            self.judge_verify(bench, version, program, conf, memory, "real.pickle", answer)
            self.judge_what_if(bench, version, program, conf, memory, base, answer)
        with self.lock:
            self.programs += 1

    def turn(self, version, python, seconds):
        """A version's share of the time."""
        options, end = self.options, time.monotonic() + seconds
        with tempfile.TemporaryDirectory(prefix="gm_oracle_") as folder:
            worker = Worker(options.gmdry, python, folder)
            bench = Bench(worker, judge.Gmreplay(options.gmreplay), folder)
            try:
                for seed in range(options.seed, options.seed + options.programs if options.programs else sys.maxsize):
                    if not options.programs and time.monotonic() > end:
                        break
                    self.one(bench, version, seed)
            finally:
                worker.close()

    def run(self, pythons):
        waiting, failed = list(pythons.items()), []
        share = self.options.minutes * 60 * self.options.jobs / max(1, len(waiting))

        def work():
            while True:
                with self.lock:
                    if not waiting:
                        return
                    version, python = waiting.pop(0)
                try:
                    self.turn(version, python, share)
                except Exception as error:  # told below; the other versions go on
                    failed.append(f"{version}: {error!r}")

        threads = [threading.Thread(target=work) for _ in range(self.options.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return failed


def table(oracle):
    """Rows of text: a version's settings, its sum; and what the differences were."""
    kinds = sorted({kind for row in oracle.rows.values() for kind in row if kind.startswith("cause ")})
    lines = [f"{'version':8} {'setting':72} {'memory':8} {'record':>6} {'exact':>6} {'what-if':>7} {'equal':>6} "
             f"{'OOM':>5} {'retry':>5} " + " ".join(f"({chr(97 + i)})".rjust(5) for i in range(len(kinds)))]
    sums = {}
    for (version, conf, memory), row in sorted(oracle.rows.items()):
        sums.setdefault(version, Row()).update(row)
        lines.append((version, conf, memory, row))
    out = [lines[0]]
    for version, conf, memory, row in lines[1:] + [(v, "all", "", row) for v, row in sums.items()]:
        if row["recordings"] or row["failed"]:
            out.append(f"{version:8} {conf:72} {memory:8} {row['recordings']:6} {row['verified']:6} {row['compared']:7} "
                       f"{row['equal']:6} {row['out of memory']:5} {row['retried']:5} " +
                       " ".join(str(row[kind]).rjust(5) for kind in kinds))
    for i, kind in enumerate(kinds):
        name = kind.removeprefix("cause ")
        words = "; and: ".join(causes.WORDS.get(part, part) for part in name.split("+"))
        out.append(f"({chr(97 + i)}) {words}; first: {oracle.examples[name]}")
    out += [f"not all as it was: {count}: {words}" for words, count in sorted(oracle.unseen.items())]
    return out


def play(bench, case):
    """A kept case again; what is wrong, in words."""
    program, conf, memory = case["program"], case["conf"], case["memory"]
    base = bench.record(program, "base.pickle")
    if "error" in base:
        return [base["error"]]
    answer, name = base, "base.pickle"
    if conf or memory:
        answer, name = bench.record(program, "real.pickle", conf, memory), "real.pickle"
        if "error" in answer:
            return [answer["error"]]
    wrong = judge.verify(bench.gmreplay, bench.path(name), answer)[0]
    if wrong:
        wrong.append(f"cause: {causes.of_verify(bench, program, conf, memory, name, answer)}")
    if conf or memory:
        found = bench.what_if(conf, memory, answer)
        wrong += [": ".join(pair) for pair in found]
        if found:
            wrong.append(f"cause: {causes.of(bench, program, conf, memory, base, found)}")
    return wrong


def again(options, pythons):
    with open(os.path.join(options.again, "case.json"), encoding="utf-8") as file:
        case = json.load(file)
    folder = tempfile.mkdtemp(prefix="gm_oracle_")
    worker = Worker(options.gmdry, pythons.get(case["version"]) or next(iter(pythons.values())), folder)
    wrong = play(Bench(worker, judge.Gmreplay(options.gmreplay), folder), case)
    worker.close()
    if options.keep_as:
        kept.keep(judge.Gmreplay(options.gmreplay), folder, case, options.keep_as)
    print(f"files: {folder}\n" + ("\n".join(wrong) or "nothing is wrong any more"))
    return 1 if wrong else 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("minutes", nargs="?", type=float, default=10, help="time for all versions together (10)")
    parser.add_argument("--programs", type=int, help="so many programs of each version, whatever the time")
    parser.add_argument("--seed", type=int, help="of the first program (default: drawn; printed)")
    parser.add_argument("--versions", default=",".join(VERSIONS), help="(%(default)s)")
    parser.add_argument("--python", default=os.environ.get("GM_TORCH_PYTHON"), help="one Python that has torch, in place of the versions (GM_TORCH_PYTHON)")
    parser.add_argument("--venvs", default=os.environ.get("GM_TORCH_VENVS"), help="folder of vVERSION environments, made if "
                        "missing (GM_TORCH_VENVS, or venvs in --folder)")
    parser.add_argument("--folder", default="build/oracle", help="for what failed (%(default)s)")
    parser.add_argument("--again", metavar="FOLDER", help="play what failed again")
    parser.add_argument("--keep-as", metavar="NAME", help="with --again: its recordings become a test, in tests/data/oracle")
    parser.add_argument("--keep", type=int, default=20, help="so many failures are kept (%(default)s)")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    parser.add_argument("--no-install", dest="install", action="store_false", help="only versions that are there")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--gmdry", default="build/bin/gmdry")
    parser.add_argument("--gmreplay", default="build/bin/gmreplay")
    options = parser.parse_args()
    options.venvs = os.path.abspath(options.venvs or os.path.join(options.folder, "venvs"))
    options.gmdry, options.gmreplay = os.path.abspath(options.gmdry), os.path.abspath(options.gmreplay)
    if options.seed is None:
        options.seed = random.randrange(1, 1_000_000)
    return options


def main():
    options = parse()
    if options.python:
        pythons = {"here": options.python}
    else:
        pythons = torches.find(options.venvs, options.versions.split(","), options.install)
    if not pythons:
        print("oracle: no PyTorch is here: GM_TORCH_PYTHON, GM_TORCH_VENVS")
        return 77
    if options.again:
        return again(options, pythons)
    print(f"oracle: seed {options.seed}, {', '.join(pythons)}", flush=True)
    oracle = Oracle(options)
    failed = oracle.run(pythons)
    print("\n".join(table(oracle)))
    print(f"{oracle.programs} programs, {sum(row['recordings'] for row in oracle.rows.values())} recordings, "
          f"{oracle.allocs} addresses; {len(oracle.left)} left over")
    for version, seed, conf, memory, what, words in oracle.left:
        print(f"LEFT {what}: {version} seed {seed} '{conf}' {memory}: {words[:600]}")
    print("\n".join(failed), end="\n" if failed else "")
    return 1 if oracle.left or failed else 0


if __name__ == "__main__":
    sys.exit(main())
