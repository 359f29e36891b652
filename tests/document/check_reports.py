# SPDX-License-Identifier: Apache-2.0
"""The reports of every real snapshot: what trace_rules.py asks of any trace, no line wider than 80 columns, README.md short
enough for a comment on GitHub; and what was reserved at the peak, from the snapshot itself, in every report.

usage: check_reports.py GMANALYZE
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "state")]
from snapshots import program, snapshots  # noqa: E402
from trace_rules import Rules, about  # noqa: E402


def reports(binary, path):
    with tempfile.TemporaryDirectory() as results:
        command = [binary, "--no-charts", "-o", results, str(path)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{path.name}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
        folder = pathlib.Path(results) / "latest"
        return [(folder / name).read_text(encoding="utf-8")
                for name in ("analysis.json", "analysis_report.txt", "README.md")] + [done.stdout.decode()]


def reserved_after(snapshot, device, event):
    """Bytes of the device's segments after that event: those of the end, less what came later, plus what went."""
    bytes_ = sum(s["total_size"] for s in snapshot["segments"] if s["device"] == device)
    for e in snapshot["device_traces"][device][0 if event is None else event + 1:]:
        if e["action"] in ("segment_alloc", "segment_map"):
            bytes_ -= e["size"]
        elif e["action"] in ("segment_free", "segment_unmap"):
            bytes_ += e["size"]
    return bytes_


def check_reserved(rules, snapshot, report, reserved_in):
    """In the JSON, and where each of the texts tells the peak of the highest device."""
    devices = report["timeline"]["devices"]
    for d in devices:
        then = reserved_after(snapshot, d["device"], d["peak_event"])
        rules.expect(d["peaks"]["requested"]["reserved_bytes"] == then, f"device {d['device']}: {then} were reserved")
    highest = max(devices, key=lambda d: d["peak_requested_bytes"])
    then = reserved_after(snapshot, highest["device"], highest["peak_event"])
    for name, text, pattern in reserved_in:
        shown = re.search(pattern, text, re.M)
        rules.expect(shown and about(shown.group(1), then) or not highest["peak_reserved_bytes"],
                     f"{name}: {shown and shown.group(0)!r}, but {then} were reserved then")


def main():
    binary, failures, traced = program(), [], 0
    for path, snapshot in snapshots():
        rules = Rules(path.name)
        found, text, readme, summary = reports(binary, path)
        report = json.loads(found)
        rules.layout(text)
        rules.expect(len(readme) < 65000, f"README.md has {len(readme)} characters")
        if "timeline" in report:
            traced += 1
            rules.json(report)
            rules.text(text, report)
            line = r"(?:\*\*)?Needs:?(?:\*\*)? +(?:device -?\d+: )?([\d.]+ \S*B) reserved"
            check_reserved(rules, snapshot, report, [("summary", summary, line), ("text", text, line),
                                                     ("README.md", readme, line)])
            if " at event " in summary:
                rules.levels(summary.split("\n")[0],
                             max(report["timeline"]["devices"], key=lambda d: d["peak_requested_bytes"]))
        failures += rules.failures
    for failure in failures[:40]:
        print(failure)
    print(f"{traced} snapshots with a trace, {len(failures)} failures")
    sys.exit(1 if failures or not traced else 0)


main()
