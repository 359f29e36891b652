# SPDX-License-Identifier: Apache-2.0
"""Holds gmreplay against what PyTorch's allocator did."""
import collections
import itertools
import json
import os
import pickle
import subprocess

UNSEEN = {"num_sync_all_streams"}  # counted for what no event shows
CARD = 80 << 30  # bytes of each device, where nothing else is said
PEAKS = ("reserved", "allocated", "active", "requested")


class Gmreplay:
    def __init__(self, path):
        self.path = path

    def __call__(self, *arguments):
        done = subprocess.run([self.path, "--json", "-", *arguments], capture_output=True, text=True, check=False)
        if done.returncode > 1:
            raise RuntimeError(f"gmreplay {' '.join(arguments)}: exit {done.returncode}: {done.stderr[-500:]}")
        return json.loads(done.stdout)


def by_device(found):
    return {device["device"]: device for device in found["devices"]}


def peaks(answer):
    return {kind: [stats.get(f"{kind}_bytes.all.peak", 0) for stats in answer["stats"]] for kind in PEAKS}


def used(answer):
    return [device for device, stats in enumerate(answer["stats"]) if stats.get("allocation.all.allocated", 0) > 0]


def retries_cause(model, answer, device):
    """Why a recording may not show how many retries there were; None: it does."""
    wrong = answer["stats"][device]["num_alloc_retries"] - model["num_alloc_retries"]
    if wrong == answer["silent_retries"][device]:
        return "a retry that gave nothing back leaves no event"
    is_told = answer["stats"][device].get("num_oom_rejections") is not None
    if wrong == -1 and answer["in_pool"] and not is_told and answer["oom"] and answer["oom"][0] == device:
        return "no event names the pool in which memory ran out"
    return None


def verify(gmreplay, path, answer, *more):
    """What of a recording --verify does not say as it was, as (list of words, none: all is right; addresses; list of
    what the recording cannot show)."""
    found = gmreplay("--verify", *more, path)
    devices, wrong, unseen = by_device(found), [], []
    if found["verdict"] != "PASS":
        wrong.append("verdict " + str(found["verdict"]))
    for device in used(answer):
        stats, model = answer["stats"][device], devices.get(device)
        if model is None:
            wrong.append(f"device {device} is missing")
            continue
        if model["exact_addresses"] != model["allocs"]:
            wrong.append(f"{model['allocs'] - model['exact_addresses']} addresses: {model['first_mismatch']}")
        for key in ("num_alloc_retries", "num_ooms"):
            if model[key] == stats[key]:
                continue
            cause = retries_cause(model, answer, device) if key == "num_alloc_retries" else None
            if cause is None:
                wrong.append(f"{key} {model[key]}, not {stats[key]}")
            else:
                unseen.append(cause)
        for kind in PEAKS:
            if model[f"peak_{kind}_bytes"] != stats[f"{kind}_bytes.all.peak"]:
                wrong.append(f"peak {kind} {model[f'peak_{kind}_bytes']}, not {stats[f'{kind}_bytes.all.peak']}")
    return wrong, sum(device["allocs"] for device in devices.values()), unseen


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def events(snapshot, device):
    traces = snapshot["device_traces"]
    told = [(event["action"], event["size"], event["stream"]) for event in (traces[device] if device < len(traces) else ())
            if event["action"] not in ("oom", "snapshot")]
    return [event for run in runs_of(told) for event in run]


def is_same_trace(one, other):
    """Whether two recordings have the same events at the same addresses."""
    return all([(event["action"], event["size"], event.get("addr")) for event in a] ==
               [(event["action"], event["size"], event.get("addr")) for event in b]
               for a, b in zip(load(one)["device_traces"], load(other)["device_traces"]))


def runs_of(told):
    """Frees that are completed one after the other, for several streams, come in the order of a hash table: sorted."""
    for is_completed, run in itertools.groupby(told, lambda event: event[0] == "free_completed"):
        yield sorted(run) if is_completed else run


