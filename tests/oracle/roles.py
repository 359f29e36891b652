#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Roles, steps and phases as gmanalyze infers them, held against what the program knows (truth.py): shares of bytes at
the peak and at the end, steps found, events in the right phase. usage: roles.py record FOLDER GMDRY PYTHON [NAME...]
or roles.py score DUMP_ALLOCATIONS FOLDER [--least PERCENT] [--held | --open] [-v],
or roles.py keep DUMP_ALLOCATIONS GMREPLAY FOLDER OUT NAME.KIND...: as small files, without this machine's paths."""
import argparse
import bisect
import collections
import glob
import itertools
import json
import os
import pickle
import re
import subprocess
import sys

import role_programs
import role_scripts

HERE = os.path.dirname(os.path.abspath(__file__))
KNOWN = ("Parameter", "Gradient", "Optimizer state", "KV cache")
OTHER = "Other"  # activations, temporaries, workspaces, inputs: the program does not tell them apart
KINDS = ("whole", "late", "bare", "all")
PHASES = ("forward", "backward", "optimizer")


def is_held(name):
    """A third of the programs, half of the scripts: not looked at while rules are made."""
    return name in role_scripts.HELD or name not in role_scripts.ALL and sum(map(ord, name)) % 3 == 0


def record(folder, gmdry, python, wanted):
    os.makedirs(folder, exist_ok=True)
    jobs = [f"{name}.{kind}" for name in wanted or [*role_programs.ALL, *role_scripts.ALL]
            for kind in KINDS]
    return subprocess.run([gmdry, "-q", "--no-charts", "-o", os.path.join(folder, "runs"), "--", python,
                           os.path.join(HERE, "role_worker.py"), folder, *jobs], check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}).returncode


def moment_of(times, when):
    """The state after all events up to a time."""
    return bisect.bisect_right(times, when)


