# SPDX-License-Identifier: Apache-2.0
"""The reports of every real snapshot: what trace_rules.py asks of any trace, no line wider than 80 columns, README.md short
enough for a comment on GitHub.

usage: check_reports.py GMANALYZE
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "state")]
from snapshots import program, snapshots  # noqa: E402
from trace_rules import Rules  # noqa: E402


def reports(binary, path):
    with tempfile.TemporaryDirectory() as results:
        command = [binary, "-q", "--no-charts", "-o", results, str(path)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{path.name}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
        folder = pathlib.Path(results) / "latest"
        return [(folder / name).read_text(encoding="utf-8")
                for name in ("analysis.json", "analysis_report.txt", "README.md")]


def main():
    binary, failures, traced = program(), [], 0
    for path, _ in snapshots():
        rules = Rules(path.name)
        found, text, readme = reports(binary, path)
        report = json.loads(found)
        rules.layout(text)
        rules.expect(len(readme) < 65000, f"README.md has {len(readme)} characters")
        if "timeline" in report:
            traced += 1
            rules.json(report)
            rules.text(text, report)
        failures += rules.failures
    for failure in failures[:40]:
        print(failure)
    print(f"{traced} snapshots with a trace, {len(failures)} failures")
    sys.exit(1 if failures or not traced else 0)


main()
