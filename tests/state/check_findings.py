# SPDX-License-Identifier: Apache-2.0
"""docs/findings.md has a row for every finding that can be made, and for no other."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    source = "".join((ROOT / path).read_text()
                     for path in ("analyze/state/state_findings.c", "analyze/timeline/trace_findings.c",
                                  "analyze/timeline/findings_devices.c", "replay/trials/advice_finding.c"))
    table = (ROOT / "docs/findings.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]+) \| [^|]+ \| [^|]+ \|$", table, re.M)
    made = re.findall(r'(?:\b(?:gm_finding_)?add\(list, |\(struct gm_finding\)\{)"([a-z-]+)"', source)
    calls = source.count("add(list, ") + source.count('(struct gm_finding){"')
    told = [row[0] for row in rows]
    bad = [f"{name}: no row in findings.md" for name in sorted(set(made) - set(told))]
    bad += [f"{name}: no such finding is made" for name in sorted(set(told) - set(made))]
    bad += [f"{name}: {told.count(name)} rows" for name in sorted(set(told)) if told.count(name) > 1]
    bad += [f"{name}: severity {words!r}" for name, words in rows
            if not set(re.findall(r"[a-z]+", words)) & {"info", "warning", "critical"}]
    if len(made) != calls or not made:
        bad.append(f"{calls} calls of add, but {len(made)} ids found")
    print("\n".join(bad) if bad else f"{len(made)} findings, each with its row")
    sys.exit(1 if bad else 0)


main()
