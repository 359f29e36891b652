# SPDX-License-Identifier: Apache-2.0
"""gmdiff on pairs of real snapshots against a recomputation in Python: totals, peaks, call sites at the end matched by
normalised stacks; rows that sum to the differences; swapping negates every row; the order and number of threads do not
matter; a file does not differ from itself. usage: check_real.py GMDIFF GMANALYZE"""
import collections
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import SKIPPED, analysis, frames_of, requested_of, snapshots  # noqa: E402

TABLES = {"call_sites": "allocated_bytes", "functions": "allocated_bytes", "categories": "allocated_bytes", "roles": "allocated_bytes",
          "pools": "allocated_bytes", "pools_reserved": "reserved_bytes"}
AT_PEAK = ("call_sites_at_peak", "functions_at_peak", "categories_at_peak", "roles_at_peak", "pools_at_peak")


def run(*arguments, code=0):
    with tempfile.TemporaryDirectory() as results:
        command = [sys.argv[1], "-q", "--no-charts", "--json", "-", "-o", results, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode != code:
            raise AssertionError(f"{command}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
        text = {}
        for name in os.listdir(os.path.join(results, "latest")):
            with open(os.path.join(results, "latest", name), "rb") as file:
                text[name] = file.read()
    return json.loads(done.stdout), text


# ---- the rule of docs/diff.md, once more --------------------------------------------------------------------------


def is_python(filename):
    return filename.endswith((".py", ".ipynb")) or any(
        word in filename for word in ("ipykernel", "<ipython", "<stdin>", "<string>", "<frozen "))


def normal_name(name, filename):
    if not is_python(filename):
        ends = [at for at in (name.find(mark) for mark in
                              (" [clone ", ".llvm.", ".isra.", ".constprop.", ".part.", ".lto_priv.", ".cold"))
                if at > 0]
        name = name[:min(ends)] if ends else name
    else:
        name = re.sub(r"^(torch_dynamo_resume_in_.*)_at_[0-9]+$", r"\1", name)
    out, depth, i = "", 0, 0
    while i < len(name):
        address = re.match(r"0[xX][0-9a-fA-F]+", name[i:])
        if address:
            out += "0x" if depth == 0 else ""
            i += address.end()
            continue
        c = name[i]
        opens = (not is_python(filename) and c == "<" and
                 (depth > 0 or not name[:i].endswith(("operator", "operator<"))))
        closes = c == ">" and depth > 0 and name[i - 1] != "-"
        depth += opens
        out += c if depth == 0 else ""
        depth -= closes
        i += 1
    return out


def normal_file(filename):
    if "torchinductor_" in filename:
        return "<compiled>"
    if "ipykernel_" in filename or "ipython-input-" in filename:
        return "<notebook>"
    if filename.startswith("<eval_with_key>"):
        return "<eval_with_key>"
    return re.split(r"[/\\]", filename)[-1]


@functools.lru_cache(maxsize=None)
def normal_frame(name, filename):
    return normal_name(name, filename), normal_file(filename), is_python(filename)


def normal_stack(frames):
    """Without what autocast's dispatch puts between an operator and its caller."""
    names = [f["name"] for f in frames]
    wraps = {i for i, name in enumerate(names) if name.startswith("at::autocast::WrapFunction_")}
    left_out = wraps | {i for i, name in enumerate(names)
                        if (i + 1 in wraps and name.startswith("at::_ops::")) or
                        (i - 1 in wraps and name.startswith("c10::impl::wrap_kernel_functor"))}
    return tuple(normal_frame(f["name"], f["filename"]) for i, f in enumerate(frames) if i not in left_out)


def facts(snapshot):
    """Totals by the contract's rules and allocated bytes by normalised stack."""
    totals = collections.Counter()
    sites = collections.Counter()
    for segment in snapshot["segments"]:
        totals["reserved_bytes"] += segment["total_size"]
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                totals["allocated_bytes"] += block["size"]
                sites[normal_stack(frames_of(block))] += block["size"]
            if block["state"] == "inactive":
                totals["inactive_bytes"] += block["size"]
            else:
                totals["active_bytes"] += block["size"]
                totals["requested_bytes"] += requested_of(block)
    totals["rounding_bytes"] = totals["active_bytes"] - totals["requested_bytes"]
    return totals, sites


def check_pair(base, after, known):
    """Complaints about one pair."""
    wrong = []
    found, texts = run(base, after)
    for key in ("reserved_bytes", "allocated_bytes", "active_bytes", "requested_bytes", "inactive_bytes",
                "rounding_bytes"):
        should = known[after][0][key] - known[base][0][key]
        if found["totals_delta"][key] != should:
            wrong.append(f"{key}: {found['totals_delta'][key]}, should be {should}")
    stacks = set(known[base][1]) | set(known[after][1])
    deltas = collections.Counter(known[after][1][s] - known[base][1][s] for s in stacks)
    del deltas[0]
    got = collections.Counter(row["delta_bytes"] for row in found["call_sites"])
    if deltas != got:
        wrong.append(f"call sites: {(got - deltas)} too much, {(deltas - got)} missing")
    for table, total in TABLES.items():
        if found[table] is not None and sum(r["delta_bytes"] for r in found[table]) != found["totals_delta"][total]:
            wrong.append(f"{table} do not sum to the difference of {total}")
    for table in AT_PEAK:
        if found[table] is not None and \
                sum(r["delta_bytes"] for r in found[table]) != found["peaks_delta"]["peak_requested_bytes"]:
            wrong.append(f"{table} do not sum to the difference of the peaks")
    wrong += [f"{k}: residual {v['residual_bytes']}" for k, v in found["sums"].items() if v and v["residual_bytes"]]
    if len(texts["pr_comment.md"].decode()) >= 65000:
        wrong.append("pr_comment.md is too long")
    return wrong, found


def check_peaks(path, run_of, known):
    """The peaks are those that gmanalyze computes, added up over the devices."""
    devices = known[path].get("timeline", {}).get("devices", [])
    if not devices:
        return [] if run_of["peaks"] is None else ["peaks without a trace"]
    idle = [d for d in known[path]["devices"] if d["device"] not in [t["device"] for t in devices]]
    wrong = []
    for key, end in (("peak_requested_bytes", "requested_bytes"), ("peak_allocated_bytes", "allocated_bytes"),
                     ("peak_active_bytes", "active_bytes"), ("peak_reserved_bytes", "reserved_bytes")):
        values = [d[key] for d in devices] + [d[end] for d in idle]
        should = None if None in values else sum(values)
        if run_of["peaks"][key] != should:
            wrong.append(f"{key}: {run_of['peaks'][key]}, should be {should}")
    return wrong


def negated(found):
    """The tables with base and new exchanged."""
    kinds = {"new": "gone", "gone": "new", "grown": "shrunk", "shrunk": "grown", "moved": "moved"}
    out = {}
    for table in (*TABLES, *AT_PEAK):
        if found[table] is None:
            continue
        rows = []
        for row in found[table]:
            turned = {k: v for k, v in row.items() if k not in ("base_lines", "new_lines")}
            turned.update(base_bytes=row["new_bytes"], new_bytes=row["base_bytes"], delta_bytes=-row["delta_bytes"],
                          base_blocks=row["new_blocks"], new_blocks=row["base_blocks"], kind=kinds[row["kind"]])
            rows.append(turned)
        out[table] = rows
    return out


def plain(found):
    return {table: [{k: v for k, v in row.items() if k not in ("base_lines", "new_lines")} for row in found[table]]
            for table in (*TABLES, *AT_PEAK) if found[table] is not None}


def without_times(texts):
    """What is the same in two runs: all but the date."""
    return {name: re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", b"", text) for name, text in texts.items()}


def choose(paths):
    """Neighbours in the alphabet are runs of one project; and some that have nothing to do with each other."""
    return list(zip(paths, paths[1:])) + [(paths[i], paths[-1 - i]) for i in range(0, len(paths) // 2, 5)]


def main():
    if len(sys.argv) < 3 or not all(os.access(path, os.X_OK) for path in sys.argv[1:3]):
        print("skipped: no gmdiff and gmanalyze to test")
        sys.exit(SKIPPED)
    known = {path: facts(snapshot) for path, snapshot in snapshots()}
    paths, bad = sorted(known), 0
    complaints = []
    for base, after in choose(paths):
        wrong, found = check_pair(base, after, known)
        complaints += [f"{base.name} and {after.name}: {w}" for w in wrong]
    for path in paths:
        found, _ = run(path, path)
        if not found["same"] or any(found[t] for t in (*TABLES, *AT_PEAK)) or found["settings"]:
            complaints.append(f"{path.name} differs from itself")
        complaints += [f"{path.name}: {w}" for w in check_peaks(path, found["runs"][0], {path: analysis(sys.argv[2], path)})]
    for base, after in choose(paths)[::6]:
        if plain(run(after, base)[0]) != negated(run(base, after)[0]):
            complaints.append(f"{base.name} and {after.name}: not negated when swapped")
    some = paths[::8]
    one, many = run("-j", "1", *some)[1], run("-j", "4", *some)[1]
    if without_times(one) != without_times(many):
        complaints.append("the number of threads changes the result")
    for complaint in complaints:
        print(complaint)
    print(f"{len(paths)} snapshots, {len(choose(paths))} pairs, {len(complaints)} complaints")
    sys.exit(1 if complaints or not paths else bad)


main()
