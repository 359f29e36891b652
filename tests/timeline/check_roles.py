# SPDX-License-Identifier: Apache-2.0
"""Roles of every real snapshot: they add up, and where stacks show a plain Adam (two states for every parameter, one
gradient), parameters : gradients : optimizer state are 1 : 1 : 2, whatever is known of the parameters themselves.

What stacks show is worked out here from the trace alone: gradients are what autograd made and what is live when the
optimizer begins; what the optimizer made and what is live at the end is twice that (states), or three times, if it
makes the parameters anew as well."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import analysis, program, snapshots  # noqa: E402

ROLES = {"Parameter", "Gradient", "Optimizer state", "Activation", "Temporary", "Workspace", "KV cache",
         "Communication buffer", "Input", "Unknown"}
TOLERANCE = 0.04


def maker(frames, has_frames):
    """'optimizer', 'backward', 'workspace' or 'other': what code made an allocation."""
    text = "\n".join(f["name"] + " " + f["filename"].replace("\\", "/") for f in frames)
    if "lasLtWorkspace" in text or "getNewWorkspace" in text or "createCublas" in text:
        return "workspace"
    if "/torch/optim/" in text:
        return "optimizer"
    if "torch::autograd::Engine" in text or (has_frames and not frames):
        return "backward"
    return "other"


def adam(trace):
    """(gradient bytes, live at the end of them) if the trace ends with the states of a plain Adam, else None."""
    has_frames = any(e["action"] == "alloc" and e.get("frames") for e in trace)
    live, gradients, in_optimizer = {}, 0, False
    for e in trace:
        if e["action"] == "alloc":
            by = maker(e.get("frames") or [], has_frames and "frames" in e)
            if by == "optimizer" and not in_optimizer:
                gradients = sum(size for made, size in live.values() if made == "backward")
            in_optimizer = by == "optimizer"
            live[e["addr"]] = by, e["size"]
        elif e["action"] == "free_completed":
            live.pop(e["addr"], None)
    states = sum(size for made, size in live.values() if made == "optimizer")
    kept = sum(size for made, size in live.values() if made == "backward")
    if gradients < 1 << 20 or not any(abs(states - n * gradients) <= TOLERANCE * gradients for n in (2, 3)):
        return None
    return gradients, kept


def close(found, expected):
    return abs(found - expected) <= TOLERANCE * max(expected, 1)


def amounts(rows):
    return {row["name"]: row["bytes"] for row in rows}


def check_sums(name, snapshot, found):
    problems = []
    allocated = found["totals"]["allocated_bytes"]
    if sum(amounts(found["roles"]).values()) != allocated:
        problems.append(f"roles sum to {sum(amounts(found['roles']).values())}, allocated are {allocated}")
    blocks = sum(b["state"] == "active_allocated" for s in snapshot["segments"] for b in s["blocks"])
    if sum(row["blocks"] for row in found["roles"]) != blocks:
        problems.append(f"roles have other blocks than the {blocks} allocated ones")
    by_role = {}
    for block in found["top_blocks"]:
        by_role[block["role"]] = by_role.get(block["role"], 0) + block["bytes"]
    if by_role != amounts(found["roles"]):
        problems.append(f"the blocks' roles sum to {by_role}, not to {amounts(found['roles'])}")
    names = {row["name"] for row in found["roles"]}
    for d in (found.get("timeline") or {}).get("devices", []):
        names |= {row["name"] for row in d["roles_at_peak"]}
        total = sum(row["bytes"] for row in d["roles_at_peak"])
        if total != d["peak_requested_bytes"]:
            problems.append(f"device {d['device']}: roles at the peak sum to {total}, not {d['peak_requested_bytes']}")
    if not names <= ROLES:
        problems.append(f"unheard-of roles {names - ROLES}")
    return [f"{name}: {p}" for p in problems]


def check_adam(name, snapshot, found):
    """(number of checks, problems), for snapshots of one device."""
    traces = [t for t in snapshot.get("device_traces", []) if t]
    result = adam(traces[0]) if len(traces) == 1 else None
    if result is None:
        return 0, []
    gradients, kept = result
    roles = {}
    for block in found["top_blocks"]:
        roles[block["role"]] = roles.get(block["role"], 0) + block["requested_bytes"]
    problems = []
    for role, expected in (("Parameter", gradients), ("Gradient", kept), ("Optimizer state", 2 * gradients)):
        if not close(roles.get(role, 0), expected):
            problems.append(f"{name}: {role} {roles.get(role, 0)}, by stacks {expected}")
    return 1, problems


def main():
    binary = program()
    files = adams = 0
    problems = []
    for path, snapshot in snapshots():
        found = analysis(binary, path, "--top", "1000000")  # every block is among the largest ones then
        files += 1
        problems += check_sums(path.name, snapshot, found)
        checks, more = check_adam(path.name, snapshot, found)
        adams += checks
        problems += more
        for d in (found.get("timeline") or {}).get("devices", []):
            unknown = amounts(d["roles_at_peak"]).get("Unknown", 0)
            if d["peak_requested_bytes"] > 0:
                percent = 100 * unknown / d["peak_requested_bytes"]
                print(f"{percent:5.1f} % unknown at the peak  {path.name} {d['device']}")
    for problem in problems:
        print("WRONG", problem)
    print(f"{files} files, {adams} of them with a plain Adam, {len(problems)} wrong")
    sys.exit(1 if problems or not adams else 0)


main()
