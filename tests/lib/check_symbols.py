# SPDX-License-Identifier: Apache-2.0
"""What libgm shows: exactly the functions of gm.h, all of them of a version; its header needs nothing of ours."""
import os
import re
import shutil
import subprocess
import sys

LIBRARY, HEADER = sys.argv[1:]


def main():
    if shutil.which("nm") is None:
        print("skipped: no nm")
        sys.exit(77)
    listed = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    shown = dict(line.split()[-1].split("@@") for line in listed.splitlines() if "@@" in line)
    bare = [line for line in listed.splitlines() if "@@" not in line and not re.search(r" A GM_[0-9.]+$", line)]
    with open(HEADER, encoding="utf-8") as file:
        text = file.read()
    code = re.sub(r"(?s)/\*.*?\*/", "", text)
    declared = set(re.findall(r"\b(gm_\w+)\(", code))
    includes = set(re.findall(r"#include (\S+)", code))
    assert not bare, bare
    assert set(shown) == declared, set(shown) ^ declared
    assert set(shown.values()) == {"GM_1.0"}, shown
    assert includes == {"<stdbool.h>", "<stddef.h>", "<stdint.h>"}, includes
    assert os.path.basename(os.path.realpath(LIBRARY)).startswith("libgm.so.1")
    print(f"{len(declared)} functions")


main()
