# SPDX-License-Identifier: Apache-2.0
"""What the writers make of the sample reports, against texts that were read line by line. A fact stands there once: a
sample that was made of another has only the lines in which it differs from that one, as `diff -U0` writes them, and of
long lists the first rows and the last are enough. README.md is golden for the smallest; of others, how
the words of its sections are not those of the text: "-" is what README.md leaves out, "+" what it alone has.
`check_analysis.py DUMP --update` writes the files anew: then read the difference."""
import difflib
import pathlib
import re
import textwrap

FOLDER = pathlib.Path(__file__).resolve().parent / "golden"
# form: {sample: the one that it was made of, or None}
GOLDENS = {
    "json": {"small": None, "train": "small", "oom": "train", "opaque": "small", "still": "small", "empty": None,
             "eight": None},
    "text": {"train": None, "oom": "train"},
    "markdown": {"small": None},
    "beside": dict.fromkeys(["empty", "eight", "train", "oom", "opaque", "still"]),
    "summary": dict.fromkeys(["small", "empty", "eight", "hostile", "train", "oom", "evil", "opaque", "still"]),
    "explain": dict.fromkeys(["small", "train", "oom", "opaque"]),
}
# Of lists with so many elements, and 20 lines to save, the first three and the last are shown, of devices the first and the
# last. The rows between have sums, which are checked, and stand in the text.
MANY = 7


def shortened(text):
    """A JSON text whose long lists lack their middle; every element begins with a line of its own."""
    lines, out, i = text.split("\n"), [], 0
    while i < len(lines):
        out.append(lines[i])
        found = re.match(r'( *)"(\w+)": \[$', lines[i])
        i += 1
        if not found:
            continue
        end = lines.index(found.group(1) + "]", i) if found.group(1) + "]" in lines[i:] else len(lines)
        end = min(end, lines.index(found.group(1) + "],", i) if found.group(1) + "]," in lines[i:] else len(lines))
        starts = [k for k in range(i, end) if re.match(found.group(1) + r"  [^ \]}]", lines[k])]
        shown = 1 if found.group(2) == "devices" else 3
        if len(starts) >= MANY and starts[-1] - starts[shown] >= 20:
            lines[starts[shown]:starts[-1]] = [f"{found.group(1)}  ({len(starts) - shown - 1} more)"]
    return "\n".join(out)


def parts_of(text, titles):
    """{title in capitals, without its device: the words below it}; what stands before the first title is "HEAD"."""
    parts, found = {}, re.split(titles, "HEAD\n" + text, flags=re.M)
    for title, part in zip(["HEAD"] + found[1::2], found[::2]):
        part = re.sub(r"[\\`*|>&#]|-{2,}|={4,}|</?(details|summary|br|h4)|\.\.\.", " ", part.replace("&lt;", "<"))
        words = {word.strip(".:,;()<[]").lower() for word in part.split()}
        parts.setdefault(re.sub(", DEVICE -?\\d+$", "", title.upper()), set()).update(words - {"", "-", "="})
    return parts


def beside(dump, sample):
    """Section by section, the words that README.md and the text do not share."""
    readme = parts_of(dump(sample, "markdown"), r"^(?:## |<summary>)(.*?)(?:</summary>)?$")
    text = parts_of(dump(sample, "text"), r"(?<=\n\n)([A-Z].*)\n(?=-+\n)")
    lines = []
    for title in dict.fromkeys([*text, *readme]):
        if title not in readme or title not in text:
            lines.append(f"{'-' if title in text else '+'} {title}: all")
            continue
        for sign, words in (("-", text[title] - readme[title]), ("+", readme[title] - text[title])):
            if words:
                lines += textwrap.wrap(f"{sign} {title}: {' '.join(sorted(words))}", 116, subsequent_indent="    ",
                                       break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def made(dump, form, sample):
    if form == "beside":
        return beside(dump, sample)
    base = GOLDENS[form][sample]
    shorten = shortened if form == "json" else str
    text = shorten(dump(sample, form))
    if base is None:
        return text
    lines = difflib.unified_diff(shorten(dump(base, form)).split("\n"), text.split("\n"), base, sample, n=0, lineterm="")
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
