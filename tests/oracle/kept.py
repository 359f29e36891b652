# SPDX-License-Identifier: Apache-2.0
"""Recordings of PyTorch's allocator that gmreplay once was wrong about, in tests/data/oracle: NAME.json, what PyTorch
counted, and NAME_base.gmtrace, NAME_real.gmtrace: the program with its default settings, and under another one.
usage: kept.py GMREPLAY"""
import json
import os
import sys
import tempfile

import judge
import settings

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "oracle")


def path_of(name, end):
    return os.path.join(FOLDER, name + end)


def keep(gmreplay, folder, case, name):
    """The recordings of a case that has just been played, in `folder`."""
    os.makedirs(FOLDER, exist_ok=True)
    known = {key: case[key] for key in ("version", "conf", "memory", "what")}
    for kind in ("base", "real"):
        if os.path.exists(os.path.join(folder, kind + ".pickle")):
            gmreplay("--trace-out", path_of(name, f"_{kind}.gmtrace"), os.path.join(folder, kind + ".pickle"))
            with open(os.path.join(folder, kind + ".pickle.json"), encoding="utf-8") as file:
                known[kind] = json.load(file)
    if case["what"] == "verify":  # the other one tells nothing
        os.remove(path_of(name, "_base.gmtrace"))
        del known["base"]
    with open(path_of(name, ".json"), "w", encoding="utf-8") as file:
        json.dump(known, file, separators=(",", ":"))


def wrong_in(gmreplay, folder, name):
    with open(path_of(name, ".json"), encoding="utf-8") as file:
        known = json.load(file)
    wrong, conf, memory = [], settings.as_text(known["conf"]), known["memory"]
    for kind in ("base", "real"):
        if kind in known:
            found, allocs, _ = judge.verify(gmreplay, path_of(name, f"_{kind}.gmtrace"), known[kind])
            wrong += [f"{kind}: {words}" for words in found] + ([] if allocs else ["nothing is in it"])
    if "base" not in known or wrong:
        return wrong
    real, model = os.path.join(folder, "real.pickle"), os.path.join(folder, "model.pickle")
    gmreplay("--verify", "-o", real, path_of(name, "_real.gmtrace"))  # the recording itself, as it verifies
    found = gmreplay("--alloc-conf", conf, "--memory", str(memory or judge.CARD), "-o", model, path_of(name, "_base.gmtrace"))
    return [": ".join(pair) for pair in judge.compare(known["real"], real, found, model)]


def main():
    gmreplay = judge.Gmreplay(sys.argv[1])
    names = sorted(name.removesuffix(".json") for name in os.listdir(FOLDER) if name.endswith(".json"))
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            wrong = wrong_in(gmreplay, folder, name)
        failed += bool(wrong)
        print("\n".join(f"{name}: {words}" for words in wrong), end="\n" if wrong else "")
    print(f"{len(names)} cases, {failed} wrong")
    sys.exit(1 if failed or not names else 0)


if __name__ == "__main__":
    main()
