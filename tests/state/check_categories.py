# SPDX-License-Identifier: Apache-2.0
"""Categories of every real snapshot against the plain reference in rules.py; and how much stays 'Other'.

Of the allocated bytes that have a stack, the median share of 'Other' over the snapshots must be under 5 %.
Argument 2, if given, is the rules file."""
import collections
import pathlib
import statistics
import sys

from rules import Rules
from snapshots import analysis, frames_of, program, snapshots

DEFAULT = pathlib.Path(__file__).resolve().parents[2] / "analyze/state/default.categories"


def recompute(rules, snapshot):
    amounts, phase = collections.defaultdict(lambda: [0, 0]), 0
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                category, tier = rules.classify(frames_of(block))
                amounts[category][0] += block["size"]
                amounts[category][1] += 1
                phase += block["size"] if tier == "phase" else 0
    return amounts, phase


def main():
    binary, bad, shares = program(), 0, []
    rules = Rules(DEFAULT.read_text())
    for path, snapshot in snapshots():
        amounts, phase = recompute(rules, snapshot)
        found = {c["name"]: [c["bytes"], c["blocks"]] for c in analysis(binary, path)["categories"]}
        if found != dict(amounts):
            print(f"{path.name}: {found}, not {dict(amounts)}")
            bad += 1
        stacked = sum(a[0] for name, a in amounts.items() if name != "No stack recorded")
        if stacked:
            shares.append(100 * amounts["Other"][0] / stacked)
            print(f"{path.name[:72]:72} Other {shares[-1]:6.2f} %, only a phase {100 * phase / stacked:6.2f} % "
                  f"of {stacked / 2**20:.0f} MiB")
    if shares:
        print(f"median of Other over {len(shares)} snapshots: {statistics.median(shares):.2f} %, {bad} differ")
    sys.exit(1 if bad or (shares and statistics.median(shares) >= 5) else 0)


main()
