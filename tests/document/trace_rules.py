# SPDX-License-Identifier: Apache-2.0
"""What must hold of the part of a report that tells a trace, whatever the trace: every list adds up to its peak, the
books balance, nothing unknown is 0, and the text says what the JSON says. For samples and for real snapshots."""
import re
import unicodedata

CONTRACT = ["device", "events", "allocs", "frees", "ooms", "segment_allocs", "segment_frees", "segment_maps",
            "segment_unmaps", "peak_requested_bytes", "peak_allocated_bytes", "peak_active_bytes",
            "peak_reserved_bytes", "peak_event", "peak_time_us", "categories_at_peak", "roles_at_peak"]
LEVELS = ["requested_bytes", "allocated_bytes", "active_bytes", "reserved_bytes"]
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
MAIN = 120  # lines that are read first
LABELS = ["Needs", "Made", "Why", "Do", "Where"]  # of the first lines
# the names in the samples `hostile` and `evil`, as JSON has them
HOSTILE = [
    "a|b", "a\\|b", "a\\\\|b|", "`", "``x`", "`a|b`", "<script>alert(1)</script>", "</details></table><h1>x",
    "<!-- hidden -->", "<!--", "-->", "[click](javascript:alert(1))", "![img](http://evil.example/x.png)",
    "http://evil.example/x", "www.evil.example", "mail@evil.example", "@octocat please", "see #123 and octo/repo#4 or GH-5",
    "deadbeefcafe0123 d6fde92930d4715a2b49857d24b940956b26d2d3", "&lt;b&gt; &amp; &", "*bold* **x** _em_ __y__ ~~z~~",
    "$x^2$ and $$y$$ :tada: :+1:", "- item", "+ item", "1. one", "> quote", "# heading", "---", "===", "```c", "~~~",
    "    code", "[ ] task", "[^1] [ref]: x", "trailing\\", "operator|=(std::vector<int, A<B>>&&)",
    "line\nbreak\r\nand\ttab", "\x1b[31mred\x07", "bad utf8 \ufffd\ufffd(", "\u202eright to left",
    "\u4e2d\u6587\u6587\u4ef6 \U0001f600 wide", "\"quoted\" 'single' \\ %s %n {0} ${x}", "", " ", "|", "||", "| --- | --- |"]


