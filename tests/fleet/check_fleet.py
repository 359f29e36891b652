# SPDX-License-Identifier: Apache-2.0
"""gmfleet on made-up jobs: numbers against arithmetic by hand, places, order, threads, damaged and missing ranks, hostile
names, an interrupted run. usage: check_fleet.py GMFLEET"""
import csv
import io
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from jobs import MIB, numbers, run, snapshot, write  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
RANKS, ITERATIONS = 8, 4


def holdings(rank, iteration):
    """Ranks 0-3 are one stage, 4-7 another; rank 6 dispatches more; rank 2 leaks 64 MiB an iteration."""
    held = {"weights": 1000, "embedding": 300} if rank < 4 else {"weights": 1000, "head": 310}
    if rank == 6:
        held["dispatch"] = 900
    if rank == 2:
        held["log"] = 64 * iteration
    return held


def make_job(folder):
    for iteration in range(1, ITERATIONS + 1):
        for rank in range(RANKS):
            write(f"{folder}/iteration_{iteration}/rank{rank}_memory_snapshot.pickle",
                  snapshot(holdings(rank, iteration), temporary=100))


def check_numbers(folder):
    done = run(PROGRAM, "--memory", "4GiB", folder)
    fleet = done.fleet
    assert fleet["schema"] == "gmfleet.fleet/1"
    assert [(s["rank"], s["iteration"]) for s in fleet["snapshots"]] == [
        (r, i) for r in range(RANKS) for i in range(1, ITERATIONS + 1)]
    for s in fleet["snapshots"]:
        want = numbers(holdings(s["rank"], s["iteration"]), 100)
        got = (s["peaks"]["peak_reserved_bytes"], s["peaks"]["peak_allocated_bytes"], s["totals"]["reserved_bytes"],
               s["totals"]["allocated_bytes"])
        assert got == want, (s["path"], got, want)
        assert s["error"] is None and sum(c["bytes"] for c in s["call_sites"]) + s["other_call_sites_bytes"] == \
            s["peaks"]["peak_requested_bytes"]
    for column in fleet["iterations"]:
        peaks = [numbers(holdings(r, column["iteration"]), 100)[0] for r in range(RANKS)]
        assert column["reserved"]["max_bytes"] == max(peaks) and column["reserved"]["min_bytes"] == min(peaks)
        assert math.isclose(column["reserved"]["imbalance"], max(peaks) / statistics.mean(peaks), rel_tol=1e-12)
        assert column["reserved"]["median_bytes"] == statistics.median_low(peaks)
    rows = list(csv.DictReader(io.StringIO(done.files["fleet.csv"].decode())))
    assert [int(r["peak_reserved_bytes"]) for r in rows] == [s["peaks"]["peak_reserved_bytes"]
                                                            for s in fleet["snapshots"]]
    assert set(done.files) == {"fleet_report.txt", "README.md", "fleet.json", "fleet.csv", "fleet_heatmap.png",
                               "fleet_growth.png"}
    return fleet, done


def check_odd_ranks(fleet):
    """The last iteration is compared; odd is rank 6, and rank 2 by then."""
    held = [sum(holdings(r, ITERATIONS).values()) + 100 for r in range(RANKS)]
    median = statistics.median_low(held)
    mad = statistics.median_low([abs(h - median) for h in held])
    limit = max(0.05 * median, 3 * 1.4826 * mad, 1)
    want = {r for r in range(RANKS) if abs(held[r] - median) > limit}
    assert want == {2, 6}, want
    assert fleet["compared"]["iteration"] == ITERATIONS
    assert fleet["compared"]["median_held_bytes"] == median * MIB
    assert {o["rank"] for o in fleet["odd_ranks"]} == want and fleet["odd_rank_count"] == len(want)
    for odd in fleet["odd_ranks"]:
        total = sum(s["delta_bytes"] for s in odd["call_sites"]) + odd["other_delta_bytes"]
        assert total == odd["delta_bytes"] == odd["held_delta_bytes"] == (held[odd["rank"]] - median) * MIB
    first = fleet["odd_ranks"][0]
    assert first["rank"] == 6 and first["call_sites"][0]["site"].startswith("dispatch  ")
    assert first["call_sites"][0]["delta_bytes"] == 900 * MIB
    # alike: rank 2 holds 256 MiB of 1656 more, rank 6 900 of 2310; embedding and head differ by 610 of 1410
    assert [g["ranks"] for g in fleet["groups"]] == [[0, 1, 3], [2], [4, 5, 7], [6]], fleet["groups"]


