# SPDX-License-Identifier: Apache-2.0
"""What libgm shows: exactly the functions of gm.h, all of them of a version; its header needs nothing of ours, and the
program of docs/library.md does what it says. usage: check_symbols.py LIBRARY COMPILER"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIBRARY, COMPILER = sys.argv[1:]
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADERS = os.path.join(SOURCE, "analyze", "lib")


def check_document():
    with open(os.path.join(SOURCE, "docs", "library.md"), encoding="utf-8") as file:
        program = re.search(r"```c\n(.*?)```", file.read(), re.DOTALL)[1]
    with tempfile.TemporaryDirectory() as folder:
        source, built = os.path.join(folder, "program.c"), os.path.join(folder, "program")
        with open(source, "w", encoding="utf-8") as file:
            file.write(program)
        where = os.path.dirname(LIBRARY)
        subprocess.run([COMPILER, "-Wall", "-Wextra", "-Werror", "-pedantic", "-std=c99", source, "-o", built, "-I", HEADERS,
                        "-L", where, f"-Wl,-rpath,{where}", "-lgm"], check=True)
        demo = os.path.join(SOURCE, "tests", "data", "demo.gmtrace")
        done = subprocess.run([built, demo], capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, "15068037120 bytes\n", ""), done
        done = subprocess.run([built, source], capture_output=True, text=True)
        assert done.returncode == 3 and source in done.stderr, done


def main():
    if shutil.which("nm") is None:
        print("skipped: no nm")
        sys.exit(77)
    listed = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    shown = dict(line.split()[-1].split("@@") for line in listed.splitlines() if "@@" in line)
    bare = [line for line in listed.splitlines() if "@@" not in line and not re.search(r" A GM_[0-9.]+$", line)]
    with open(os.path.join(HEADERS, "gm.h"), encoding="utf-8") as file:
        text = file.read()
    code = re.sub(r"(?s)/\*.*?\*/", "", text)
    declared = set(re.findall(r"\b(gm_\w+)\(", code))
    includes = set(re.findall(r"#include (\S+)", code))
    assert not bare, bare
    assert set(shown) == declared, set(shown) ^ declared
    assert set(shown.values()) == {"GM_1.0"}, shown
    assert includes == {"<stddef.h>", "<stdint.h>"}, includes
    assert os.path.basename(os.path.realpath(LIBRARY)).startswith("libgm.so.1")
    check_document()
    print(f"{len(declared)} functions")


main()
