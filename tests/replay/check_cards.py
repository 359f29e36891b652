# SPDX-License-Identifier: Apache-2.0
"""The cards that --limit lists for the real snapshots are those on which --gpu passes: check_cards.py GMREPLAY"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import program, snapshot_paths  # noqa: E402


def run(*arguments):
    return subprocess.run([program(), *arguments], capture_output=True, check=False)


def main():
    names = [row.split()[0] for row in run("--gpu", "list").stdout.decode().split("\n\n")[0].splitlines()[1:]]
    checked, some = 0, 0
    for path in snapshot_paths(".pickle", ".pkl", ".html"):
        done = run("--limit", "1TiB", "--json", "-", str(path))
        if done.returncode == 3:  # no trace in it
            continue
        limit = json.loads(done.stdout)["limit"]
        listed = set(limit["safe_gpus"] + limit["tight_gpus"])
        assert not limit["untried_gpus"], path.name
        for name in names:
            code = run("-q", "--gpu", name, str(path)).returncode
            assert (code == 0) == (name in listed), f"{path.name}: --gpu {name}: {code}, listed: {name in listed}"
            checked += 1
        some += 0 < len(listed) < len(names)
    print(f"{checked} verdicts; {some} snapshots that only some cards run")


main()
