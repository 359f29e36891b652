#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The top level holds exactly what it should, `results` only its page, every source says its licence, and no two
production files have one name, no two structs of theirs one tag."""
import collections
import os
import re
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOP = {"CMakeLists.txt", "CMakePresets.json", "analyze", "replay", "kernels", "render", "results", "tests", "docs",
       "README.md", "LICENSE", "dev", ".clang-format", ".clang-tidy", ".editorconfig", ".gitignore", ".ci"}

MAY_REPEAT = {"main.c", "CMakeLists.txt", "README.md"}


def main():
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if listed.returncode != 0 or not os.path.exists(os.path.join(SOURCE, ".git")):
        print("skipped: not a git checkout")
        sys.exit(77)
    files = [path for path in listed.stdout.splitlines() if os.path.lexists(os.path.join(SOURCE, path))]
    wrong = []
    top = {path.split("/")[0] for path in files}
    wrong += [f"{name}: does not belong to the top level" for name in sorted(top - TOP)]
    wrong += [f"{name}: is missing" for name in sorted(TOP - top)]
    for folder, only in (("results", {"results/README.md", "results/.gitignore"}), (".ci", {".ci/run"})):
        here = {path for path in files if path.startswith(folder + "/")}
        wrong += [f"{path}: {folder} holds exactly {sorted(only)}" for path in sorted(here ^ only)]
    for path in files:
        if path.endswith((".c", ".h", ".py", ".sh", ".cu", ".cuh")) or path in ("dev", ".ci/run"):
            with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
                if "SPDX-License-Identifier: Apache-2.0" not in file.read(300):
                    wrong.append(f"{path}: names no licence at its top")
    named, tagged = collections.defaultdict(list), collections.defaultdict(list)
    for path in files:
        if path.startswith(("analyze/", "render/", "replay/", "kernels/")):
            named[os.path.basename(path)].append(path)
            if path.endswith(".h"):
                with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
                    for tag in re.findall(r"(?m)^(?:struct|enum|union) (\w+) \{", file.read()):
                        tagged[tag].append(path)
    wrong += [f"{' and '.join(paths)}: two files of one name" for name, paths in named.items()
              if len(paths) > 1 and name not in MAY_REPEAT]
    wrong += [f"{' and '.join(paths)}: {tag} is defined in both" for tag, paths in tagged.items() if len(paths) > 1]
    for path in ("dev", ".ci/run"):
        if not os.access(os.path.join(SOURCE, path), os.X_OK):
            wrong.append(f"{path}: is not executable")
    print(f"{len(files)} files, {len(wrong)} wrong")
    sys.exit("\n".join(wrong) or 0)


main()
