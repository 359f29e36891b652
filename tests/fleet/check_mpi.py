# SPDX-License-Identifier: Apache-2.0
"""gmfleet by several processes: the bytes of one process; a process killed in the middle, and --resume after it; and a
build that lacks MPI says so. usage: check_mpi.py GMFLEET"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from jobs import run, snapshot, write, write_long  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
SKIPPED = 77
MODULE = os.path.join(os.path.dirname(PROGRAM), "..", "lib", "gmanalyze", "gmfleet_mpi.so")
MPIRUN = ["mpirun", "--oversubscribe"]
# What MPI does not give back is not our leak: gmfleet's own are looked for in check_fleet.
ENV = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def check_without_module(folder):
    """Started as one of several, but no module beside it: exit 4, one message."""
    os.makedirs(f"{folder}/bin")
    lonely = shutil.copy(PROGRAM, f"{folder}/bin/gmfleet")
    for rank, said in ((0, True), (1, False)):
        done = run(lonely, f"{folder}/job", code=4 * said,
                   env={"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": str(rank)})
        assert ("MPI" in done.err) == said, done.err
    assert run(lonely, f"{folder}/job").code == 0


def check_one_unable(folder, job, want):
    """What one machine alone lacks: that process is named, the others do the work; nobody waits for it."""
    with open(f"{folder}/some", "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n[ \"$OMPI_COMM_WORLD_RANK\" = 1 ] && set -- \"$@\" --categories /nowhere/rules\n"
                   f"exec '{PROGRAM}' \"$@\"\n")
    os.chmod(f"{folder}/some", 0o755)
    done = run(f"{folder}/some", "-n", "x", job, launcher=[*MPIRUN, "-n", "3"], env=ENV, timeout=60)
    assert done.err.count("process 1 does not take part") == 1 and "/nowhere/rules" in done.err, done.err
    assert done.bytes_without_time() == want
    done = run(PROGRAM, "--categories", "/nowhere/rules", job, launcher=[*MPIRUN, "-n", "3"], env=ENV, code=3,
               timeout=60)
    assert done.err.count("/nowhere/rules") == 1, done.err


def helpers_of(parent):
    """The processes called gmfleet below `parent` that are not process 0."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                name, rest = file.read().rsplit(")", 1)
            with open(f"/proc/{pid}/environ", "rb") as file:
                env = file.read().split(b"\0")
        except OSError:
            continue
        if name.endswith("(gmfleet") and int(rest.split()[1]) == parent and b"OMPI_COMM_WORLD_RANK=1" in env:
            found.append(int(pid))
    return found


def check_kill(folder):
    job, results = f"{folder}/long", f"{folder}/killed"
    write_long(job)
    want = run(PROGRAM, "-n", "x", job).bytes_without_time()
    kept = os.path.join(results, ".gmfleet")
    with subprocess.Popen([*MPIRUN, "-n", "3", PROGRAM, "-q", "-n", "x", "-o", results, job], env={**os.environ, **ENV},
                          stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not (os.path.isdir(kept) and len(os.listdir(kept)) >= 8) and time.monotonic() < deadline:
            time.sleep(0.001)
        for pid in helpers_of(process.pid):
            os.kill(pid, signal.SIGKILL)
        _, complained = process.communicate(timeout=60)
    assert process.returncode != 0 and b"signal 9" in complained, (process.returncode, complained)
    assert [n for n in os.listdir(results) if not n.startswith(".")] == []
    finished = len([n for n in os.listdir(kept) if not n.endswith(".part")])
    assert finished >= 5
    done = run(PROGRAM, "-n", "x", "--resume", job, results=results, launcher=[*MPIRUN, "-n", "2"], env=ENV)
    assert f"{finished} of " in done.err and "were finished before" in done.err, done.err
    assert done.bytes_without_time() == want
    assert not os.path.exists(kept)


def main():
    if shutil.which("mpirun") is None or not os.path.exists(MODULE):
        print("skipped: no mpirun, or built without MPI")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        job = f"{folder}/job"
        for rank in range(400):
            write(f"{job}/step_{rank % 2}/rank{rank // 2}.pickle",
                  snapshot({f"site{i}": 1 + (rank + i) % 5 for i in range(80)}))
        with open(f"{job}/step_0/rank7.pickle", "r+b") as file:
            file.truncate(1000)
        want = run(PROGRAM, "-n", "x", job, code=3)
        for processes in (1, 2, 4):
            done = run(PROGRAM, "-n", "x", job, launcher=[*MPIRUN, "-n", str(processes)], env=ENV, code=3)
            assert done.bytes_without_time() == want.bytes_without_time(), processes
            assert done.err.count("rank7.pickle: ") == 1
        os.remove(f"{job}/step_0/rank7.pickle")
        check_without_module(folder)
        want = run(PROGRAM, "-n", "x", job).bytes_without_time()
        check_one_unable(folder, job, want)
        check_kill(folder)
        launched = run(PROGRAM, "--no-such-option", launcher=[*MPIRUN, "-n", "2"], env=ENV, code=2)
        assert launched.err.count("--no-such-option") == 1, launched.err
    print("gmfleet by several processes: the same bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
