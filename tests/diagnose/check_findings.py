# SPDX-License-Identifier: Apache-2.0
"""The findings in docs/findings.md are what the rules say of themselves. usage: check_findings.py PRINT_FINDINGS [--update]"""
import pathlib
import re
import subprocess
import sys

DOC = pathlib.Path(__file__).resolve().parents[2] / "docs/findings.md"
MADE = re.compile(r"^## Mistakes, and choices\n.*?(?=\n\n## What a peak used)", re.M | re.S)


def main():
    made = subprocess.run([sys.argv[1]], capture_output=True, text=True, check=True).stdout.rstrip("\n")
    told = DOC.read_text()
    ids = re.findall(r"^(?:### |\| )`([\w-]+)`", made, re.M)
    bad = [f"{name}: {ids.count(name)} times" for name in sorted(set(ids)) if ids.count(name) > 1]
    severities = re.findall(r"^Severity: (.*?)\. What|^\| `[\w-]+` \| (.*?) \|", made, re.M)
    bad += [f"{name}: severity {''.join(words)!r}" for name, words in zip(ids, severities, strict=True)
            if not set(re.findall(r"[a-z]+", "".join(words))) & {"info", "warning", "critical"}]
    bad += [f"{row[:40]}: {row.count(' | ')} columns" for row in made.split("\n") if row.startswith("| `") and row.count(" | ") != 3]
    if sys.argv[2:] == ["--update"]:
        DOC.write_text(MADE.sub(lambda _: made, told, count=1))
    elif MADE.search(told).group(0) != made:
        bad.append(f"{DOC.name} is stale: run {pathlib.Path(__file__).name} with --update")
    print("\n".join(bad) if bad else f"{len(ids)} findings, each told once")
    sys.exit(1 if bad else 0)


main()
