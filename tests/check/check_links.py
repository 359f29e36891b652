#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every relative link in a page of Markdown leads to a file that is there, and to a heading by the name that GitHub gives it;
every page of docs/ stands once in the site's contents (docs/site/mkdocs.yml)."""
import functools
import os
import re
import sys
import urllib.parse

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = re.compile(r"(?ms)^ *(```+|~~~+).*?^ *\1`* *$|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`)")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^ {0,3}\[[^\]^]+\]:\s*(\S+)", re.M)
HEADING = re.compile(r"(?m)^ {0,3}#{1,6}\s+(.*?)\s*#*$")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def without_fences(text):
    return CODE.sub(lambda found: found[0] if found[2] else "", text)


@functools.lru_cache(maxsize=None)
def anchors(path):
    """The names of a page's headings as GitHub makes them, and those that it gives itself."""
    text, names, often = without_fences(read(path)), set(), {}
    for heading in HEADING.findall(text):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        count = often[name] = often.get(name, -1) + 1
        names.add(f"{name}-{count}" if count else name)
    return names | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))


def broken(path):
    """Says of each link of a page that leads nowhere why."""
    for inside, listed in LINK.findall(CODE.sub("", read(path))):
        link = inside or listed
        if re.match(r"[a-z][a-z0-9+.-]*:", link, re.I):
            continue
        where, _, anchor = urllib.parse.unquote(link).partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(path), where)) if where else path
        if not os.path.exists(target):
            yield f"{link}: there is no such file"
        elif anchor and target.endswith(".md") and anchor not in anchors(target):
            yield f"{link}: there is no such heading"


def pages():
    """README.md at the top, and those of docs and tests."""
    yield os.path.join(SOURCE, "README.md")
    for top in ("docs", "tests"):
        for folder, _, files in os.walk(os.path.join(SOURCE, top)):
            yield from (os.path.join(folder, name) for name in sorted(files) if name.endswith(".md"))


def contents(all_pages):
    """Says what is wrong with the site's contents."""
    listed = re.findall(r"(?m)^ +- .*?: (\S+\.md)$", read(os.path.join(SOURCE, "docs", "site", "mkdocs.yml")))
    there = {path for path in all_pages if path == "README.md" or path.startswith("docs" + os.sep)}
    yield from (f"docs/site/mkdocs.yml: {path} is missing" for path in sorted(there - set(listed)))
    yield from (f"docs/site/mkdocs.yml: {path} is no page" for path in sorted(set(listed) - there))
    yield from (f"docs/site/mkdocs.yml: {path} stands there twice" for path in sorted({x for x in listed if listed.count(x) > 1}))


def main():
    given = sys.argv[1:]
    paths = given or list(pages())
    wrong = [f"{os.path.relpath(path, SOURCE)}: {why}" for path in paths for why in broken(path)]
    if not given:
        wrong += contents([os.path.relpath(path, SOURCE) for path in paths])
    print(f"{len(paths)} pages, {len(wrong)} wrong")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
