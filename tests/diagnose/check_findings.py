# SPDX-License-Identifier: Apache-2.0
"""The table in docs/findings.md is the one that the rules make. usage: check_findings.py PRINT_FINDINGS [--update]"""
import pathlib
import re
import subprocess
import sys

DOC = pathlib.Path(__file__).resolve().parents[2] / "docs/findings.md"
TABLE = re.compile(r"^\| id \|.*?(?=\n\n)", re.M | re.S)


def main():
    made = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout.rstrip("\n")
    told = DOC.read_text()
    rows = [row.split(" | ") for row in made.split("\n")[2:]]
    bad = [f"{row[0]}: {len(row)} columns" for row in rows if len(row) != 4]
    bad += [f"{row[0]}: severity {row[1]!r}" for row in rows
            if not set(re.findall(r"[a-z]+", row[1])) & {"info", "warning", "critical"}]
    ids = [row[0] for row in rows]
    bad += [f"{name}: {ids.count(name)} rows" for name in sorted(set(ids)) if ids.count(name) > 1]
    if sys.argv[2:] == ["--update"]:
        DOC.write_text(TABLE.sub(lambda _: made, told, count=1))
    elif TABLE.search(told).group(0) != made:
        bad.append(f"{DOC.name} is stale: run {pathlib.Path(__file__).name} with --update")
    print("\n".join(bad) if bad else f"{len(rows)} findings, each with its row")
    sys.exit(1 if bad else 0)


main()
