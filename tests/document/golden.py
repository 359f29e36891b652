# SPDX-License-Identifier: Apache-2.0
"""What the writers make of the sample reports, against texts that were read line by line. A fact stands there once: a
sample that was made of another has only the lines in which it differs from that one, as `diff -U0` writes them, and of
many equal devices and blocks the first and the last are enough. `check_analysis.py DUMP --update` writes the files
anew: then read the difference."""
import difflib
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent / "golden"
# form: {sample: the one that it was made of, or None}
GOLDENS = {
    "json": {"small": None, "train": "small", "oom": "train", "opaque": "small", "still": "small", "empty": None,
             "eight": None},
    "text": {"train": None, "oom": "train"},
    "markdown": {"train": None},
    "summary": dict.fromkeys(["small", "empty", "eight", "hostile", "train", "oom", "evil", "opaque", "still"]),
    "explain": dict.fromkeys(["small", "train", "oom", "opaque"]),
}
SHOWN = {"eight": {"devices": 1, "top_blocks": 3}}  # of these lists so many at the beginning, and the last


def shortened(text, lists):
    """A JSON text whose long lists lack their middle; elements stand four blanks deep."""
    for key, shown in lists.items():
        before, rest = text.split(f'\n  "{key}": [\n', 1)
        inside, after = rest.split("\n  ]", 1)
        elements = re.split(r"(?<=\n    }),\n", inside + "\n")
        left_out = f"    ({len(elements) - shown - 1} more)"
        kept = elements[:shown] + [left_out] + elements[-1:]
        text = f'{before}\n  "{key}": [\n' + ",\n".join(kept).rstrip("\n") + "\n  ]" + after
    return text


def made(dump, form, sample):
    base = GOLDENS[form][sample]
    text = shortened(dump(sample, form), SHOWN.get(sample, {}) if form == "json" else {})
    if base is None:
        return text
    lines = difflib.unified_diff(dump(base, form).split("\n"), text.split("\n"), base, sample, n=0, lineterm="")
    return "\n".join(lines) + "\n"


def failures(dump, update):
    """What differs, one sentence each; with `update` the files are written instead."""
    found = []
    for form, samples in GOLDENS.items():
        for sample in samples:
            file = FOLDER / f"{sample}.{form}.golden"
            text = made(dump, form, sample)
            if update:
                file.write_text(text, encoding="utf-8", newline="")
                continue
            golden = file.read_text(encoding="utf-8")
            if text != golden:
                lines = list(difflib.unified_diff(golden.split("\n"), text.split("\n"), n=1, lineterm=""))
                found.append(f"{file.name} differs; --update writes it anew:\n" + "\n".join(lines[2:14]))
    left = {file.name for file in FOLDER.iterdir()} - {f"{s}.{form}.golden" for form in GOLDENS for s in GOLDENS[form]}
    return found + [f"{name} is the golden of nothing" for name in sorted(left)]
