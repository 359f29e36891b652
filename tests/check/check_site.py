#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages make a site without a warning, and none of its pages fetches anything from elsewhere. Skipped (exit code 77) where
`./dev docs` has not installed its tool yet."""
import html.parser
import os
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FETCHED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
found = []


class Page(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        where = dict(attrs).get(FETCHED.get(tag)) or ""
        if "//" in where:
            found.append(f"<{tag}> of {where}")


def main():
    if not os.path.exists(os.path.join(SOURCE, "build", "venv_docs", "complete")):
        print("skipped: ./dev docs was never run")
        sys.exit(77)
    subprocess.run([os.path.join(SOURCE, "dev"), "docs"], check=True, timeout=120)
    pages = 0
    for folder, _, files in os.walk(os.path.join(SOURCE, "build", "site")):
        for path in (os.path.join(folder, name) for name in files if name.endswith((".html", ".css"))):
            pages += 1
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if path.endswith(".html"):
                Page().feed(text)
            elif "url(http" in text or "url(//" in text or "@import" in text:
                found.append(f"{path} imports")
    print(f"{pages} pages, {len(found)} fetch something")
    sys.exit("\n".join(sorted(set(found))) or 0)


main()
