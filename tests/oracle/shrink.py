# SPDX-License-Identifier: Apache-2.0
"""A program of operations that fails, with as many of them left out as it still fails without."""
import time

import causes
import judge

SECONDS = 40


def fails(bench, program, conf, memory, what):
    base = bench.record(program, "base.pickle")
    if "error" in base:
        return what == "program"
    answer, name = base, "base.pickle"
    if conf or memory:
        answer, name = bench.record(program, "real.pickle", conf, memory), "real.pickle"
        if "error" in answer:
            return what == "program"
    try:
        if what == "verify":
            return bool(judge.verify(bench.gmreplay, bench.path(name), answer)[0]) and \
                causes.of_verify(bench, program, conf, memory, name, answer) is None
        wrong = bench.what_if(conf, memory, answer) if what == "what-if" else []
        return bool(wrong) and causes.of(bench, program, conf, memory, base, wrong) is None
    except RuntimeError:
        return False


def smaller(bench, program, conf, memory, what):
    """Leaves out runs of operations, longer ones first. Those whose tensor is gone do nothing."""
    end, ops = time.monotonic() + SECONDS, program["ops"]
    length = len(ops) // 2
    while length >= 1 and time.monotonic() < end:
        at = 0
        while at < len(ops) and time.monotonic() < end:
            fewer = ops[:at] + ops[at + length:]
            if fails(bench, {**program, "ops": fewer}, conf, memory, what):
                ops = fewer
            else:
                at += length
        length //= 2
    return {**program, "ops": ops}
