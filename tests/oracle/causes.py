# SPDX-License-Identifier: Apache-2.0
"""Why a what-if may differ from the recording under its setting without being wrong: what the default recording cannot
know. Each is shown by a counterfactual: the program runs again without it, and then both must be the same."""
import itertools
import pickle
import re

import judge
import settings

LIST = r"roundup_power2_divisions:\[[^]]*\]"

WORDS = {
    "silent": "empty_cache() that gave nothing back leaves no event; equal when these calls are left out",
    "text": "this version reads the list of roundup_power2_divisions otherwise (up to 2.9 its > begins at the last number, "
            "not after it); equal with the values that the recording has",
    "pool": "up to 2.11 no event names the pool, and what is gone in the end is named nowhere; equal with the pools named",
    "graph": "that a graph is given up leaves no event, and its memory may go back from then on; equal when all are kept",
    "view": "2.5 to 2.7: a snapshot that is made while a MemPool is in use lists only the pool's segments; equal in these",
    "fraction": "that set_per_process_memory_fraction() was called leaves no event: what went back for a request was "
                "garbage, or a retry's; right with the fraction in the settings",
    "order": "frees that several streams complete at once come in the order of hash tables; equal with the recording's order",
    "limit": "how much memory there is is not recorded: with another amount, the same recording has that count of retries",
    "places": "where the driver puts segments, when several devices share its addresses; equal with one device at a time",
    "program": "the program itself asked for something else, or in another order, under the other setting",
}


def names_memory(conf):
    """Whether the setting is a share of a memory that a what-if must be told."""
    return any(word in conf for word in ("fraction", "reserve:", "garbage"))


def asks_otherwise(bench, answer):
    """Whether the program's own requests differ, as far as both go."""
    base, real = judge.load(bench.path("base.pickle")), judge.load(bench.path("real.pickle"))
    for device in judge.used(answer):
        pairs = zip(judge.requests(base, device), judge.requests(real, device))
        if any(one != other for one, other in pairs):
            return True
    return False


def as_recorded(bench, conf):
    """The settings with the recorded list of roundup_power2_divisions in place of the given one; None: there is none."""
    listed = judge.load(bench.path("real.pickle")).get("allocator_settings", {}).get("roundup_power2_divisions")
    if not listed or not re.search(LIST, conf):
        return None
    return re.sub(LIST, "roundup_power2_divisions:[" + ",".join(f"{mib}:{d}" for mib, d in listed.items()) + "]", conf)


def names_no_pool(snapshot):
    return not any("pool_id" in event for trace in snapshot["device_traces"] for event in trace)


def may_miss_pools(program, snapshot):
    return any(op[0] in "GP" for op in program.get("ops", ())) and names_no_pool(snapshot)


def verifies_told(bench, conf, name, answer):
    """Whether --verify is right where it is told the fraction that the program called for."""
    return settings.called(conf)[0] is not None and \
        not judge.verify(bench.gmreplay, bench.path(name), answer, "--alloc-conf", settings.as_text(conf))[0]


def verifies_with_other_memory(bench, program, conf, name, answer):
    """Whether --verify is right about a recording that is the same but for the count of retries, made with as little
    memory as is enough, or up to half more: garbage that a retry gave back could have been collected, and the reverse."""
    least = max(judge.peaks(answer)["reserved"]) / settings.fraction(conf)
    for part in (1.0, 1.02, 1.05, 1.1, 1.2, 1.3, 1.5):
        answer = bench.record(program, "without.pickle", conf, int(least * part) + 1)
        if "error" not in answer and judge.is_same_trace(bench.path(name), bench.path("without.pickle")) and \
                not judge.verify(bench.gmreplay, bench.path("without.pickle"), answer)[0]:
            return True
    return False


def verifies_with_pools(bench, program, conf, memory, name):
    """Whether --verify is right where the recording names the pools that PyTorch's version does not."""
    if not may_miss_pools(program, judge.load(bench.path(name))):
        return False
    answer = bench.record(program, "without.pickle", conf, memory, named=True)
    return "error" not in answer and \
        not judge.verify(bench.gmreplay, bench.path("without.pickle"), answer, "--torch", bench.version)[0]


def possible(bench, program, conf, base):
    """The causes that may be at work."""
    ops = program.get("ops", ())
    return [name for name, is_possible in (
        ("order", program["family"] in ("streams", "graphs")),
        ("text", as_recorded(bench, conf) is not None),
        ("silent", bool(base["silent"])),
        ("graph", any(op[0] == "G" and op[2] for op in ops)),
        ("places", program.get("devices", 1) > 1),
        ("pool", may_miss_pools(program, judge.load(bench.path("base.pickle"))))) if is_possible]


def of_device(program, device):
    """What the program does on one of its devices."""
    mine = {op[1] for op in program["ops"] if op[0] == "a" and op[4] == device}
    return {**program, "ops": [op for op in program["ops"] if op[0] not in "afr" or op[1] in mine]}


def reorder(path, other):
    snapshot = judge.load(path)
    judge.complete_in_order_of(snapshot, judge.load(other))
    with open(path, "wb") as file:
        pickle.dump(snapshot, file)


def is_equal_without(bench, program, conf, memory, named, silent):
    """Whether both are the same without these causes."""
    if "places" in named:
        rest = [name for name in named if name != "places"]
        alone = [of_device(program, device) for device in range(program["devices"])]
        return all(is_equal_without(bench, part, conf, memory, rest, bench.record(part, "without.pickle")["silent"])
                   for part in alone)
    same = {"keeps_graphs": "graph" in named, "skip": silent if "silent" in named else ()}
    base = bench.record(program, "without.pickle", named="pool" in named, **same)
    answer = bench.record(program, "real.pickle", conf, memory, **same)
    if "error" in base or "error" in answer:
        return False
    if "order" in named:
        reorder(bench.path("without.pickle"), bench.path("real.pickle"))
    told = as_recorded(bench, conf) if "text" in named else conf
    more = ["--torch", bench.version] if "pool" in named else []
    wrong = bench.what_if(told, memory, answer, base="without.pickle", more=more)
    return all(kind == "view" and "view" in named for kind, _ in wrong)


def of_verify(bench, program, conf, memory, name, answer):
    """Likewise for --verify."""
    if verifies_told(bench, conf, name, answer):
        return "fraction"
    if verifies_with_pools(bench, program, conf, memory, name):
        return "pool"
    return "limit" if "garbage" in conf and verifies_with_other_memory(bench, program, conf, name, answer) else None


def of(bench, program, conf, memory, base, wrong):
    """The cause's name, or None; several that only together explain it are joined by "+". real.pickle and model.pickle of
    the bench are made anew."""
    if asks_otherwise(bench, base):
        return "program"
    names = possible(bench, program, conf, base) + ["view"] * any(kind in ("view", "segments") for kind, _ in wrong)
    for count in range(1, len(names) + 1):
        for named in itertools.combinations(names, count):
            if is_equal_without(bench, program, conf, memory, named, base["silent"]):
                return "+".join(named)
    return None
