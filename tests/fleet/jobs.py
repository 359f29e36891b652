# SPDX-License-Identifier: Apache-2.0
"""Made-up jobs: snapshots whose numbers are known because they are made here, and a way to run gmfleet on them."""
import json
import os
import pickle
import shutil
import subprocess
import tempfile

MIB = 1 << 20


def frame(function, file="train.py", line=1):
    return {"name": function, "filename": file, "line": line}


def snapshot(holdings, temporary=0, oom=None, time_us=1_000_000):
    """`holdings`: {function: MiB}, each one block, live at the end. `temporary`: MiB freed again, allocated last: it makes
    the peak. Each block has a segment of its own, 20 MiB larger than it where it is larger than 10 MiB."""
    segments, trace, address = [], [], 0x7000000000
    for function, mib in list(holdings.items()) + ([("temporary", temporary)] if temporary else []):
        size = mib * MIB
        total = size + 20 * MIB
        frames = [frame(function)]
        is_live = function != "temporary"
        used = {"address": address, "size": size, "requested_size": size, "frames": frames,
                "state": "active_allocated" if is_live else "inactive"}
        rest = {"address": address + size, "size": 20 * MIB, "requested_size": 0, "state": "inactive", "frames": []}
        blocks = [used, rest] if is_live else [{**rest, "address": address, "size": total}]
        segments.append({"device": 0, "address": address, "total_size": total, "stream": 0, "segment_type": "large",
                         "allocated_size": size if is_live else 0, "active_size": size if is_live else 0,
                         "requested_size": size if is_live else 0, "segment_pool_id": (0, 0), "is_expandable": False,
                         "frames": frames, "blocks": blocks})

        def event(action, n):
            return {"action": action, "addr": address, "size": n, "stream": 0, "time_us": time_us + len(trace),
                    "frames": frames}
        trace += [event("segment_alloc", total), event("alloc", size)]
        if not is_live:
            if oom:
                trace.append({"action": "oom", "device_free": oom[1], "size": oom[0], "stream": 0,
                              "time_us": time_us + len(trace), "frames": [frame("too_much")]})
            trace += [event("free_requested", size), event("free_completed", size)]
        address += 1 << 36
    return {"segments": segments, "device_traces": [trace], "allocator_settings": {}, "external_annotations": []}


def numbers(holdings, temporary=0):
    """By hand: (peak reserved, peak allocated, reserved, allocated)."""
    held = sum(holdings.values())
    n = len(holdings) + (temporary > 0)
    reserved = (held + temporary + 20 * n) * MIB
    return reserved, (held + temporary) * MIB, reserved, held * MIB


def write(path, value):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        pickle.dump(value, file, protocol=4)


def write_long(job, ranks=300):
    """Ranks that take far longer than the beginning of a run, of which nothing is kept."""
    for rank in range(5):
        write(f"{job}/rank{rank}.pickle", snapshot({f"site{i}": 1 + (rank + i) % 5 for i in range(2000)}))
    for rank in range(5, ranks):
        shutil.copyfile(f"{job}/rank{rank % 5}.pickle", f"{job}/rank{rank}.pickle")


class Done:
    def __init__(self, process, results):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr.decode(errors="replace")
        self.files, self.runs = {}, sorted(n for n in os.listdir(results)) if os.path.isdir(results) else []
        latest = os.path.join(results, "latest")
        for name in os.listdir(latest) if os.path.isdir(latest) else []:
            with open(os.path.join(latest, name), "rb") as file:
                self.files[name] = file.read()
        self.fleet = json.loads(self.files["fleet.json"]) if "fleet.json" in self.files else None

    def bytes_without_time(self):
        out = {}
        for name, data in self.files.items():
            if self.fleet and self.fleet["created"]:
                data = data.replace(self.fleet["created"].encode(), b"TIME")
            out[name] = data
        return out


def run(program, *arguments, code=0, cwd=None, results=None, launcher=(), env=None, timeout=None):
    with tempfile.TemporaryDirectory() as folder:
        where = results or os.path.join(folder, "results")
        command = [*launcher, program, "-o", where, *map(str, arguments)]
        process = subprocess.run(command, capture_output=True, check=False, cwd=cwd, timeout=timeout,
                                 env={**os.environ, **env} if env else None)
        done = Done(process, where)
    if code is not None and done.code != code:
        raise AssertionError(f"{command}: exit {done.code}, not {code}: {done.err}")
    return done
