# SPDX-License-Identifier: Apache-2.0
"""Why a what-if may differ from the recording under its setting without being wrong: what the default recording cannot
know. Each is shown by a counterfactual: the program runs again without it, and then both must be the same."""
import judge

WORDS = {
    "silent": "empty_cache() that gave nothing back leaves no event; equal when these calls are left out",
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


def of(bench, program, conf, memory, base):
    """The cause's name, or None. real.pickle and model.pickle of the bench are made anew."""
    if asks_otherwise(bench, base):
        return "program"
    if base["silent"]:
        answer = bench.record(program, "real.pickle", conf, memory, skip=base["silent"])
        if "error" not in answer and not bench.what_if(conf, memory, answer):
            return "silent"
    return None
