# SPDX-License-Identifier: Apache-2.0
"""The category rules of docs/categories.md, read and applied in the plainest way: the reference for check_categories."""
import functools
import re
import string

LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def lower(text):
    return text.translate(LOWER)


@functools.lru_cache(maxsize=None)
def glob(pattern):
    parts = {"*": ".*", "?": "."}
    return re.compile("".join(parts.get(c) or re.escape(c) for c in lower(pattern)), re.S)


def is_boundary(text, i):
    if i in (0, len(text)):
        return True
    before, after = text[i - 1], text[i]
    if not re.match("[A-Za-z0-9]{2}", before + after) or before.isdigit() != after.isdigit():
        return True
    return after.isupper() and (not before.isupper() or text[i + 1:i + 2].islower())


def starts(word, text):
    """Wherever the word begins, also in another of its kind."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def has_word(word, text):
    return any(is_boundary(text, at) and is_boundary(text, at + len(word)) for at in starts(lower(word), lower(text)))


class Frame:
    def __init__(self, name, filename):
        self.name = name
        self.path = filename.replace("\\", "/")
        self.base = self.path.rsplit("/", 1)[-1]
        self.symbol = re.match(r"(?:[^(]|\((?=anonymous namespace\)))*", name).group()


def file_matches(pattern, frame):
    return glob(pattern).fullmatch(lower(frame.path if "/" in pattern else frame.base))


MATCH = {
    "word": lambda f, w: has_word(w, f.symbol) or has_word(w, f.base),
    "name": lambda f, g: glob(g).fullmatch(lower(f.name)),
    "file": lambda f, g: file_matches(g, f),
    "op": lambda f, o: lower(f.name).startswith(("at::_ops::" + lower(o) + "_", "at::_ops::" + lower(o) + ":")),
}


def matches(patterns, frame):
    return any(glob(p[1]).fullmatch(lower(frame.name)) and file_matches(p[2], frame) if p[0] == "both"
               else MATCH[p[0]](frame, p[1]) for p in patterns)


class Rules:
    def __init__(self, text):
        self.noise, self.tiers, self.known = [], [], {}
        into = None
        for line in text.split("\n"):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "tier":
                self.tiers.append({"name": words[1], "stop": [], "categories": []})
            elif words[0] == "category":
                name = " ".join(w for w in words[1:] if not w.startswith("#"))
                into = {"name": name, "for": [], "not": []}
                self.tiers[-1]["categories"].append(into)
            elif words[0] == "noise":
                into = None
            else:
                target = self.noise if into is None else into["for"]
                if words[0] == "stop":
                    target = self.tiers[-1]["stop"]
                elif words[0] == "not":
                    target = into["not"]
                if words[0] in ("stop", "not"):
                    words = words[1:]
                if words[0] == "both":
                    target.append(tuple(words))
                else:
                    target.extend((words[0], w) for w in words[1:])

    def frame(self, name, filename):
        """Per tier: (category or None, stops); None for noise."""
        key = (name, filename)
        if key not in self.known:
            frame = Frame(name, filename)
            self.known[key] = None if matches(self.noise, frame) else [
                (next((c["name"] for c in t["categories"] if matches(c["for"], frame) and not matches(c["not"], frame)),
                      None), matches(t["stop"], frame)) for t in self.tiers]
        return self.known[key]

    def classify(self, frames):
        """Category and tier of a stack, innermost frame first."""
        if not frames:
            return "No stack recorded", None
        answers = [a for a in (self.frame(f["name"], f["filename"]) for f in frames) if a is not None]
        for t, tier in enumerate(self.tiers):
            for answer in answers:
                if answer[t][0]:
                    return answer[t][0], tier["name"]
                if answer[t][1]:
                    break
        return "Other", None
