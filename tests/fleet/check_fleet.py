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
from jobs import MIB, numbers, run, snapshot, write, write_long  # noqa: E402

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
    assert set(done.files) - {"memory.html"} == {"fleet_report.txt", "README.md", "fleet.json", "fleet.csv",
                                                 "fleet_heatmap.png", "fleet_growth.png"}
    if "memory.html" in done.files:  # else it was built without its toolchain
        assert done.files["memory.html"].count(b'class="gm-run" data-name=') == RANKS
    return fleet, done


def check_odd_ranks(fleet, done):
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
    rank_of = {s["path"]: s["rank"] for s in fleet["snapshots"]}
    for odd in fleet["odd_ranks"]:
        against = rank_of[odd["against"]]
        assert odd["by_group"] and against == {2: 0, 6: 4}[odd["rank"]], odd
        total = sum(s["delta_bytes"] for s in odd["call_sites"]) + odd["other_delta_bytes"]
        assert total == odd["delta_bytes"] == odd["held_delta_bytes"] == (held[odd["rank"]] - held[against]) * MIB
        assert len(odd["call_sites"]) == 1  # against a rank of its own stage, nothing else differs
    first = fleet["odd_ranks"][0]
    assert first["rank"] == 6 and first["call_sites"][0]["site"].startswith("dispatch  ")
    assert first["call_sites"][0]["delta_bytes"] == 900 * MIB
    # rank 2 is compared with rank 0 as odd and as a group: told once
    for name in ("fleet_report.txt", "README.md"):
        text = done.files[name].decode()
        assert text.count("odd: see above") == 1 and len(re.findall(r"\blog\b", text)) == 2, text  # and in its growth
    # alike: rank 2 holds 256 MiB of 1656 more, rank 6 900 of 2310; embedding and head differ by 610 of 1410
    assert [g["ranks"] for g in fleet["groups"]] == [[0, 1, 3], [2], [4, 5, 7], [6]], fleet["groups"]


def check_stages(folder, big, is_far):
    """Stages of very different size hide the odd rank of one from the median of all; its stage does not. In a stage
    cache counts against its own median. A stage as such is not odd."""
    for rank in range(18):
        held = [{"weights": 1000}, {"weights": 1000, "layers": 1500}, {"weights": 1000, "layers": 3000}][rank // 6]
        if rank == 13:
            held["dispatch"] = big
        value = snapshot(held)
        if rank == 3:  # the same blocks, but a segment that is cached
            value["segments"].append({**value["segments"][0], "address": 1 << 50, "total_size": 300 * MIB,
                                      "allocated_size": 0, "active_size": 0, "requested_size": 0, "blocks": [
                                          {"address": 1 << 50, "size": 300 * MIB, "requested_size": 0,
                                           "state": "inactive", "frames": []}]})
        write(f"{folder}/stages/rank{rank}.pickle", value)
    done = run(PROGRAM, "--no-charts", f"{folder}/stages")
    assert [(o["rank"], o["by_held"], o["by_reserved"], o["by_group"]) for o in done.fleet["odd_ranks"]] == [
        (13, is_far, is_far, True), (3, False, True, False)], done.fleet["odd_ranks"]
    stray, cached = done.fleet["odd_ranks"]
    assert os.path.basename(stray["against"]) == "rank12.pickle" and stray["reserved_delta_bytes"] == (big + 20) * MIB
    assert [(s["site"].split()[0], s["delta_bytes"]) for s in stray["call_sites"]] == [("dispatch", big * MIB)]
    assert os.path.basename(cached["against"]) == "rank0.pickle" and cached["reserved_delta_bytes"] == 300 * MIB
    assert cached["call_sites"] == [] and cached["held_delta_bytes"] == 0
    for name in ("fleet_report.txt", "README.md"):
        assert "iB against rank 12" in done.files[name].decode(), name


def check_doubles(folder):
    """Several snapshots of one rank and iteration are one rank: they do not make an iteration the fullest."""
    for rank in range(4):
        write(f"{folder}/doubles/iter1/rank{rank}.pickle", snapshot({"weights": 100}))
    for copy in range(6):
        write(f"{folder}/doubles/iter2/part{copy}/rank0.pickle", snapshot({"weights": 100 + copy}))
    done = run(PROGRAM, "--no-charts", f"{folder}/doubles")
    fleet = done.fleet
    assert fleet["compared"]["iteration"] == 1 and fleet["duplicates"] == 5
    assert [(c["snapshots"], c["ranks"], c["missing_ranks"]) for c in fleet["iterations"]] == [(4, 4, 0), (6, 1, 3)]
    assert fleet["iterations"][1]["reserved"]["mean_bytes"] == numbers({"weights": 105})[0]


def truncate(path):
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) // 2)