def complete_in_order_of(snapshot, other):
    """Frees that are completed one after the other change places, so that they come as in the other recording."""
    for trace, theirs in zip(snapshot["device_traces"], other["device_traces"]):
        places, theirs = told_of(trace), [theirs[at] for at in told_of(theirs)]
        for is_completed, run in itertools.groupby(range(min(len(places), len(theirs))),
                                                   lambda i: trace[places[i]]["action"] == "free_completed"):
            run = list(run)
            wanted = [(theirs[i]["action"], theirs[i]["size"], theirs[i]["stream"]) for i in run]
            mine = sorted((trace[places[i]] for i in run), key=lambda event: place_in(wanted, event))
            for i, event in zip(run if is_completed else (), mine):
                trace[places[i]] = event


def told_of(trace):
    return [at for at, event in enumerate(trace) if event["action"] in ("alloc", "free_requested", "free_completed")]


def place_in(wanted, event):
    key = (event["action"], event["size"], event["stream"])
    return wanted.index(key) if key in wanted else len(wanted)


def requests(snapshot, device):
    """What the program did: each request, and which request's memory it gave up."""
    made, done = {}, []
    traces = snapshot["device_traces"]
    for event in traces[device] if device < len(traces) else ():
        if event["action"] == "alloc":
            made[event["addr"]] = len(done)
            done.append(("alloc", event["stream"]))
        elif event["action"] == "free_requested":
            done.append(("free", made.get(event["addr"])))
    return done


def segments(snapshot, device):
    return sorted((segment["total_size"], segment["segment_type"], segment["stream"], segment.get("is_expandable", False),
                   tuple(segment.get("segment_pool_id", (0, 0))) != (0, 0),
                   tuple((block["size"], block["state"]) for block in segment["blocks"]))
                  for segment in snapshot["segments"] if segment["device"] == device)


def before_the_end(model_snapshot, real, device):
    """A program ends on all devices where memory runs out on one, which a what-if of another one does not know."""
    theirs, ours = events(model_snapshot, device) if model_snapshot else [], events(real, device)
    return [] if theirs[:len(ours)] == ours else [("events", f"device {device}, up to the end on another one")]


def compare(answer, real_path, found, model_path):
    """What a what-if told otherwise than it came: a list of (kind, words)."""
    wrong, devices = [], by_device(found)
    ooms = [device for device, model in devices.items() if model["oom"] is not None]
    real_oom = answer["oom"][0] if answer["oom"] else None
    if (real_oom is None) != (not ooms) or (ooms and real_oom not in ooms):
        wrong.append(("oom", f"out of memory on {ooms}, not {real_oom}"))
    real, model_snapshot = load(real_path), load(model_path) if os.path.exists(model_path) else None
    for device in used(answer):
        stats, model = answer["stats"][device], devices.get(device)
        if model is None:
            wrong.append(("device", f"device {device} is missing"))
            continue
        if real_oom is not None and device != real_oom:
            wrong += before_the_end(model_snapshot, real, device)
            continue
        theirs = model["memory_stats"]
        odd = sorted(key for key in set(stats) & set(theirs) - UNSEEN if stats[key] != theirs[key])
        for kind in PEAKS:
            if f"{kind}_bytes.all.peak" in odd:
                wrong.append(("peak " + kind, f"device {device}: {theirs[f'{kind}_bytes.all.peak']}, not "
                              f"{stats[f'{kind}_bytes.all.peak']}"))
        if "num_alloc_retries" in odd:
            wrong.append(("retries", f"{theirs['num_alloc_retries']}, not {stats['num_alloc_retries']}"))
        if odd:
            wrong.append(("counts", ", ".join(f"{key} {theirs[key]}, not {stats[key]}" for key in odd[:4])))
        if model_snapshot is None:
            wrong.append(("events", "no snapshot came out"))
            continue
        theirs, ours = events(model_snapshot, device), events(real, device)
        if len(theirs) != len(ours) or theirs != ours:
            at = next((i for i, pair in enumerate(zip(theirs, ours)) if pair[0] != pair[1]), min(len(theirs), len(ours)))
            wrong.append(("events", f"device {device}, {at}: {theirs[at:at + 2]}, not {ours[at:at + 2]}; "
                          f"{len(theirs)} and {len(ours)}"))
        theirs, ours = segments(model_snapshot, device), segments(real, device)
        if theirs != ours:
            is_view = answer["in_pool"] and not collections.Counter(ours) - collections.Counter(theirs)
            wrong.append(("view" if is_view else "segments", f"device {device}"))
    return wrong