class Run:
    def __init__(self, dump, path):
        done = subprocess.run([dump, path], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{path}: {done.stderr}")
        with open(os.path.splitext(path)[0] + ".json", encoding="utf-8") as file:
            self.truth = json.load(file)
        self.found = json.loads(done.stdout)
        self.times = self.found["times"]
        self.allocations = self.found["allocations"]
        self.told = unpack(self.truth["told"]) if "told" in self.truth else self.truths()

    def truths(self):
        """[allocation]: the role that the program ever gave the block at its address while it lived."""
        told, by_address = [OTHER] * len(self.allocations), collections.defaultdict(list)
        for i, (address, size, born, let_go, *_) in enumerate(self.allocations):
            by_address[address].append((born, let_go if let_go >= 0 else sys.maxsize, i))
        for when, address, role in self.truth["notes"]:
            moment = moment_of(self.times, when)
            for born, gone, i in by_address.get(address, ()):
                if born <= moment < gone:
                    told[i] = role
        return told

    def peak(self):
        change = collections.Counter()
        for _, size, born, _, freed, *_ in self.allocations:
            change[born] += size
            if freed >= 0:
                change[freed] -= size
        now, most, at = 0, -1, 0
        for moment in range(len(self.times) + 1):
            now += change[moment]
            if now > most:
                most, at = now, moment
        return at

    def confusion(self, moment):
        """{(truth, found): bytes} of what is live then."""
        table = collections.Counter()
        for told, (_, size, born, let_go, freed, role, *_) in zip(self.told, self.allocations):
            if born <= moment and (freed < 0 or moment < freed):
                if told != "KV cache" and role not in ("Parameter", "Gradient", "Optimizer state", "Unknown"):
                    role = OTHER
                if told == OTHER and role == "KV cache":
                    role = OTHER
                table[told, role] += size
        return table

    def steps(self):
        """(found, run): those with an end; those that the trace begins after are not counted."""
        begin = self.times[0] if self.times else 0
        run = [when for when in self.truth["steps"] if when > begin]
        rows = self.found["steps"]
        is_cut = bool(rows) and rows[-1]["is_partial"]
        return len(rows) - is_cut, len(run)

    def phases(self):
        """(allocations in the right phase, allocations): a free's phase is a matter of definition."""
        marks = self.truth["phases"]
        if not marks or not self.found["phases"]:
            return 0, 0
        runs = self.found["phases"]
        starts, at = [event for _, event in runs], [when for when, _ in marks]
        right = known = 0
        for event in (born - 1 for _, _, born, *_ in self.allocations if born > 0):
            when = self.times[event]
            i = bisect.bisect_right(at, when) - 1
            truth = marks[i][1] if i >= 0 else "forward"
            phase = runs[bisect.bisect_right(starts, event) - 1][0]
            phase = phase if phase in PHASES[1:] else "forward"
            known += 1
            right += phase == truth
        return right, known


LETTERS = {"P": "Parameter", "G": "Gradient", "S": "Optimizer state", "K": "KV cache", "O": OTHER}


def pack(told):
    """ "O3P12...": the letter of a role and how many allocations in a row have it."""
    letter = {role: sign for sign, role in LETTERS.items()}
    runs = itertools.groupby(told)
    return "".join(f"{letter[role]}{sum(1 for _ in run)}" for role, run in runs)


def unpack(text):
    return [LETTERS[sign] for sign, count in re.findall(r"([A-Z])(\d+)", text) for _ in range(int(count))]


def without_paths(value):
    """The same with every file named from site-packages, Python's library or this folder's programs on."""
    if isinstance(value, dict):
        value = {key: without_paths(one) for key, one in value.items()}
        if "filename" in value:
            name = re.sub(r"^.*/(site-packages/|python3\.\d+/|tests/oracle/)", r"\1", value["filename"])
            value["filename"] = name if not name.startswith("/") else os.path.basename(name)
        return value
    return [without_paths(one) for one in value] if isinstance(value, (list, tuple)) else value


def keep(dump, gmreplay, folder, out, *wanted):
    os.makedirs(out, exist_ok=True)
    for name in wanted:
        path = os.path.join(folder, name)
        run = Run(dump, path + ".pickle")
        with open(path + ".pickle", "rb") as file:
            snapshot = without_paths(pickle.load(file))
        with open(path + ".small", "wb") as file:
            pickle.dump(snapshot, file)
        subprocess.run([gmreplay, "-q", "--trace-out", os.path.join(out, name + ".gmtrace"), path + ".small"], check=True)
        os.remove(path + ".small")
        with open(os.path.join(out, name + ".json"), "w", encoding="utf-8") as file:
            json.dump({"told": pack(run.told), "phases": run.truth["phases"], "steps": run.truth["steps"]}, file)
    return 0


def share(table):
    total = sum(table.values())
    return (sum(size for (told, role), size in table.items() if told == role) / total if total else 1), total


def show(table):
    return ", ".join(f"{told} as {role} {size / 2 ** 20:.1f} MiB" for (told, role), size in table.most_common()
                     if told != role and size > 0)


def evidence_of(run, moment):
    table = collections.Counter()
    for told, (_, size, born, let_go, freed, role, says, _) in zip(run.told, run.allocations):
        if born <= moment and (freed < 0 or moment < freed):
            table[told, role, says] += size
    return [f"      {key}: {size / 2 ** 20:.2f}" for key, size in table.most_common()
            if not (key[0] == key[1] or key[0] == OTHER and key[1] not in (*KNOWN, "Unknown"))]


def score(options):
    sums, weak, step_sum, phase_sum = collections.Counter(), 0, collections.Counter(), collections.Counter()
    least = options.least / 100
    kind_sums = collections.defaultdict(collections.Counter)
    for path in sorted(glob.glob(os.path.join(options.folder, "*.pickle")) +
                       glob.glob(os.path.join(options.folder, "*.gmtrace"))):
        name, kind = os.path.basename(path).split(".")[:2]
        if (options.held and not is_held(name)) or (options.open and is_held(name)):
            continue
        run = Run(options.dump, path)
        at_peak, at_end = run.confusion(run.peak()), run.confusion(len(run.times))
        (peak, peak_bytes), (end, end_bytes) = share(at_peak), share(at_end)
        found, ran = run.steps()
        right, known = run.phases()
        is_weak = min(peak, end) < least
        weak += is_weak
        for sum_, table in (("peak", at_peak), ("end", at_end)):
            total = sum(table.values()) or 1
            for (told, role), size in table.items():  # each recording counts alike
                sums[sum_, told, role] += size / total
                kind_sums[kind][sum_, told == role] += size / total
        step_sum.update(found=min(found, ran), ran=ran, alike=found == ran, files=1)
        phase_sum.update(right=right, known=known)
        print(f"{name + '.' + kind:32} peak {100 * peak:6.2f} %  end {100 * end:6.2f} %  steps {found} of {ran} "
              f"({run.found['source']})  phases {100 * right / known if known else 100:.1f} %{' *' if is_weak else ''}")
        if options.verbose and is_weak:
            print("    peak: " + show(at_peak) + "\n    end: " + show(at_end))
            print("\n".join(evidence_of(run, run.peak())[:8] + ["      ---"] + evidence_of(run, len(run.times))[:8]))
    files = step_sum["files"] or 1
    for when in ("peak", "end"):
        right = sum(size for (w, told, role), size in sums.items() if w == when and told == role)
        print(f"at the {when}: {100 * right / files:.2f} % right (mean of {files} recordings)")
        for (w, told, role), size in sorted(sums.items(), key=lambda row: -row[1]):
            if w == when and told != role and size / files > 0.0002:
                print(f"    {told} taken for {role}: {100 * size / files:.2f} %")
    for kind, table in sorted(kind_sums.items()):
        shares = [100 * table[w, True] / (table[w, True] + table[w, False]) for w in ("peak", "end")]
        print(f"{kind}: peak {shares[0]:.2f} %, end {shares[1]:.2f} %")
    print(f"steps: right number in {step_sum['alike']} of {files} recordings; phases: "
          f"{100 * phase_sum['right'] / max(1, phase_sum['known']):.2f} % of allocations; {weak} recordings under {options.least} %")
    return 1 if weak > options.allowed or options.steps and step_sum["alike"] < files else 0


def main():
    if sys.argv[1:2] == ["record"]:
        return record(*sys.argv[2:5], sys.argv[5:])
    if sys.argv[1:2] == ["keep"]:
        return keep(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("score", choices=["score"])
    parser.add_argument("dump")
    parser.add_argument("folder")
    parser.add_argument("--least", type=float, default=99)
    parser.add_argument("--allowed", type=int, default=0, help="so many recordings may be under it")
    parser.add_argument("--steps", action="store_true", help="all recordings must have the right number of steps")
    parser.add_argument("--held", action="store_true")
    parser.add_argument("--open", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    return score(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
