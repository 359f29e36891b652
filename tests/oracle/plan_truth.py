#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peaks that `gmreplay --plan` tells, held against what PyTorch's allocator reserves when the fixes are made.
usage: plan_truth.py table FOLDER GMDRY GMREPLAY PYTHON [NAME...], or plan_truth.py test GMDRY GMREPLAY, with
GM_TORCH_PYTHON (77: there is none)."""
import json
import os
import pickle
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GIB, CARD = 1 << 30, "rtx-4060"
WITHIN, MADE = 0.06, 16  # of what is recorded; rows at least

# How the text of a fix begins, and how plan_programs.py calls it.
FIXES = {"half the microbatch": "half", "half of that again": "again",
         "optimizer state on": "host", "Keep them on the host": "host", "8-bit optimizer": "bytes",
         "weights in half": "weights", "ZeRO-2": "zero2", "ZeRO-3": "zero3", "Checkpoint the layers": "checkpoint",
         "Call model.gradient_checkpointing_enable()": "checkpoint", "Compute the loss in chunks": "chunks",
         "Pass use_liger_kernel=True": "chunks", "del the variable": "del", "model.bfloat16()": "weights"}


STATES = ("host", "bytes", "zero2", "zero3")  # one of them at a time


def word_of(text):
    """None: nobody has made it."""
    if ":" in text and " " not in text:
        return "conf=" + text
    return next((word for begin, word in FIXES.items() if text.startswith(begin)), None)


# ---- recording: under gmdry ------------------------------------------------------------------------------------------

def worker(folder, wanted):
    """wanted: NAME/FIX+FIX. One process each, from one import of torch."""
    import quiet
    import plan_programs
    quiet.begin()
    import torch
    import torch._dynamo  # noqa: F401
    import torch.utils.checkpoint  # noqa: F401
    for number, one in enumerate(wanted):
        name, fixes = one.split("/", 1)
        fixes = [fix for fix in fixes.split("+") if fix]
        if os.fork() == 0:
            result = {"of": one}
            try:
                for fix in fixes:
                    if fix.startswith("conf="):
                        torch._C._accelerator_setAllocatorSettings(fix[5:])
                if not fixes:
                    torch.cuda.memory._record_memory_history(stacks="python")
                plan_programs.train(torch, plan_programs.ALL[name], fixes)
                result["peak"] = torch.cuda.max_memory_reserved()
                result["allocated"] = torch.cuda.max_memory_allocated()
                if not fixes:
                    with open(os.path.join(folder, name + ".pickle"), "wb") as file:
                        pickle.dump(torch.cuda.memory._snapshot(), file)
            except Exception as error:  # pylint: disable=broad-except
                result["error"] = f"{type(error).__name__}: {error}"
            with open(os.path.join(folder, f"{number}.json"), "w", encoding="utf-8") as file:
                json.dump(result, file)
            os._exit(0)
        os.wait()


def record(folder, gmdry, python, wanted):
    """{NAME/FIX+FIX: what was recorded}."""
    into = tempfile.mkdtemp(dir=folder)
    done = subprocess.run([gmdry, "-q", "--gpu", "h200", "--no-charts", "-o", os.path.join(into, "runs"), "--", python,
                           __file__, "worker", into, *wanted], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env={**os.environ, "OMP_NUM_THREADS": "1",
                               "PYTORCH_SKIP_CUDNN_COMPATIBILITY_CHECK": "1", "PYTHONDONTWRITEBYTECODE": "1"})
    found = {}
    for number in range(len(wanted)):
        path = os.path.join(into, f"{number}.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                one = json.load(file)
            found[one["of"]] = one
    if not found:
        sys.exit(f"nothing was recorded: {done.stderr.decode()[-2000:]}")
    for name in os.listdir(into):
        if name.endswith(".pickle"):
            os.replace(os.path.join(into, name), os.path.join(folder, name))
    return found


# ---- comparing -------------------------------------------------------------------------------------------------------

def plan_of(gmreplay, folder, name):
    done = subprocess.run([gmreplay, "-q", "--json", "-", "--plan", CARD, os.path.join(folder, name + ".pickle")],
                          check=False, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["plan"]


def rows(folder, gmdry, gmreplay, python, names):
    """(program, fix, predicted, recorded; None: it was not made)."""
    base = record(folder, gmdry, python, [name + "/" for name in names])
    wanted, asked = [], []
    for name in names:
        if "error" in base[name + "/"]:
            print(name, base[name + "/"]["error"], file=sys.stderr)
            continue
        plan = plan_of(gmreplay, folder, name)
        asked.append((name, "as recorded", plan["steps"][0]["peak_reserved_bytes"], name + "/"))
        for one in plan["alone"]:
            word = word_of(one["fix"])
            asked.append((name, one["fix"], one["peak_reserved_bytes"], word and f"{name}/{word}"))
        stairs = [step for step in plan["steps"][1:] if not step["fix"].startswith("the cache goes back")]
        words = [word_of(step["fix"]) for step in stairs]
        if len(words) > 1:
            asked.append((name, "the plan: " + " + ".join(str(w) for w in words), stairs[-1]["peak_reserved_bytes"],
                          f"{name}/{'+'.join(words)}" if all(words) and sum(w in STATES for w in words) < 2 else None))
    wanted = sorted({a[3] for a in asked if a[3]} - set(base))
    found = {**base, **record(folder, gmdry, python, wanted)}
    for name, fix, predicted, key in asked:
        one = found.get(key, {})
        if "error" in one:
            print(key, one["error"], file=sys.stderr)
        yield name, fix, predicted, one.get("peak")


def table(found):
    print("| program | fix | predicted | recorded | error |\n|---|---|---|---|---|")
    for name, fix, predicted, recorded in found:
        told = f"{recorded / GIB:.2f} | {100 * (predicted / recorded - 1):+.1f} %" if recorded else "not made | "
        print(f"| {name} | {fix[:60]} | {predicted / GIB:.2f} | {told} |", flush=True)


def test(gmdry, gmreplay):
    """Programs that need nothing but torch. What torch's sharding gathers, a snapshot does not tell."""
    python = os.environ.get("GM_TORCH_PYTHON")
    if not python:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        made = [row for row in rows(folder, gmdry, gmreplay, python, ["gpt", "lstm"]) if row[3] and "ZeRO-3" not in row[1]]
    table(made)
    wrong = [row for row in made if abs(row[2] / row[3] - 1) > WITHIN]
    if wrong or len(made) < MADE:
        sys.exit(f"{len(made)} rows, of which more than {WITHIN:.0%} off: {wrong}")


def main():
    if sys.argv[1] == "worker":
        worker(sys.argv[2], sys.argv[3:])
    elif sys.argv[1] == "table":
        import plan_programs
        folder, gmdry, gmreplay, python, *names = sys.argv[2:]
        os.makedirs(folder, exist_ok=True)
        table(rows(folder, gmdry, gmreplay, python, names or list(plan_programs.ALL)))
    else:
        test(*sys.argv[2:])


main()
