# SPDX-License-Identifier: Apache-2.0
"""Runs under gmdry: records role_programs.py and role_scripts.py. usage: role_worker.py FOLDER NAME.KIND...
KIND: whole (recorded from before the model is made, Python stacks), all (likewise, stacks of C++, too), late (from where
the program calls begin()), bare (likewise, without stacks). Writes NAME.KIND.pickle and .json, the truth."""
import os
import pickle
import sys
import traceback
import warnings

import quiet
import role_programs
import role_scripts
from truth import Truth

quiet.begin()
import torch  # noqa: E402
import torch._dynamo  # noqa: E402  memory._snapshot() and the optimizers want it: once, here, and not in each child

MEMORY = {"memory_runs_out": 3 << 30}


def record(folder, name, kind):
    card = os.environ["GMDRY_CARD"].split(",")
    card[3], card[4] = str(MEMORY.get(name, 80 << 30)), "0"
    os.environ["GMDRY_CARD"] = ",".join(card)
    path = os.path.join(folder, f"{name}.{kind}")
    truth = Truth(torch)

    def start():
        torch.cuda.memory._record_memory_history(stacks="all" if kind == "all" else "python",
                                                 context=None if kind == "bare" else "all")

    def write(*_):
        with open(path + ".pickle", "wb") as file:
            pickle.dump(torch.cuda.memory._snapshot(), file)
        truth.write(path + ".json")
        os._exit(0)

    torch._C._cuda_attach_out_of_memory_observer(write)
    if kind in ("whole", "all"):
        start()
    kept = {**role_programs.ALL, **role_scripts.ALL}[name](torch, truth, start if kind in ("late", "bare") else lambda: None)
    write(kept)


def main():
    warnings.simplefilter("ignore")
    folder, *wanted = sys.argv[1:]
    for one in wanted:
        child = os.fork()
        if child == 0:
            try:
                record(folder, *one.split("."))
            except BaseException:
                print(one, traceback.format_exc(), file=sys.stderr, flush=True)
            os._exit(1)
        os.waitpid(child, 0)


main()
