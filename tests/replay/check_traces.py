# SPDX-License-Identifier: Apache-2.0
"""Traces of the naive allocator, under random settings, through gmreplay: verification agrees with all of them, also if
the beginning of the trace is lost, and a what-if with the same settings and memory ends with the same statistics.
usage: check_traces.py GMREPLAY [ROUNDS [SEED]]"""
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile

from random_operations import play, random_settings
from reference_allocator import MIB, UNLIMITED, Allocator


class Recorder(Allocator):
    """Keeps its events as a snapshot has them; the stack names the operation."""

    def __init__(self, *arguments):
        self.operation, self.trace, self.has_waited, self.waited = 0, [], False, []
        super().__init__(*arguments)

    def event(self, action, address, size, stream, pool=None):
        super().event(action, address, size, stream)
        event = {"action": action, "size": size, "stream": stream, "time_us": 1000 + len(self.trace)}
        if pool is not None:
            event["pool_id"] = (0, pool.id)
        event["device_free" if action == "oom" else "addr"] = address
        if action not in ("free_requested", "free_completed"):
            event["frames"] = [{"name": str(self.operation), "filename": "x.py", "line": 1}]
        self.trace.append(event)

    def release(self, block):
        super().release(block)
        self.waited = list(self.pending)

    def malloc(self, requested, stream, pool_id=0):
        """cudaFree waits for the device: the next request finds frees complete that were pending then."""
        if pool_id == 0:
            for block in self.waited:
                if block.pending and block.pool.id == 0:
                    self.free_completed(block)
            self.waited = []
        return super().malloc(requested, stream, pool_id)

    def release_cached(self):
        """A retry that waits for frees: in a trace they look like frees before the request."""
        self.has_waited = self.has_waited or self.operation != "empty_cache" and bool(self.pending)
        super().release_cached()


def settings_of(settings, text):
    return {"PYTORCH_CUDA_ALLOC_CONF": text, "expandable_segments": settings.expandable,
            "max_split_size": -1 if settings.max_split == UNLIMITED else settings.max_split,
            "garbage_collection_threshold": settings.gc, **({"max_cached_size": -1} if settings.ties == "segment" else {}),
            "roundup_power2_divisions": {str(1 << i): d for i, d in enumerate(settings.divisions)}}


def run(path, *options):
    done = subprocess.run([sys.argv[1], "--json", "-", *options, path], capture_output=True, check=False)
    if done.returncode > 1:
        return {"verdict": f"exit {done.returncode}: {done.stderr.decode()}", "devices": [{"first_mismatch": None}]}
    return json.loads(done.stdout)


def has_slack(snapshot, cut):
    """Whether a block lives at `cut` whose slack the rest of the trace may not show: freed later, large."""
    born = {e["addr"] for e in snapshot["device_traces"][0][:cut] if e["action"] == "alloc"}
    return any(e["action"] == "free_completed" and e["size"] > MIB and e["addr"] in born
               for e in snapshot["device_traces"][0][cut:])


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    wrong, allocs, replayed, cuts, uncertain, uncounted = 0, 0, 0, [0, 0], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.pickle")
        for seed in range(first, first + rounds):
            rng = random.Random(seed)
            settings, text = random_settings(rng)
            if settings.expandable and settings.large_segment != 20 * MIB:
                continue  # whose pages the history takes for those of the small pool
            # Events that name their pools are from PyTorch 2.12 or later.
            whose = ["--torch", "2.10"] if settings.ties == "lowest" else []
            capacity = rng.choice([400, 1000, 4000]) * MIB
            model = Recorder(settings, capacity)
            play(rng, model, rng.choice([60, 300, 700]), toggles=False)
            snapshot = {"segments": model.snapshot_segments(), "device_traces": [model.trace],
                        "allocator_settings": settings_of(settings, text), "external_annotations": []}
            events = list(model.trace)
            for cut in (0, rng.randrange(len(events))):
                snapshot["device_traces"] = [events[cut:]]
                if cut == len(events):
                    continue
                with open(path, "wb") as file:
                    pickle.dump(snapshot, file)
                found = run(path, "--verify", *whose)
                device = found["devices"][0]
                allocs += device.get("allocs", 0)
                snapshot["device_traces"] = [events]
                cuts[cut > 0] += 1
                uncounted += cut == 0 and device.get("num_alloc_retries") != model.counts["num_alloc_retries"]
                if cut == 0 and device.get("num_ooms") != model.counts["num_ooms"]:
                    wrong += 1
                    print(f"seed {seed}, '{text}': {device.get('num_ooms')} ooms, not {model.counts['num_ooms']}")
                if found["verdict"] == "PASS":
                    continue
                if cut > 0 and has_slack(snapshot, cut):
                    uncertain += 1
                    continue
                wrong += 1
                print(f"seed {seed}, '{text}', from event {cut}: {found['verdict']}, {device['first_mismatch']}")
            if model.counts["num_ooms"] > 0 or model.has_waited:
                continue
            with open(path, "wb") as file:
                pickle.dump(snapshot, file)
            found = run(path, *whose, "--alloc-conf", text, "--memory", str(capacity))["devices"][0].get("memory_stats", {})
            replayed += 1
            for line in model.statistics():
                name, *values = line.split()
                values = [int(v) for v in values]
                is_ = [found.get(f"{name}.{k}") for k in ("current", "peak", "allocated", "freed")]
                is_ = is_ if len(values) == 4 else [found.get(name)]
                if is_ != values and name != "num_sync_all_streams":  # a call that freed nothing leaves no trace
                    wrong += 1
                    print(f"seed {seed}, '{text}': what-if: {name} is {is_}, should be {values}")
                    break
    print(f"{cuts[0]} traces and {cuts[1]} without their beginning, {allocs} allocations: {wrong} wrong, {uncertain} "
          f"with blocks of unknown slack at the start; {replayed} replayed as what-if; {uncounted} where the number of "
          "retries is another one")
    # A retry that gave nothing back, or all that garbage collection had left, cannot be told apart by its events.
    sys.exit(1 if wrong or not replayed or uncounted * 10 > cuts[0] else 0)


main()