def check_mistyped(folder):
    """A path that is not there makes no page, and `latest` stays."""
    os.makedirs(f"{folder}/pages/earlier")
    os.symlink("earlier", f"{folder}/pages/latest")
    done = subprocess.run([PROGRAM, "-o", f"{folder}/pages", f"{folder}/snpashots"], capture_output=True, check=False)
    assert done.returncode == 3 and b"no page was made" in done.stderr, done
    assert sorted(os.listdir(f"{folder}/pages")) == ["earlier", "latest"], os.listdir(f"{folder}/pages")
    assert os.readlink(f"{folder}/pages/latest") == "earlier"


def check_odd_beside_damaged(folder):
    """A rank that cannot be read hides no odd one, in whatever iteration it is missing, and is told to be left out."""
    def job(name, iterations):
        """iterations: {number: {rank: MiB, or None: damaged}}"""
        for iteration, ranks in iterations.items():
            for rank, mib in ranks.items():
                path = f"{folder}/damaged_{name}/iteration_{iteration}/rank{rank}.pickle"
                write(path, snapshot({"weights": mib or 1000}))
                if mib is None:
                    truncate(path)
        bad = any(None in ranks.values() for ranks in iterations.values())
        done = run(PROGRAM, "--no-charts", f"{folder}/damaged_{name}", code=3 if bad else 0)
        report = " ".join(done.files["fleet_report.txt"].decode().split())
        assert ("could not be read and" in " ".join(done.out.decode().split())) == bad, done.out
        odd = {o["rank"]: (o["iteration"], o["odd_iterations"], o["reserved_delta_bytes"] // MIB)
               for o in done.fleet["odd_ranks"]}
        for rank in odd:
            assert f"rank {rank}, iteration {odd[rank][0]}" in done.out.decode().replace("\n" + " " * 9, " "), done.out
        return odd, report, done.fleet

    alike = {0: 1000, 1: 1000, 2: 1000, 3: 1000}
    odd, report, fleet = job("last", {1: alike, 2: {0: 1000, 1: 1000, 2: 2000, 3: None}})
    assert odd == {2: (2, 1, 1000)} and fleet["compared"]["iteration"] == 2, (odd, fleet["compared"])
    assert " alike there" not in report and [g["ranks"] for g in fleet["groups"]] == [[0, 1], [2]]
    odd, report, _ = job("first", {1: {0: None, 1: 1000, 2: 2000, 3: 1000}, 2: alike})
    assert odd == {2: (1, 1, 1000)} and "All 4 ranks that were read are alike there" in report, odd
    odd, _, _ = job("each", {1: {0: None, 1: 1000, 2: 2000, 3: 1000}, 2: {0: 1000, 1: None, 2: 2500, 3: 1000},
                             3: {0: 1000, 1: 1000, 2: 2000, 3: None}})
    assert odd == {2: (2, 3, 1500)}, odd
    odd, _, _ = job("several", {1: {**alike, 1: 1500, 4: None}, 2: {**alike, 0: None, 3: 400, 4: 1000},
                                3: {**alike, 4: 1000}})
    assert odd == {1: (1, 1, 500), 3: (2, 1, -600)}, odd
    odd, report, fleet = job("two", {1: {0: 1000, 1: 2000, 2: None}, 2: {0: None, 1: 1000, 2: 2000}})
    assert odd == {} and fleet["iterations_compared"] == 0 and fleet["compared"]["typical"] is None
    assert "Fewer than three ranks were read at iteration 1, iteration 2: which one is odd there" in report, report
    odd, report, _ = job("some", {1: alike, 2: {0: 1000, 1: None, 2: 2000}})
    assert odd == {} and "Fewer than three ranks were read at iteration 2: which" in report


def check_nothing_read(folder):
    """Without a snapshot that can be read nothing is written and `latest` stays; one operand of several that is not
    there is told, and the others are the page."""
    results = f"{folder}/nothing_results"
    good = f"{folder}/oom"
    run(PROGRAM, "--no-charts", good, results=results)
    before = sorted(os.listdir(results)), os.readlink(f"{results}/latest")
    bad = f"{folder}/bad/rank0.pickle"
    write(bad, snapshot({"weights": 10}))
    truncate(bad)
    for operands in ([f"{folder}/no/such/dir"], [f"{folder}/no1", f"{folder}/no2"], [bad], [f"{folder}/bad"],
                     [f"{folder}/bad", f"{folder}/no1"]):
        for more in ([], ["--each"], ["--json", f"{folder}/nothing.json"]):
            done = run(PROGRAM, "--no-charts", *more, *operands, results=results, code=3)
            assert done.err.count("\n") == len(operands) + 1 and "no snapshot could be read" in done.err, done.err
            assert (sorted(os.listdir(results)), os.readlink(f"{results}/latest")) == before
            assert not os.path.exists(f"{folder}/nothing.json") and done.out == b""
    done = run(PROGRAM, "--no-charts", f"{folder}/no1", good, results=results, code=3)
    assert "no1: cannot open: No such file or directory" in done.err and done.err.count("\n") == 1
    assert [s["path"] for s in done.fleet["snapshots"] if s["error"]] == [f"{folder}/no1"]
    assert len(done.fleet["snapshots"]) == 4 and os.readlink(f"{results}/latest") != before[1]


def check_two_devices(folder):
    """The fullest device is full first, however empty the other one is."""
    for iteration in range(1, 5):
        value, other = snapshot({"log": 100 * iteration}), snapshot({"context": 1})
        for segment in other["segments"]:
            segment["device"] = 1
        value["segments"] += other["segments"]
        value["device_traces"] += other["device_traces"]
        write(f"{folder}/two/iter{iteration}/rank0.pickle", value)
    assert "fleet_growth.png" not in run(PROGRAM, f"{folder}/two/iter1").files
    growth = run(PROGRAM, "--no-charts", "--memory", "1GiB", f"{folder}/two").fleet["growth"][0]
    assert growth["reserved"]["growing"] and growth["iterations_left"] == (1024 - 420) / 100, growth


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
    assert growth["reserved"]["growing"] and slope > 2.776 * error  # Student's t, 4 degrees of freedom
    for i, mib in enumerate((100, 103, 110)):  # 2.9 errors, but of one degree of freedom: it takes 12.7
        write(f"{folder}/few/step_{i}/rank0.pickle", snapshot({"a": mib}))
    assert not run(PROGRAM, "--no-charts", f"{folder}/few").fleet["growth"][0]["reserved"]["growing"]


def check_oom(folder):
    for rank, when in ((0, 9_000_000), (1, 5_000_000), (2, None)):
        write(f"{folder}/oom/rank{rank}.pickle",
              snapshot({"weights": 500}, temporary=50, oom=(700 * MIB, 30 * MIB) if when else None,
                       time_us=when or 1_000_000))
    done = run(PROGRAM, "--no-charts", f"{folder}/oom")
    fleet = done.fleet
    readme = done.files["README.md"].decode()
    assert ", 3 ranks.\n" in readme and readme.index("\n- rank 1 ran out") < readme.index("\n- rank 0 ran out"), readme
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
    open(f"{job}/config.json", "w").write('{"seed": 1}')  # reported, but no rank of the job
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
    assert [os.path.basename(s["path"]) for s in done.fleet["snapshots"] if s["rank"] is None] == ["config.json"]
    assert "config.json: " in done.err and "config.json" in done.files["README.md"].decode()
    assert ", 7 ranks\n" in done.files["fleet_report.txt"].decode()
    assert done.files["fleet_report.txt"].count(b"config.json") == 1  # no row of the table
    assert done.fleet["missing_ranks"] == [4], done.fleet["missing_ranks"]
    assert "No snapshot at all of rank 4." in done.files["README.md"].decode()
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
    assert "did you mean 'h100-80'?" in run(PROGRAM, "--gpu", "h10", job, code=2).err
    assert "did you mean '--resume'?" in run(PROGRAM, "--resum", job, code=2).err
    assert "\nh100-80 " in subprocess.run([PROGRAM, "--gpu", "list"], capture_output=True, check=True).stdout.decode()


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


def check_json_place(folder):
    """--json never overwrites what is read."""
    victim = f"{folder}/oom/rank0.pickle"
    before = open(victim, "rb").read()
    done = run(PROGRAM, "--no-charts", "--json", victim, f"{folder}/oom", code=2)
    assert "overwrite" in done.err and open(victim, "rb").read() == before


def check_results_place(folder):
    """That results cannot be written is said before anything is read: from standard input nothing ever comes."""
    with open(f"{folder}/file", "w", encoding="ascii") as file:
        file.write("mine")
    reader, writer = os.pipe()
    for more in ("--no-charts",), ("-j", "2"):
        done = subprocess.run([PROGRAM, *more, "-o", f"{folder}/file/deeper", "-"], stdin=reader, capture_output=True,
                              text=True, timeout=100)
        assert done.returncode == 5 and done.stderr.count("\n") == 1 and "Not a directory" in done.stderr, done
    os.close(writer)
    os.close(reader)


def check_each(folder):
    done = run(PROGRAM, "--each", "--no-charts", f"{folder}/oom")
    assert done.code == 0
    assert sum("_rank" in name for name in done.runs) == 3 and "latest" in done.runs, done.runs
    assert "fleet.json" in done.files  # latest is the page


def check_each_alike(folder):
    """Files of one name: whose run is called how does not hang on which thread is done first."""
    for i in range(6):
        write(f"{folder}/alike/{'abcdef'[i]}/s.pickle", snapshot({"weights": 10 + 40 * (i % 2)}))
    for _ in range(4):
        done = run(PROGRAM, "--each", "--no-charts", "-j", "4", f"{folder}/alike")
        made = {s["path"]: s["run_directory"].rsplit("/", 1)[1].split("_", 2)[2] for s in done.fleet["snapshots"]}
        assert [made[path] for path in sorted(made)] == ["s"] + [f"s_{n}" for n in range(2, 7)], made


def check_resume_of_copies(folder):
    """Files of the same bytes and time: what this run does is not what an earlier one had finished, and with --each
    every path has a run directory of its own."""
    job, results = f"{folder}/copies", f"{folder}/copies_results"
    write(f"{job}/rank0.pickle", snapshot({"weights": 10}))
    for rank in range(1, 5):
        os.link(f"{job}/rank0.pickle", f"{job}/rank{rank}.pickle")
    for more in ([], ["--each"]):
        done = run(PROGRAM, "--no-charts", "--resume", *more, job, results=results)
        assert "finished before" not in done.err, done.err
    made = [s["run_directory"] for s in done.fleet["snapshots"]]
    assert len(set(made)) == 5 and all(os.path.isdir(path) for path in made), made
    assert [path.rsplit("_", 1)[1] for path in made] == [f"rank{rank}" for rank in range(5)]


def check_resume_of_failure(folder):
    """A run directory that --each could not write (files of 4 KB at most) is not kept as finished."""
    job, results = f"{folder}/copies", f"{folder}/full_results"
    limited = f"trap '' XFSZ; ulimit -f 8; exec '{PROGRAM}' --no-charts -j 1 -o '{results}' '{job}'"
    for each in ("", " --each"):  # neither writes its page
        done = subprocess.run(["sh", "-c", limited + each], capture_output=True, check=False)
        assert done.returncode == 5, (done.returncode, done.stderr)
        assert set(os.listdir(results)) <= {".gmfleet"}, os.listdir(results)
    lines = done.stderr.decode().splitlines()
    assert len([n for n in lines if "rank0.pickle: --each: cannot write " in n]) == 1, lines
    assert "rank0.pickle: cannot" not in done.stderr.decode() and "\ufffd" not in done.stderr.decode()
    done = run(PROGRAM, "--resume", "--each", "--no-charts", job, results=results)
    assert "finished before" not in done.err, done.err
    assert all(os.path.isdir(s["run_directory"]) for s in done.fleet["snapshots"])


def fnv(data):
    """FNV-1a, 64 bits."""
    total = 0xcbf29ce484222325
    for byte in data:
        total = (total ^ byte) * 0x100000001b3 % 2 ** 64
    return total


def check_resume(folder):
    """Killed in the middle: nothing half-made, and the next run reads only what was not finished."""
    job, results = f"{folder}/long", f"{folder}/long_results"
    for ranks in (40, 80, 300):  # where a program takes its time, some do
        write_long(job, ranks)
        begun = time.monotonic()
        want = run(PROGRAM, "-n", "x", "-j", "1", job).bytes_without_time()
        if time.monotonic() - begun > 1:
            break
    process = subprocess.Popen([PROGRAM, "-q", "-n", "x", "-j", "1", "-o", results, job])
    kept = os.path.join(results, ".gmfleet")
    deadline = time.monotonic() + 60
    while not (os.path.isdir(kept) and len(os.listdir(kept)) >= 8) and time.monotonic() < deadline:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = len([n for n in os.listdir(kept) if not n.startswith(".")])
    assert 5 <= finished < ranks, finished
    assert [n for n in os.listdir(results) if not n.startswith(".")] == []
    victims = sorted(n for n in os.listdir(kept) if not n.startswith("."))[:5]
    for i, victim in enumerate(victims):  # those that were damaged are read again, also if their checksum is right
        with open(os.path.join(kept, victim), "rb") as file:
            whole = file.read()
        body = whole[:-8]
        assert fnv(body) == int.from_bytes(whole[-8:], "little")
        body = [body[:40] + b"\xff\xff" + body[42:], body[:len(body) // 2], body + b"more", body[:16],
                body[:len(body) // 2] + b"\xff" * 32 + body[len(body) // 2 + 32:]][i]
        with open(os.path.join(kept, victim), "wb") as file:
            file.write(body + (whole[-8:] if i == 0 else fnv(body).to_bytes(8, "little")))
    done = run(PROGRAM, "-n", "x", "--resume", job, results=results)
    assert f"{finished - 5} of {ranks} snapshots were finished before" in done.err, (finished, done.err)
    assert done.bytes_without_time() == want
    assert not os.path.exists(kept), os.listdir(kept)


def main():
    with tempfile.TemporaryDirectory() as folder:
        job = f"{folder}/job"
        make_job(job)
        fleet, done = check_numbers(job)
        check_odd_ranks(fleet, done)
        check_growth(fleet)
        check_noisy_slope(folder)
        check_stages(folder, 400, False)
        check_stages(folder, 9000, True)  # most of what it holds
        check_doubles(folder)
        check_mistyped(folder)
        check_odd_beside_damaged(folder)
        check_two_devices(folder)
        check_oom(folder)
        check_nothing_read(folder)
        check_order_and_threads(job)
        check_damaged(folder)
        check_results_inside(folder)
        check_hostile_names(folder)
        check_absurd_sizes(folder)
        check_many(folder)
        check_pattern(folder)
        check_json_place(folder)
        check_results_place(folder)
        check_each(folder)
        check_each_alike(folder)
        check_resume_of_copies(folder)
        check_resume_of_failure(folder)
        check_resume(folder)
    print("gmfleet: all as computed by hand")
    return 0


if __name__ == "__main__":
    sys.exit(main())
