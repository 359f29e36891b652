# SPDX-License-Identifier: Apache-2.0
"""What gmanalyze says about allocator settings, on every real snapshot: each number is what gmreplay prints for the same
settings, the verdict follows from those numbers by the rules of docs/findings.md, and nothing is advised without a replay.
usage: check_settings_advice.py GMANALYZE GMREPLAY"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import program, snapshots  # noqa: E402

MIB = 1 << 20
PROMISES = re.compile(r"CUDA_ALLOC_CONF=|_ALLOC_CONF=|try expandable|may avoid|may have served|expandable_segments:True may")
VERDICTS = {}


def replay(path, *options):
    done = subprocess.run([sys.argv[2], "--json", "-", *options, str(path)], capture_output=True, check=False)
    if done.returncode > 1:
        return None
    return {d["device"]: d for d in json.loads(done.stdout)["devices"]}


def analyse(path, *options):
    """analysis.json, the text report and README.md."""
    with tempfile.TemporaryDirectory() as results:
        subprocess.run([sys.argv[1], "-q", "--no-charts", "--results", results, *options, str(path)], check=True,
                       capture_output=True)
        run = Path(results) / "latest"
        return (json.loads((run / "analysis.json").read_text()), (run / "analysis_report.txt").read_text(),
                (run / "README.md").read_text())


def check_replay(row, peaks, base):
    """A row against the peaks of each device; the baseline has no change."""
    where = row.get("settings", "with the limit")
    assert row["devices"] == peaks, f"{where}: {row['devices']}, not {peaks}"
    assert not row["runs"] or row["peak_reserved_bytes"] == sum(peaks), f"{where}: {row}"
    change = sum(peaks) - base if base and row["runs"] else None
    assert row["change_bytes"] == change, f"{where}: {row['change_bytes']}, not {change}"


def check_limited(path, trial, limits, base):
    """The same with the recording's limit. One device: on the command line there is one memory for all."""
    if trial["limited"] is None or len(limits) > 1:
        assert (trial["limited"] is None) == all(limit is None for limit in limits.values())
        return
    (device, limit), row = *limits.items(), trial["limited"]
    options = ["--memory", str(limit)] + (["--alloc-conf", trial["settings"]] if base else [])
    found = replay(path, *options)[device]
    assert (row["runs"], row["num_alloc_retries"]) == (found["oom"] is None, found["num_alloc_retries"]), f"{row}"
    check_replay(row, [found["peak_reserved_bytes"]], base["peak_reserved_bytes"] if base and base["runs"] else 0)


