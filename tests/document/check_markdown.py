# SPDX-License-Identifier: Apache-2.0
"""README.md of the sample reports through real Markdown renderers: nothing that a name contains may become markup.

Uses cmarkgfm (GitHub's own renderer) and markdown-it-py, whichever is installed; skipped (exit 77) without both.
usage: check_markdown.py WORDS_DUMP
"""
import html.parser
import re
import subprocess
import sys

import trace_rules

RENDERERS = {}
try:
    import cmarkgfm
    from cmarkgfm.cmark import Options

    RENDERERS["cmarkgfm"] = lambda text: cmarkgfm.github_flavored_markdown_to_html(
        text, Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES)
except ImportError:
    pass
try:
    import markdown_it

    RENDERERS["markdown-it-py"] = markdown_it.MarkdownIt("gfm-like", {"html": True, "linkify": False}).render
except ImportError:
    pass

SAMPLES = ["small", "empty", "eight", "hostile", "flood", "train", "oom", "evil", "opaque", "still"]
VOID = {"img", "br", "hr"}
ALLOWED = {"h1", "h2", "h4", "p", "ul", "ol", "li", "strong", "code", "pre", "table", "thead", "tbody", "tr", "th", "td",
           "details", "summary", "img", "br", "blockquote"}
HAZARD = re.compile(r"@\w|#\d|GH-\d|https?:|www\.|[a-f]\d[0-9a-f]{5}|:\w+:|\$|<(?!0\.1\b)|\[", re.I)

failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


class Page(html.parser.HTMLParser):
    """Collects tags, rows, code spans, and the text that is in no code."""

    def __init__(self, what):
        super().__init__()
        self.what, self.stack, self.rows, self.cells, self.bare, self.codes = what, [], [], 0, "", []
        self.images, self.details, self.cell_texts = [], 0, []

    def handle_starttag(self, tag, attrs):
        expect(tag in ALLOWED, f"{self.what}: a live <{tag}> {attrs}")
        for name, value in attrs:
            expect(not name.startswith("on") and "javascript:" not in (value or "").lower() or name == "alt",
                   f"{self.what}: <{tag} {name}={value}>")
        if tag == "img":
            self.images.append(dict(attrs))
        if tag == "tr":
            self.cells = 0
        if tag in ("td", "th"):
            self.cells += 1
            self.cell_texts.append("")
        if tag == "code":
            self.codes.append("")
        self.details += tag == "details"
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        expect(self.stack and self.stack[-1] == tag, f"{self.what}: </{tag}> closes {self.stack[-3:]}")
        if self.stack and self.stack[-1] == tag:
            self.stack.pop()
        if tag == "table":
            counts = set(self.rows)
            expect(len(counts) == 1, f"{self.what}: rows of {sorted(counts)} cells in one table")
            self.rows = []
        if tag == "tr":
            self.rows.append(self.cells)

    def handle_comment(self, data):
        expect(False, f"{self.what}: a live comment {data!r}")

    def handle_data(self, data):
        if self.cell_texts and ("td" in self.stack or "th" in self.stack):
            self.cell_texts[-1] += data
        if "code" in self.stack:
            self.codes[-1] += data
            return
        for found in HAZARD.finditer(data):
            expect(False, f"{self.what}: {found.group(0)!r} outside code in {data!r}")


def dump(sample):
    done = subprocess.run([sys.argv[1], sample, "markdown"], capture_output=True, check=True)
    return done.stdout.decode("utf-8")


def squeezed(text):
    return " ".join(text.split())


def check(renderer, sample):
    source = dump(sample)
    page = Page(f"{renderer} {sample}")
    page.feed(RENDERERS[renderer](source).replace("[!WARNING]", ""))
    page.close()
    expect(page.stack == [], f"{page.what}: left open: {page.stack}")
    expect(page.details == source.count("\n<details>\n"), f"{page.what}: {page.details} details")
    expect(len(page.images) == 2, f"{page.what}: images {page.images}")
    return page


def check_survival(page):
    """Each hostile name is there to be read, letter by letter, as the cells of the tables."""
    cells = {squeezed(text) for text in page.cell_texts}
    for name in trace_rules.HOSTILE:
        if not re.search(r"[^ -~\u4e2d-\U0001f600]|^ |^$|[0-9a-f]{40}|\"", name):  # those are shown as what can be read
            expect(name in cells, f"{page.what}: {name!r} is not to be read in any cell")


def main():
    if not RENDERERS:
        print("skipped: neither cmarkgfm nor markdown-it-py is installed")
        return 77
    for renderer in RENDERERS:
        for sample in SAMPLES:
            page = check(renderer, sample)
            if sample in ("hostile", "evil"):
                check_survival(page)
    for failure in failures[:30]:
        print(failure)
    print(f"{', '.join(RENDERERS)}: {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