def check_growth(fleet):
    for growth in fleet["growth"]:
        slope = 64 * MIB if growth["rank"] == 2 else 0
        for key in ("reserved", "allocated_at_end"):
            assert abs(growth[key]["slope_bytes"] - slope) < 1e-3 and growth[key]["error_bytes"] < 1e-3
            assert growth[key]["growing"] == (growth["rank"] == 2)
    assert fleet["growth"][0]["rank"] == 2
    last = numbers(holdings(2, ITERATIONS), 100)[0]
    assert math.isclose(fleet["growth"][0]["iterations_left"], (4096 * MIB - last) / (64 * MIB), rel_tol=1e-9)
    assert all(g["iterations_left"] is None for g in fleet["growth"][1:])
    survivors = fleet["survivors"]
    assert survivors["delta_bytes"] == 64 * (ITERATIONS - 1) * MIB and survivors["other_delta_bytes"] == 0
    assert [s["site"].split()[0] for s in survivors["call_sites"]] == ["log"]


def check_noisy_slope(folder):
    """A slope with an error: against the textbook's formula."""
    sizes = [100, 180, 190, 310, 330, 470]
    for i, mib in enumerate(sizes):
        write(f"{folder}/noisy/step_{10 * i}/rank0.pickle", snapshot({"a": mib}))
    growth = run(PROGRAM, "--no-charts", f"{folder}/noisy").fleet["growth"][0]
    x = [10 * i for i in range(len(sizes))]
    y = [numbers({"a": mib})[0] for mib in sizes]
    slope, intercept = statistics.linear_regression(x, y)
    rest = sum((b - intercept - slope * a) ** 2 for a, b in zip(x, y))
    error = math.sqrt(rest / (len(x) - 2) / sum((a - statistics.mean(x)) ** 2 for a in x))
    assert math.isclose(growth["reserved"]["slope_bytes"], slope, rel_tol=1e-9)
    assert math.isclose(growth["reserved"]["error_bytes"], error, rel_tol=1e-9)


def check_oom(folder):
    for rank, when in ((0, 9_000_000), (1, 5_000_000), (2, None)):
        write(f"{folder}/oom/rank{rank}.pickle",
              snapshot({"weights": 500}, temporary=50, oom=(700 * MIB, 30 * MIB) if when else None,
                       time_us=when or 1_000_000))
    fleet = run(PROGRAM, "--no-charts", f"{folder}/oom").fleet
    assert [os.path.basename(p) for p in fleet["out_of_memory"]] == ["rank1.pickle", "rank0.pickle"]
    first = next(s for s in fleet["snapshots"] if s["rank"] == 1)
    assert first["ooms"] == 1
    oom = first["first_oom"]
    assert (oom["event"], oom["requested_bytes"], oom["device_free_bytes"]) == (4, 700 * MIB, 30 * MIB)
    assert oom["reserved_bytes"] == (500 + 50 + 2 * 20) * MIB and oom["site"].startswith("too_much  ")


def check_order_and_threads(folder):
    """Neither the order of the operands nor the threads change a byte."""
    parts = sorted(f"{folder}/iteration_{i}" for i in range(1, ITERATIONS + 1))
    want = run(PROGRAM, "-n", "x", "-j", "1", *parts).bytes_without_time()
    for arguments in (["-j", "4", *parts], ["-j", "3", *reversed(parts)], ["-j", "2", *parts, parts[0]],
                      ["-j", "7", f"{folder}/iteration_2/rank3_memory_snapshot.pickle", *parts[::-1]]):
        assert run(PROGRAM, "-n", "x", *arguments).bytes_without_time() == want, arguments