def expected(path, found):
    """The verdict and the winner, from what gmreplay says."""
    advice = found["settings_advice"]
    recorded = {d["device"]: d for d in found["timeline"]["devices"] if d["events"]}
    total = sum(d["peak_reserved_bytes"] for d in recorded.values())
    threshold = max(total // 100, 64 * MIB)
    assert advice["threshold_bytes"] == threshold, f"threshold {advice['threshold_bytes']}, not {threshold}"
    if not any(d["allocs"] for d in recorded.values()):
        return "not-judged", None
    if total - sum(d["peak_requested_bytes"] for d in recorded.values()) < threshold:
        return "no-room", None
    verified = replay(path, "--verify")
    for device, d in verified.items():
        if d["exact_addresses"] < 0.999 * d["allocs"]:
            return "not-judged", None
    before = replay(path, "--memory", "1000TiB")
    rows = {d["device"]: d for d in advice["devices"]}
    for device, d in recorded.items():
        row = rows[device]
        want = {"allocs": d["allocs"], "events": d["events"], "recorded_peak_reserved_bytes": d["peak_reserved_bytes"],
                "peak_requested_bytes": d["peak_requested_bytes"],
                "exact_addresses": verified[device]["exact_addresses"]}
        if advice["baseline"] is not None:
            want["replayed_peak_reserved_bytes"] = before[device]["peak_reserved_bytes"]
        for key, value in want.items():
            assert row[key] == value, f"device {device}: {key} {row[key]}, not {value}"
    if advice["verdict"] == "not-judged" and "before the trace began" in advice["reason"]:
        difference = total - sum(before[device]["peak_reserved_bytes"] for device in recorded)
        assert difference > threshold, f"only {difference} are from before the trace"
        return "not-judged", None
    base, best, most = advice["baseline"], None, -1
    least = {device: before[device]["peak_reserved_bytes"] for device in recorded}
    counted = {device: least[device] if recorded[device]["ooms"] else min(least[device], d["peak_reserved_bytes"])
               for device, d in recorded.items()}
    limits = {d["device"]: d["limit_bytes"] for d in advice["devices"]}
    check_replay(base, [least[d] for d in limits], 0)
    check_limited(path, base, limits, None)
    for trial in advice["tried"]:
        peaks = {device: d["peak_reserved_bytes"]
                 for device, d in replay(path, "--alloc-conf", trial["settings"]).items()}
        check_replay(trial, [peaks[d] for d in limits], base["peak_reserved_bytes"])
        check_limited(path, trial, limits, base["limited"])
        is_worse = any(peaks[device] > least[device] or
                       limits[device] is None and peaks[device] > recorded[device]["peak_reserved_bytes"]
                       for device in peaks)
        now, then = trial["limited"], base["limited"]
        if now is not None:
            is_worse |= not now["runs"] or then["runs"] and now["num_alloc_retries"] > then["num_alloc_retries"]
        saved = 0 if is_worse else sum(max(0, counted[device] - peaks[device]) for device in peaks)
        assert trial["saved_bytes"] == saved, f"{trial['settings']}: saves {trial['saved_bytes']}, not {saved}"
        if saved > most:
            best, most = trial, saved
    assert advice["tried"], "nothing was tried"
    assert advice["before_bytes"] == sum(counted.values())
    ranges = {}
    for trial, options in ((base, ["--memory", "1000TiB"]), (best, ["--alloc-conf", best["settings"]])):
        devices = replay(path, *options).values()
        ranges[trial["settings"]] = [d["peak_reserved_range_bytes"] or [d["peak_reserved_bytes"]] * 2 for d in devices]
        if trial["peak_reserved_range_bytes"] is not None and len(limits) == 1:
            assert trial["peak_reserved_range_bytes"] == ranges[trial["settings"]][0], f"{trial['settings']}: {ranges}"
    can_lose = sum(d[0] for d in ranges[base["settings"]]) - sum(d[1] for d in ranges[best["settings"]]) < threshold
    assert not advice["is_by_chance"] or can_lose, f"by chance: {ranges}"
    return ("advised", best) if most >= threshold and not advice["is_by_chance"] else ("no-gain", None)


def check(path):
    found, text, readme = analyse(path)
    advice, findings = found["settings_advice"], {f["id"]: f for f in found["findings"]}
    told = findings.get("replayed-settings")
    for finding in found["findings"]:
        if finding is not told:
            assert not PROMISES.search(finding["detail"]), f"{finding['id']} promises: {finding['detail']}"
    assert len(PROMISES.findall(text)) <= (2 if told else 0) + text.count("PYTORCH_ALLOC_CONF=" if told else "\0")
    if "timeline" not in found:
        assert advice is None and told is None, "advice without a trace"
        return "no trace"
    verdict, best = expected(path, found)
    assert advice["verdict"] == verdict or advice["verdict"] == "not-judged" and advice["reason"], \
        f"{advice['verdict']} ({advice['reason']}), not {verdict}"
    assert (advice["reason"] is not None) == (advice["verdict"] == "not-judged")
    assert (told is not None) == (advice["verdict"] == "advised")
    title = "OTHER ALLOCATOR SETTINGS"
    assert title in text and title.lower() in readme.lower()
    if advice["verdict"] == "advised":
        assert (advice["settings"], advice["saved_bytes"], advice["after_bytes"]) == (
            best["settings"], best["saved_bytes"], best["peak_reserved_bytes"])
        assert told["bytes"] == best["saved_bytes"]
        assert f"=" + best["settings"] in told["detail"] and "replayed: " in told["detail"]
        assert "address fidelity 100 %" in told["detail"] or "address fidelity 99.9" in told["detail"]
    elif advice["verdict"] == "not-judged":
        assert advice["settings"] is None and not advice["tried"] and "not judged" in text
    return advice["verdict"] + (f": {advice['reason']}" if advice["reason"] else "")


def main():
    program()
    bad = 0
    for path, _ in snapshots():
        try:
            verdict = check(path)
        except AssertionError as wrong:
            bad += 1
            print(f"{path.name}: {wrong}")
            continue
        VERDICTS.setdefault(verdict.split(" chose ")[0], []).append(path.name)
    for verdict, names in sorted(VERDICTS.items()):
        print(f"{len(names):3} {verdict}")
    sys.exit(1 if bad else 0)


main()