def columns(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def size_of(shown):
    number, unit = shown.split(" ")
    return float(number) * UNITS[unit]


def about(shown, exact):
    """Whether a size as shown ("1.59 GiB") is that many bytes: it has three significant digits."""
    return abs(size_of(shown) - exact) <= max(exact * 0.005, 0.5)


def total(rows, key="bytes"):
    return sum(row[key] for row in rows)


def has(value):
    """Whether a key of a device tells anything."""
    return bool(value.get("rows") if isinstance(value, dict) and "rows" in value else value)


class Rules:
    def __init__(self, what):
        self.what, self.failures = what, []

    def expect(self, condition, message):
        if not condition:
            self.failures.append(f"{self.what}: {message}")

    # ---- JSON ----

    def slices(self, rows, whole, name):
        """None: not known."""
        if rows is None:
            return
        self.expect(total(rows) == whole, f"{name} sum to {total(rows)}, not {whole}")
        order = [row["bytes"] for row in rows]
        self.expect(order == sorted(order, reverse=True), f"{name} are not sorted")
        for row in rows:
            exact = 100 * row["bytes"] / whole if whole else None
            self.expect(row["percent"] == exact or abs(row["percent"] - exact) < 0.00006,
                        f"{name}: {row['percent']} %, not {exact}")

    def groups(self, table, whole, name):
        if table is None:
            return
        self.expect(total(table["rows"]) + table["rest_bytes"] == whole,
                    f"{name}: {total(table['rows'])} + {table['rest_bytes']} is not {whole}")
        self.expect(table["total"] >= len(table["rows"]), f"{name}: total")
        self.expect(table["total"] > len(table["rows"]) or table["rest_bytes"] == 0, f"{name}: rest without rows")
        for row in table["rows"]:
            without = row["peak_without_bytes"]
            self.expect(without is None or whole - row["bytes"] <= without <= whole,
                        f"{name} {row['label']}: {row['bytes']} bytes, {without} without")

    def moments(self, d, known):
        peaks = d["peaks"]
        self.expect(peaks["requested"]["requested_bytes"] == d["peak_requested_bytes"], "peaks.requested")
        self.expect(peaks["requested"]["event"] == d["peak_event"], "peaks.requested.event")
        self.expect(peaks["requested"]["time_us"] == d["peak_time_us"], "peaks.requested.time_us")
        if not known:
            self.expect(peaks["allocated"] is None and peaks["active"] is None, "unknown peaks")
            self.expect(peaks["requested"]["active_bytes"] is None, "unknown levels")
            return
        self.expect(peaks["allocated"]["allocated_bytes"] == d["peak_allocated_bytes"], "peaks.allocated")
        self.expect(peaks["active"]["active_bytes"] == d["peak_active_bytes"], "peaks.active")
        for moment in [m for m in peaks.values() if m]:
            for key, peak in zip(LEVELS, ["requested", "allocated", "active", "reserved"]):
                self.expect(peaks[peak] is None or moment[key] <= peaks[peak][key], f"{key} is above its peak")
            self.expect(moment["requested_bytes"] <= moment["active_bytes"], f"requested over active: {moment}")
            self.expect(moment["allocated_bytes"] <= moment["active_bytes"], f"allocated over active: {moment}")
            cached = moment["reserved_bytes"] - moment["active_bytes"]  # less than 0: blocks outside all segments
            self.expect(moment["cached_bytes"] == (cached if cached >= 0 else None), f"cached: {moment}")

    def books(self, b):
        if not b["reconstructed"]:
            self.expect(b["reason"], "not reconstructed, and no reason")
            self.expect("at_end" not in b, "books without a reconstruction")
            return
        for key, residual in [("active_bytes", "residual_active_bytes"), ("reserved_bytes", "residual_reserved_bytes")]:
            self.expect(b["at_end"][key] - b["snapshot"][key] == b[residual], f"books: {residual}")
        self.expect(b["at_start"]["active_bytes"] == b["baseline_bytes"], "books: baseline")
        self.expect(b["at_end"]["active_bytes"] >= b["never_freed_bytes"], "books: never freed")
        self.expect(b["end_blocks_same"] <= b["end_blocks"], "books: end blocks")

    def savings(self, d):
        before = d["peak_requested_bytes"]
        for row in d["savings"]:
            self.expect(before - row["saved_bytes"] == row["peak_after_bytes"], f"saving {row} of {before}")
            self.expect(row["saved_bytes"] <= row["bytes_at_peak"], f"saving {row} saves more than it holds")
            before = row["peak_after_bytes"]
        for peak in d["next_peaks"]:
            self.expect(peak["requested_bytes"] <= d["peak_requested_bytes"], f"next peak {peak}")

    def ooms(self, d, known):
        self.expect(len(d["out_of_memory"]) <= d["ooms"], "more ooms than there are")
        for oom in d["out_of_memory"]:
            levels = oom["levels"]
            for key in ("categories", "roles"):
                if oom[key]:
                    self.slices(oom[key], levels["requested_bytes"], f"oom {key}")
            self.expect((oom["unusable_bytes"] is not None) == known, "oom: unusable")
            if known:
                cached = levels["reserved_bytes"] - levels["active_bytes"]
                self.expect(sum(oom["unusable_bytes"].values()) == cached, f"oom: cached {oom['unusable_bytes']}")

    def steps(self, steps):
        if steps is None or steps["source"] is None:
            return
        rows = steps["rows"]
        for a, b in zip(rows, rows[1:]):
            self.expect(a["last_event"] < b["first_event"], f"steps overlap: {a['label']}, {b['label']}")
        for row in rows:
            self.expect(row["end"]["requested_bytes"] <= row["peak"]["requested_bytes"], f"step {row['label']}: peak")
            for phase, peak in row["phase_peaks"].items():
                self.expect(peak <= row["peak"]["requested_bytes"], f"step {row['label']}: peak of {phase}")

    def history(self, d, known):
        h = d["fragmentation_history"]
        self.expect((h is not None) == known, "fragmentation_history")
        if not known:
            return
        for growth in h["largest_growths"]:
            if not growth["is_first"] and any(growth["unusable_bytes"].values()):
                self.expect(sum(growth["unusable_bytes"].values()) == growth["cached_bytes"], f"growth {growth}")
        self.expect(total(h["largest_growths"]) <= h["growth_bytes"], "growths")
        self.expect(total(h["rounding"], "waste_bytes") <= h["rounding_bytes"], "rounding")
        for sample in h["samples"]:
            self.expect(sample["stranded_bytes"] <= sample["cached_bytes"], f"stranded {sample}")

    def device(self, d, allocated):
        self.expect(list(d)[:len(CONTRACT)] == CONTRACT, f"keys {list(d)[:len(CONTRACT)]}")
        peak, known = d["peak_requested_bytes"], d["books"]["reconstructed"]
        for key in ("peak_allocated_bytes", "peak_active_bytes"):
            self.expect((d[key] is not None) == known, f"{key} {d[key]}")
        for key in ("categories_at_peak", "roles_at_peak", "lifetimes_at_peak"):
            self.slices(d[key], peak, key)
        self.groups(d["call_sites_at_peak"], peak, "call_sites_at_peak")
        self.groups(d["groups_at_peak"], peak, "groups_at_peak")
        self.moments(d, known)
        self.books(d["books"])
        self.savings(d)
        self.ooms(d, known)
        self.steps(d["steps"])
        self.history(d, known)
        reasons = d["role_reasons"]
        if reasons:
            self.expect(total(reasons, "bytes_at_peak") == peak, "role_reasons at the peak")
            self.expect(total(reasons, "bytes_at_end") == allocated, "role_reasons at the end")

    def json(self, report):
        allocated = {d["device"]: d["allocated_bytes"] for d in report["devices"]}
        for d in report["timeline"]["devices"]:
            self.device(d, allocated[d["device"]])
        if report["roles"] is not None:
            self.slices(report["roles"], report["totals"]["allocated_bytes"], "roles")

    # ---- text ----

    def layout(self, text, has_blanks=False):
        for number, line in enumerate(text.split("\n"), 1):
            self.expect(columns(line) <= 80, f"line {number} has {columns(line)} columns: {line!r}")
            self.expect(has_blanks or line == line.rstrip(" "), f"line {number} ends in blanks")
            lost = re.search(r"(?<=\.\.\.)[^\s/\\\\]*\.py:\d+$", line)
            self.expect(not lost or has_blanks, f"line {number} has lost the beginning of a file's name: {line!r}")

    def main(self, text):
        """What is read first ends before the appendix, and soon."""
        main = re.split(r"\n\nAPPENDIX\n={80}\n", text)
        self.expect(len(main) == 2, f"{len(main) - 1} appendices")
        lines = main[0].count("\n") + 1
        self.expect(lines <= MAIN, f"{lines} lines are read first")

    def text(self, text, report):
        """The rows that a person sees are those of the JSON."""
        self.layout(text)
        self.main(text)
        lines = text.split("\n")
        for mark in ("SALVAGED", "FILTERED", "DOUBTFUL"):
            if lines[0].startswith(mark):
                lines = lines[lines.index("") + 1:]
        self.expect([line.split()[0] for line in lines[:5]] == LABELS, f"begins with {lines[:5]}")
        devices = report["timeline"]["devices"]
        titles = {title for title, line in re.findall(r"\n\n([A-Z].*?)(?:, DEVICE -?\d+)?\n(-+)(?=\n)", text)}
        wanted = {"TO DO", "PEAK", "THE PEAK IN FULL", "STEPS", "FRAGMENTATION", "RELIABILITY", "STATE AT THE END", "SUMMARY"}
        told = {"CALL SITES AT THE PEAK": "call_sites_at_peak", "CALL SITES AT THE PEAK, WITH STACKS": "call_sites_at_peak",
                "NEXT PEAKS": "next_peaks", "SAVINGS": "savings", "STEP BY STEP": "steps",
                "FRAGMENTATION OVER TIME": "fragmentation_history", "OUT OF MEMORY": "ooms",
                "OUT OF MEMORY: WHERE EVERY BYTE WAS": "ooms"}
        highest = max(devices, key=lambda d: d["peak_requested_bytes"])
        wanted |= {title for title, key in told.items() if has(highest[key])}
        self.expect(wanted <= titles, f"lacks {sorted(wanted - titles)}")
        if highest["peak_requested_bytes"]:
            self.levels(lines[0], highest)
            shown = re.search(r"unused ([\d.]+ \S+B)", lines[1])
            cached = highest["peaks"]["requested"]["cached_bytes"]
            self.expect(not shown or about(shown.group(1), cached), f"{lines[1]!r}: {cached} were cached")
        self.tables(text, devices)
        self.residuals(text, devices)
        self.trends(text, devices)
        if len(devices) == 1:
            self.expect("distinct peaks are as high" not in text or "No other peak" not in text, "peaks, and no other")
        self.to_do(lines, text, report)

    def to_do(self, lines, text, report):
        """One list, of which the lines on top tell the first; every finding is in it or among the facts behind it, once.
        What one call site saves, and what failed, is told in sections of their own."""
        self.expect(text.count("\nTO DO\n-----\n") == 1, "no list of what to do, or two")
        for other in ("What to do", "RECOMMENDATIONS", "\nFinding "):
            self.expect(other not in text, f"a second list: {other!r}")
        section = re.split(r"\n\n[A-Z]", text.split("\nTO DO\n-----\n")[1])[0]
        flat = " ".join(text.split("\nTO DO\n-----\n")[1].split())
        first = re.split(r"\n\n +2\. ", section)[0]
        listed = {item["finding"] for item in report["to_do"]}
        for finding in report["findings"]:
            times = finding["id"] not in ("peak-by-one-site", "out-of-memory") or finding["id"] in listed
            self.expect(flat.count(" ".join(finding["detail"].split())) == times, f"{finding['id']} is not told once")
        site = re.search(r"(?:\.\.\.)?([^\s/\\]+\.py:\d+)(, from \S+)?$", lines[4])
        if site and "out of memory" not in lines[2] and report["to_do"] and report["to_do"][0]["site"]:
            self.expect(site.group(1) in first, f"{lines[4]!r}, but the first is {first!r}")
        for finding in report["findings"]:
            if lines[2].startswith(f"Why     {finding['title']}"):
                self.expect(finding["title"] in " ".join(first.split()), f"{lines[2]!r}, but the first is {first!r}")

    def levels(self, line, d):
        """What the first line says was reserved and allocated was so at the peak of requested bytes."""
        then, most = d["peaks"]["requested"], d["peak_reserved_bytes"]
        shown = re.search(r" ([\d.]+ \S*B) reserved(?: \(([\d.]+ \S*B) at most\))?", line)
        self.expect(shown or not most, f"{line!r} does not say what was reserved")
        if shown:
            self.expect(about(shown.group(1), then["reserved_bytes"]), f"{line!r}: {then} then")
            self.expect(about(shown.group(2) or shown.group(1), most), f"{line!r}: {most} were reserved at most")
        shown = re.search(r" ([\d.]+ \S*B) (allocated|requested)", line)
        self.expect(shown and about(shown.group(1), then[shown.group(2) + "_bytes"]), f"{line!r}: {then} then")

    def trends(self, text, devices):
        """A trend is of three whole steps at least; without steps nothing is said of what repeats: peaks may."""
        section = "".join(re.findall(r"\nSTEP(?:S|\x20BY STEP)(?:, DEVICE .*)?\n-+\n((?:.+\n|\n(?![A-Z]))*)", text))
        self.expect("do not repeat" not in section, "the allocations are said not to repeat")
        for steps in (d["steps"] for d in devices if len(devices) == 1 and d["steps"]):
            whole = sum(not row["is_partial"] for row in steps["rows"])
            if whole < 3:
                self.expect(steps["pattern"] == "unknown" and steps["slope_bytes_per_step"] is None,
                            f"{whole} whole steps are {steps['pattern']}, slope {steps['slope_bytes_per_step']}")
                self.expect("change by" not in section, f"{whole} whole steps have a trend: {section}")

    def tables(self, text, devices):
        title = r"\n(?:  )?the peak in full(?:, device -?\d+)?\n"
        parts = re.split(title, text, flags=re.I)[1:]
        devices = [d for d in devices if d["categories_at_peak"]]
        self.expect(len(parts) == len(devices), "a table of categories for each device")
        row = re.compile(r"^  (\S.*?) +([\d.]+ [KMGT]?i?B)(?: +([\d,]+))? +(<?[\d.]+ %|n/a)$", re.M)
        for part, d in zip(parts, devices):
            roles, categories = d["roles_at_peak"] or [], d["categories_at_peak"]
            section = re.split(r"\n.+\n-{4,}\n", part)[0]
            for heading, wanted in (("Live then, by category", categories if roles or len(categories) > 7 else []),
                                    ("By role", roles if len(roles) > 7 else [])):  # else the brief table has all
                shown = section.partition(f"\n  {heading}\n")[2].partition("\n\n")[0]
                found = row.findall(shown)
                self.expect(bool(found) == bool(wanted), f"rows {shown!r}")
                for (name, size, blocks, _), want in zip(found, wanted):
                    if name.endswith(" smaller"):
                        break
                    self.expect(name == " ".join(want["name"].split()) and about(size, want["bytes"]) and
                                blocks == f"{want['blocks']:,}", f"row {name} {size} {blocks}, not {want}")
                if found:
                    self.expect(abs(sum(size_of(f[1]) for f in found) - d["peak_requested_bytes"]) <=
                                max(0.005 * d["peak_requested_bytes"], 0.5 * len(found)), f"rows of {shown!r}")

    def residuals(self, text, devices):
        told = re.findall(r"Residual, end - snapshot: ([^;]*);", " ".join(text.split()))
        found = [part.rsplit(" ", 1)[::-1] for line in told for part in line.split(", ")]
        known = [d["books"] for d in devices if d["books"]["reconstructed"]]
        wanted = [(key, b[f"residual_{key}_bytes"]) for b in known for key in ("active", "reserved")]
        self.expect([key for key, _ in found] == [key for key, _ in wanted], f"residuals {found}")
        for (_, shown), (key, exact) in zip(found, wanted):
            self.expect(about(shown.lstrip("-"), abs(exact)) and shown.startswith("-") == (exact < 0),
                        f"residual {key} {shown}, not {exact}")

    def explained(self, text):
        self.layout(text)
        self.expect("DIFFERS" not in text, "the sums of --explain differ")