def check_damaged(folder):
    job = f"{folder}/sub/damaged"
    for rank in range(6):
        write(f"{job}/rank{rank}.pickle", snapshot({"weights": 500 + rank}))
    whole = open(f"{job}/rank1.pickle", "rb").read()
    open(f"{job}/rank1.pickle", "wb").write(whole[:len(whole) // 2])
    open(f"{job}/rank2.pickle", "wb").close()
    open(f"{job}/rank3.pickle", "wb").write(b"cos\nsystem\n(S'true'\ntR.")
    os.remove(f"{job}/rank4.pickle")
    open(f"{job}/notes.txt", "w").write("{ nothing }")
    open(f"{job}/looks", "wb").write(whole[:100])  # begins like one, no suffix: skipped
    shutil.copy(f"{job}/rank5.pickle", f"{job}/rank6")  # begins like one, no suffix: a snapshot
    os.symlink("nowhere", f"{job}/rank7.pickle")
    os.symlink(".", f"{job}/loop")
    os.symlink("..", f"{job}/up")
    os.mkfifo(f"{job}/pipe.pickle")
    done = run(PROGRAM, job, code=3)
    errors = {s["rank"]: s["error"] for s in done.fleet["snapshots"] if f"{job}/rank" in s["path"]}
    assert set(errors) == {0, 1, 2, 3, 5, 6, 7}, errors
    assert [r for r, e in sorted(errors.items()) if e] == [1, 2, 3, 7], errors
    assert done.fleet["missing_ranks"] == [4], done.fleet["missing_ranks"]
    for rank in (1, 2, 3, 7):
        assert f"rank{rank}.pickle: " in done.err
    assert "looks" not in done.err and "notes" not in done.err
    bad = next(s for s in done.fleet["snapshots"] if s["rank"] == 2)
    assert bad["totals"] is None and bad["peaks"] is None
    run(PROGRAM, f"{folder}/not_there.pickle", code=3)
    os.makedirs(f"{folder}/empty", exist_ok=True)
    assert "no snapshot found" in run(PROGRAM, f"{folder}/empty", code=3).err
    run(PROGRAM, code=2)
    run(PROGRAM, "--pattern", "{bad}", job, code=2)
    run(PROGRAM, "--gpu", "abacus", job, code=2)


def check_results_inside(folder):
    """Our own run directories are not snapshots, and nothing is written beside them."""
    job = f"{folder}/inside"
    write(f"{job}/rank0.pickle", snapshot({"weights": 5}))
    for _ in range(2):
        done = run(PROGRAM, ".", cwd=job, results="results")
        assert done.code == 0
    assert sorted(os.listdir(job)) == ["rank0.pickle", "results"]
    names = sorted(os.listdir(f"{job}/results"))
    assert names[-1] == "latest" and len(names) == 3 and all("_fleet" in n for n in names[:2]), names
    found = run(PROGRAM, job, code=3).fleet["snapshots"]  # but with other --results they are JSON like any other
    assert len([s for s in found if s["error"]]) == 2 and len(found) == 3


def check_hostile_names(folder):
    job = f"{folder}/hostile"
    names = ["=1+1 rank0.pickle", "rank1 \x1b[31m`<script>|@all.pickle", "rank2\n# head.pickle", "'\"rank3;.pickle",
             "rank4,\u202e.pickle"]
    for i, name in enumerate(names):
        write(f"{job}/{name}", snapshot({f"</td><script>{i}": 10}))
    with open(os.fsencode(f"{job}/rank5") + b"_\xff\xfe.pickle", "wb") as file:
        file.write(b"\x80\x04broken")
    done = run(PROGRAM, job, code=3)
    assert {s["rank"] for s in done.fleet["snapshots"]} == set(range(6))
    text = done.files["fleet_report.txt"].decode()
    assert all(len(line) <= 80 for line in text.split("\n")) and "\x1b" not in text + done.err
    rows = list(csv.reader(io.StringIO(done.files["fleet.csv"].decode())))
    assert len(rows) == 7 and all(len(r) == 13 for r in rows)
    outside_code = re.sub(r"(`+).*?\1", "", done.files["README.md"].decode())
    assert "<script>" not in outside_code and "\x1b" not in outside_code


def check_absurd_sizes(folder):
    """Numbers that no memory has: an answer, no matter which, and no accident."""
    huge = 2 ** 63 - 1
    for iteration in range(4):
        for rank in range(5):
            value = snapshot({"weights": 10, "more": 20}, temporary=5, oom=(huge, huge))
            if rank != 1:
                for segment in value["segments"]:
                    segment["total_size"] = [huge, 1, 2 ** 62, 0, huge][rank] - iteration % 2
                    segment["blocks"][0]["size"] = [1, huge, huge, huge, huge][rank] - iteration
                for event in value["device_traces"][0]:
                    event["size"] = [huge, 1, 2 ** 62, huge, 0][(rank + iteration) % 5]
            write(f"{folder}/absurd/iter{iteration}/rank{rank}.pickle", value)
    done = run(PROGRAM, "--memory", "1KiB", f"{folder}/absurd", code=None)
    assert done.code in (0, 3) and len(done.fleet["snapshots"]) == 20, (done.code, done.err)


def check_many(folder):
    """Hundreds of files, ranks without iterations; more rows than the heat map has cells."""
    for rank in range(400):
        write(f"{folder}/many/node{rank // 8}/rank{rank}.pickle", snapshot({"weights": 10 + rank % 7}))
    done = run(PROGRAM, f"{folder}/many")
    assert len(done.fleet["snapshots"]) == 400 and done.fleet["missing_ranks"] == []
    assert [s["rank"] for s in done.fleet["snapshots"]] == list(range(400))
    assert len(done.files["README.md"]) < 65000


def check_pattern(folder):
    for iteration in (3, 20):
        for rank in (0, 1, 2):
            write(f"{folder}/odd/job9/it{iteration}/r{rank}.pickle", snapshot({"weights": 10}))
    fleet = run(PROGRAM, "--no-charts", "--pattern", "job*/it{iteration}/r{rank}.pickle", f"{folder}/odd").fleet
    assert [(s["rank"], s["iteration"]) for s in fleet["snapshots"]] == [(r, i) for r in (0, 1, 2) for i in (3, 20)]
    assert all(s["rank"] is None for s in run(PROGRAM, "--no-charts", f"{folder}/odd").fleet["snapshots"])


def check_each(folder):
    done = run(PROGRAM, "--each", "--no-charts", f"{folder}/oom")
    assert done.code == 0
    assert sum("_rank" in name for name in done.runs) == 3 and "latest" in done.runs, done.runs
    assert "fleet.json" in done.files  # latest is the page


def check_resume(folder):
    """Killed in the middle: nothing half-made, and the next run reads only what was not finished."""
    job, results = f"{folder}/long", f"{folder}/long_results"
    for rank in range(300):
        value = snapshot({f"site{i}": 1 + (rank + i) % 5 for i in range(120)})
        write(f"{job}/rank{rank}.pickle", value)
    want = run(PROGRAM, "-n", "x", job).bytes_without_time()
    process = subprocess.Popen([PROGRAM, "-q", "-n", "x", "-j", "1", "-o", results, job])
    kept = os.path.join(results, ".gmfleet")
    deadline = time.monotonic() + 60
    while not (os.path.isdir(kept) and len(os.listdir(kept)) >= 8) and time.monotonic() < deadline:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = len([n for n in os.listdir(kept) if not n.endswith(".part")])
    assert 5 <= finished < 300, finished
    assert [n for n in os.listdir(results) if not n.startswith(".")] == []
    victim = sorted(n for n in os.listdir(kept) if not n.endswith(".part"))[0]
    with open(os.path.join(kept, victim), "r+b") as file:  # one that was damaged is read again
        file.seek(40)
        file.write(b"\xff\xff")
    done = run(PROGRAM, "-n", "x", "--resume", job, results=results)
    assert f"{finished - 1} of 300 snapshots were finished before" in done.err, (finished, done.err)
    assert done.bytes_without_time() == want
    assert not os.path.exists(kept), os.listdir(kept)


def main():
    with tempfile.TemporaryDirectory() as folder:
        job = f"{folder}/job"
        make_job(job)
        fleet, _ = check_numbers(job)
        check_odd_ranks(fleet)
        check_growth(fleet)
        check_noisy_slope(folder)
        check_oom(folder)
        check_order_and_threads(job)
        check_damaged(folder)
        check_results_inside(folder)
        check_hostile_names(folder)
        check_absurd_sizes(folder)
        check_many(folder)
        check_pattern(folder)
        check_each(folder)
        check_resume(folder)
    print("gmfleet: all as computed by hand")
    return 0


if __name__ == "__main__":
    sys.exit(main())
