#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker of links finds broken ones, and names headings as GitHub does."""
import os
import tempfile
import unittest

from check_links import anchors, broken

PAGE = """# A `name()`: of *it*, and more

## Twice
## Twice
## snake_case and [a link](other.md)
<a id="own"></a>

```sh
# no heading; [no link](nowhere.md)
```

`[no link](nowhere.md)`, [out](https://example.org/x), [here](#twice-1), [there](other.md#über-uns), [own](#own)
"""


class Links(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gmanalyze-links-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("other.md", "# Über uns\n")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_headings_are_named(self):
        self.assertEqual(anchors(self.write("page.md", PAGE)),
                         {"a-name-of-it-and-more", "twice", "twice-1", "snake_case-and-a-link", "own"})

    def test_sound_links_are_left_alone(self):
        self.assertEqual(list(broken(self.write("sound.md", PAGE))), [])

    def test_broken_links_are_found(self):
        links = ["missing.md", "other.md#nothing", "#nothing", "sub/other.md", "other.md#Über-uns"]
        for link in links:
            for number, line in enumerate((f"see [it]({link})", f"![it]({link})", f"[it][1]\n\n[1]: {link}", f'[`a`]({link} "b")')):
                with self.subTest(link=link, line=line):
                    page = self.write(f"{links.index(link)}-{number}.md", line + "\n")
                    self.assertEqual(len(list(broken(page))), 1)


unittest.main()
