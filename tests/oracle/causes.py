# SPDX-License-Identifier: Apache-2.0
"""Why a what-if may differ from the recording under its setting without being wrong: what the default recording cannot
know. Each is shown by a counterfactual: the program runs again without it, and then both must be the same."""
import re

import judge

LIST = r"roundup_power2_divisions:\[[^]]*\]"

WORDS = {
    "silent": "empty_cache() that gave nothing back leaves no event; equal when these calls are left out",
    "text": "this version reads the list of roundup_power2_divisions otherwise (up to 2.9 its > begins at the last number, "
            "not after it); equal with the values that the recording has",
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


def of(bench, program, conf, memory, base, answer):
    """The cause's name, or None. real.pickle and model.pickle of the bench are made anew."""
    if asks_otherwise(bench, base):
        return "program"
    told = as_recorded(bench, conf)
    if told is not None and not bench.what_if(told, memory, answer):
        return "text"
    if base["silent"]:
        answer = bench.record(program, "real.pickle", conf, memory, skip=base["silent"])
        if "error" not in answer and not bench.what_if(conf, memory, answer):
            return "silent"
    return None
