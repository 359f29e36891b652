# SPDX-License-Identifier: Apache-2.0
"""What the writers make of the sample reports, checked from outside: no line wider than 80 columns, JSON as the schema
says (keys in order, sums, absent is null), README.md short enough for a comment on GitHub.

usage: check_analysis.py ANALYSIS_DUMP [--update]
"""
import functools
import json
import pathlib
import re
import subprocess
import sys
import unicodedata

import golden
import trace_rules

STILL = ["small", "empty", "eight", "hostile", "flood", "still"]  # no trace to tell of
FIVE = ["Needs", "Made of", "Why", "Do this", "Where"]
TRACED = ["train", "oom", "opaque"]
SAMPLES = STILL + TRACED + ["evil"]
EVIL = ["hostile", "evil"]
TOTALS = ["reserved_bytes", "allocated_bytes", "active_bytes", "requested_bytes", "inactive_bytes", "rounding_bytes",
          "efficiency_percent"]
TOP = ["schema", "snapshot", "totals", "devices", "categories", "roles", "top_blocks", "fragmentation", "timeline",
       "findings"]
SNAPSHOT = ["path", "bytes", "format", "compression", "segments", "blocks", "events"]
SLICE = ["name", "bytes", "blocks", "percent"]
BLOCK = ["rank", "bytes", "requested_bytes", "address", "device", "stream", "category", "role", "frames"]
FRAGMENTATION = ["inactive_blocks", "largest_inactive_bytes", "unused_over_100MiB", "releasable_bytes",
                 "empty_cache_bytes", "stranded_bytes"]
TIMELINE = ["device", "events", "allocs", "frees", "ooms", "segment_allocs", "segment_frees", "segment_maps",
            "segment_unmaps", "peak_requested_bytes", "peak_allocated_bytes", "peak_active_bytes",
            "peak_reserved_bytes", "peak_event", "peak_time_us", "categories_at_peak", "roles_at_peak"]
SITE = ["site", "category", "bytes", "blocks", "percent"]
FINDING = ["id", "severity", "title", "detail", "bytes"]
LEDGER = "LEDGER: WHERE EVERY RESERVED BYTE IS"

failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


@functools.lru_cache(maxsize=None)
def dump(sample, form):
    done = subprocess.run([sys.argv[1], sample, form], capture_output=True, check=True)
    return done.stdout.decode("utf-8")  # must be valid


def columns(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def check_text(sample):
    text = dump(sample, "text")
    for number, line in enumerate(text.split("\n"), 1):
        expect(columns(line) <= 80, f"{sample} text line {number} has {columns(line)} columns: {line!r}")
        unsafe = re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]", line)
        expect(not unsafe, f"{sample} text line {number}: {line!r}")
        expect(line == line.rstrip(" ") or sample in EVIL, f"{sample} text line {number} ends in blanks")
    rules = trace_rules.Rules(sample)
    rules.main(text)
    failures.extend(rules.failures)
    for title in ["SUMMARY", "MEMORY BY CATEGORY", "LARGEST CALL SITES", "BLOCKS BY SIZE",
                  "TO DO", "PER DEVICE", "PER POOL", "PER STREAM", LEDGER,
                  "ALLOCATOR SETTINGS", "TRACE", "WARNINGS"]:
        expect(f"\n{title}\n{'-' * len(title)}\n" in text, f"{sample} text lacks {title}")
    start = text.split("\n")
    for mark in ("SALVAGED", "FILTERED", "DOUBTFUL"):
        if start[0].startswith(mark):
            start = start[start.index("") + 1:]
    end = start if sample in STILL else text.split("\nSTATE AT THE END\n")[1].split("\n")[1:]
    labels = trace_rules.LABELS if sample in STILL else ["Memory", "Largest", "Where", "Cached"]
    expect([line.split()[0] for line in end[:len(labels)]] == labels, f"{sample} text does not tell the state at the end")
    expect("What to do" not in text and "Finding " not in text, f"{sample} text has a second list of what to do")
    expect(sample in STILL or [line.split()[0] for line in start[:5]] == trace_rules.LABELS,
           f"{sample} text does not begin with the peak")
    expect(not re.search(r"(?<![\d.])0\.0 %", re.sub(r"\b0 B +0 +0\.0 %|\b0 B \(0\.0 %\)|\b0 B +0\.0 %", "", text)),
           f"{sample} text: a share of 0.0 %")
    check_ledger_text(sample, text)
    check_summary_text(sample, text)


def check_summary_text(sample, text):
    """The rows of the summary add up to what is reserved, if need be by what is unexplained."""
    rows = {}
    for line in section(text, "SUMMARY"):
        found = re.match(r"  (\w+) .* -?[\d.]+ [KMGT]?i?B +(-?[\d,]+)(?: +(<?[\d.]+ %|n/a))?(?: +[\d,]+)?$", line)
        if found:
            rows[found.group(1)] = int(found.group(2).replace(",", ""))
            expect(found.group(3) != "0.0 %" or rows[found.group(1)] == 0, f"{sample} summary: {line!r}")
    unexplained = rows.get("Unexplained", 0)
    expect(rows["Active"] + rows["Inactive"] + unexplained == rows["Reserved"], f"{sample} summary: {rows}")
    expect(("Unexplained" in rows) == (sample in ("eight", "flood")), f"{sample} summary: {rows}")


def check_ledger_text(sample, text):
    """The rows that a person sees add up to the sum that he sees."""
    lines = [re.fullmatch(r"(.*?) {2,}(-?[\d,]+)(?: B| \(-?[\d.]+ \S*B\))?", line.strip()) for line in section(text, LEDGER)]
    rows = {line.group(1).strip(): int(line.group(2).replace(",", "")) for line in lines if line}
    parts = [value for name, value in rows.items() if name.startswith(("allocated blocks", "blocks", "cached"))]
    expect(len(parts) == 5 and sum(parts) == rows["sum of these"], f"{sample}: the ledger's rows do not add up: {rows}")
    expect(rows["reserved (sum of the segments)"] - rows["sum of these"] == rows["residual (reserved - sum)"],
           f"{sample}: residual {rows}")


def check_verdict(sample, text, report):
    """What stands on top of the text, and the list of what to do, is in the JSON, too."""
    if sample in EVIL + ["flood"]:  # whose names look like anything
        return
    flat = " ".join(text.split())
    labels = [line["label"] for line in report["headline"]]
    told = [line[:8].strip() for line in text.split("\n") if line[:8].strip() in labels][:len(labels)]
    expect(told == labels, f"{sample}: the headline {labels} is not that of the text")
    expect((report["reliability"]["verdict"] == "doubtful") == ("\nDOUBTFUL " in "\n" + text), f"{sample} reliability")
    for item in report["to_do"]:
        title = f"[{item['severity']}] {item['title']}"
        expect(" ".join(title.split()) in flat, f"{sample}: {title!r} is not in the text")


UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def about(shown, exact):
    """Whether a size as shown ("1.59 GiB") is that many bytes: it has three significant digits."""
    number, unit = shown.split(" ")
    return abs(float(number) * UNITS[unit] - exact) <= max(exact * 0.005, 0.5)


def is_share(shown, percent):
    """Whether a share as shown ("12.3", "<0.1") is that percentage; what is there is never shown as 0.0."""
    if shown == "<0.1":
        return 0 < percent <= 0.05
    return abs(float(shown) - percent) < 0.051 and (shown != "0.0" or percent == 0)


def check_call_sites(sample, report):
    sites = report["call_sites"]
    allocated = report["totals"]["allocated_bytes"]
    for row in sites:
        expect(sorted(row) == sorted(SITE), f"{sample} call site {list(row)}")
        exact = 100 * row["bytes"] / allocated
        expect(abs(row["percent"] - exact) < 0.00006, f"{sample} call site: {row['percent']} is not {exact}")
    order = [row["bytes"] for row in sites]
    expect(order == sorted(order, reverse=True), f"{sample} call sites are not sorted")
    expect(sum(order) <= allocated, f"{sample} call sites hold {sum(order)} of {allocated}")
    expect(report["call_sites_total"] >= len(sites), f"{sample} call_sites_total")


def section(text, title):
    return re.split(r"\n\n[A-Z]", text.split(f"\n{title}\n{'-' * len(title)}\n")[1])[0].split("\n")


def check_call_sites_text(sample, text, report):
    """The rows that a person sees are those of the JSON, and the line below says what they add up to."""
    sites = report["call_sites"][:20]
    if not sites:
        return
    # a long file's name stands below its row
    lines = re.sub(r"\n {4,}(\S+:\d+)(?=\n)", r"  \1", "\n".join(section(text, "LARGEST CALL SITES"))).split("\n")
    rows = lines[1:1 + len(sites)]
    for line, row in zip(rows, sites):
        found = re.match(r" {1,}(\d[\d.]* [KMGT]?i?B) +([\d,]+) +(<?[\d.]+) %  (\S.*)$", line)
        expect(found, f"{sample} call site: {line!r}")
        if not found:
            continue
        expect(about(found.group(1), row["bytes"]), f"{sample} call site {line!r}: {row['bytes']}")
        expect(found.group(2) == f"{row['blocks']:,}", f"{sample} call site {line!r}: {row['blocks']}")
        expect(is_share(found.group(3), row["percent"]), f"{sample} call site {line!r}: {row['percent']}")
        line_number = re.search(r":\d+$", row["site"])
        expect(not line_number or line.endswith(line_number.group(0)), f"{sample} call site {line!r}: {row['site']}")
    total = " ".join(" ".join(lines[1 + len(sites):]).split())
    shown = sum(row["site"] != "no stack recorded" for row in sites)
    found = re.match(r"(?:([\d,]+) of [\d,]+ call sites|All ([\d,]+) call sites|The only call site)"
                     r"(, and blocks without a stack)?: ([\d.]+ \S*B), (<?[\d.]+) % of allocated\.$", total)
    expect(found, f"{sample} call sites: {total!r}")
    if found:
        expect(int(found.group(1) or found.group(2) or "1") == shown, f"{sample}: {total!r}, not {shown}")
        expect((found.group(3) is not None) == (shown < len(sites)), f"{sample}: {total!r}")
        expect(about(found.group(4), sum(row["bytes"] for row in sites)), f"{sample}: {total!r}")
        share = 100 * sum(row["bytes"] for row in sites) / report["totals"]["allocated_bytes"]
        expect(is_share(found.group(5), share), f"{sample}: {total!r}, not {share}")


def runs_of(blocks):
    """[(first rank, last rank)]: three or more equal blocks in a row are one entry."""
    key = lambda b: [b[k] for k in ("bytes", "category", "site", "device", "stream")]
    runs = []
    for block in blocks:
        if runs and key(blocks[runs[-1][0] - 1]) == key(block):
            runs[-1][1] = block["rank"]
        else:
            runs.append([block["rank"], block["rank"]])
    return [part for first, last in runs
            for part in ([(first, last)] if last - first >= 2 else [(r, r) for r in range(first, last + 1)])]


def check_top_blocks_text(sample, text, report):
    blocks = report["top_blocks"]
    if not blocks:
        return
    found = []
    title = f"THE {len(blocks)} LARGEST BLOCKS" if len(blocks) > 1 else "THE LARGEST BLOCK"
    lines = section(text, title)
    for i, line in enumerate(lines):
        entry = re.match(r" {2,8}(\d+)(?:-(\d+))? +(?:(\d+) x )?([\d.]+ [KMGT]?i?B)  ", line)
        if not entry:
            continue
        first, last = int(entry.group(1)), int(entry.group(2) or entry.group(1))
        found.append((first, last))
        expect(about(entry.group(4), blocks[first - 1]["bytes"]), f"{sample} block {line!r}")
        expect(int(entry.group(3) or "1") == last - first + 1, f"{sample} block {line!r}")
        if sample not in EVIL:
            expect(line.endswith(f" {blocks[first - 1]['address']:#x}"), f"{sample} block {line!r}")
        note = next((l for l in lines[i + 1:i + 14] if " in all" in l), "") if last > first else ""
        total = re.search(r"([\d.]+ [KMGT]?i?B) in all", note)
        expect((total is not None) == (last > first), f"{sample} block {line!r}")
        if total:
            expect(about(total.group(1), sum(b["bytes"] for b in blocks[first - 1:last])), f"{sample} block {line!r}")
    expect(found == runs_of(blocks), f"{sample} top blocks: {found}, not {runs_of(blocks)}")


def check_where(sample, text, report):
    line = re.findall(r"^Where   (.*)$", text, re.M)[-1]  # of the state at the end
    row = next((row for row in report["call_sites"] if row["site"] != "no stack recorded"), None)
    if row:
        expect(about(re.match(r"[\d.]+ \S*B", line).group(0), row["bytes"]), f"{sample} where: {line!r}")
        count = "one block" if row["blocks"] == 1 else f"{row['blocks']:,} blocks"
        share = "<0.1" if 0 < row["percent"] < 0.05 else f"{row['percent']:.1f}"
        expect(f"({share} %) in {count}: " in line, f"{sample} where: {line!r}")


def keys_begin(mapping, wanted, what):
    expect(list(mapping)[:len(wanted)] == wanted, f"{what}: keys {list(mapping)[:len(wanted)]}, not {wanted}")


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    expect(len(keys) == len(set(keys)), f"duplicate keys in {keys}")
    return dict(pairs)


def check_totals(t, what, residual=0):
    keys = [key for key in t if key in TOTALS]
    expect(keys == TOTALS, f"{what}: totals {keys}")
    for key in TOTALS[:-1]:
        expect(type(t[key]) is int, f"{what}: {key} is {t[key]!r}")
    expect(t["reserved_bytes"] == t["active_bytes"] + t["inactive_bytes"] + residual, f"{what}: reserved")
    expect(t["active_bytes"] == t["allocated_bytes"] + t["pending_bytes"], f"{what}: active")
    expect(t["active_bytes"] == t["requested_bytes"] + t["rounding_bytes"], f"{what}: rounding")
    if t["reserved_bytes"] == 0:
        expect(t["efficiency_percent"] is None, f"{what}: efficiency of nothing")
    else:
        expect(abs(t["efficiency_percent"] - 100 * t["allocated_bytes"] / t["reserved_bytes"]) < 0.00006,
               f"{what}: efficiency {t['efficiency_percent']}")


def check_json(sample):
    text = dump(sample, "json")
    expect(text.endswith("}\n"), f"{sample} json ends in {text[-3:]!r}")
    for percent in re.findall(r'"(?:percent|efficiency_percent)": ([^,}\n]+)', text):
        expect(percent == "null" or re.fullmatch(r"\d+\.\d{4}", percent), f"{sample}: percent {percent}")
    report = json.loads(text, object_pairs_hook=no_duplicates)
    has_trace = any(True for _ in report.get("timeline", {}).get("devices", []))
    keys_begin(report, TOP if has_trace else [key for key in TOP if key != "timeline"], sample)
    expect(report["schema"] == "gmanalyze.analysis/1", "schema")
    expect((report["roles"] is None) == (sample not in ("train", "oom", "evil")), f"{sample} roles")
    keys_begin(report["snapshot"], SNAPSHOT, f"{sample} snapshot")
    keys_begin(report["totals"], TOTALS, f"{sample} totals")
    check_totals(report["totals"], sample, report["ledger"]["residual_bytes"])
    for device in report["devices"]:
        keys_begin(device, ["device"] + TOTALS, f"{sample} device")
        check_totals(device, f"{sample} device {device['device']}", device["ledger"]["residual_bytes"])
        order = [key for key in device if key in ("streams", "pools")]
        expect(order == ["streams", "pools"], f"{sample} device: {order}")
        for part in device["streams"] + device["pools"]:
            check_totals(part, f"{sample} device {device['device']} {part}")
    for c in report["categories"]:
        keys_begin(c, SLICE, f"{sample} category")
    for i, block in enumerate(report["top_blocks"], 1):
        keys_begin(block, BLOCK, f"{sample} block")
        expect(block["rank"] == i, "rank")
        for frame in block["frames"]:
            expect(list(frame) == ["name", "filename", "line"], f"{sample} frame {list(frame)}")
    keys_begin(report["fragmentation"], FRAGMENTATION, f"{sample} fragmentation")
    expect(list(report["fragmentation"]["unused_over_100MiB"]) == ["blocks", "bytes"], "unused_over_100MiB")
    for device in report.get("timeline", {"devices": []})["devices"]:
        keys_begin(device, TIMELINE, f"{sample} timeline")
        expect(device["events"] > 0, f"{sample} timeline without events")
    for finding in report["findings"]:
        expect(list(finding) == FINDING, f"{sample} finding {list(finding)}")
        expect(finding["severity"] in ("info", "warning", "critical"), finding["severity"])
    check_call_sites(sample, report)
    return report


def check_values(reports):
    """Figures of the samples as sample.c describes them, worked out here."""
    MIB = 1 << 20
    small = reports["small"]
    expect(small["totals"]["efficiency_percent"] == 75.0, "small efficiency")
    expect(sum(c["bytes"] for c in small["categories"]) == 768 * MIB == small["totals"]["allocated_bytes"], "small sum")
    expect([c["percent"] for c in small["categories"]] == [66.6667, 33.3333], "small percents")
    f = small["fragmentation"]
    expect(f["releasable_bytes"] + f["stranded_bytes"] == 254 * MIB, "small cached")
    expect(small["totals"]["inactive_bytes"] == 254 * MIB, "small inactive")
    expect(small["timeline"]["devices"][0]["peak_reserved_bytes"] == 1200 * MIB, "small peak")
    expect(small["timeline"]["devices"][0]["peak_allocated_bytes"] is None, "small peak allocated")
    expect(small["top_blocks"][0]["frames"][0]["line"] is None, "absent line")
    forward = {"name": "forward", "filename": "/home/user/project/model/attention.py", "line": 88}
    expect(small["top_blocks"][0]["frames"][3] == forward, "frame")
    expect(small["ledger"]["residual_bytes"] == 0, "small residual")
    expect(small["findings"][1]["bytes"] is None, "absent bytes")
    expect(small["created"] == "2025-11-14 14:30:25", "created")

    expect(small["call_sites"] == [
        {"site": "forward  model/attention.py:88", "category": "Attention", "bytes": 512 * MIB, "blocks": 1,
         "percent": 66.6667},
        {"site": "forward  model/mlp.py:17", "category": "MLP", "bytes": 256 * MIB, "blocks": 2,
         "percent": 33.3333}], "small call sites")

    empty = reports["empty"]
    expect(empty["call_sites"] == [] and empty["call_sites_total"] == 0, "empty call sites")
    expect("timeline" not in empty and empty["settings"] is None and empty["devices"] == [], "empty")
    expect(empty["snapshot"]["salvaged"] is None and empty["host_memory"] is None, "empty")

    eight = reports["eight"]
    expect([d["device"] for d in eight["devices"]] == list(range(8)), "eight devices")
    for key in TOTALS[:-1]:
        expect(sum(d[key] for d in eight["devices"]) == eight["totals"][key], f"eight: devices' {key}")
    expect(eight["totals"]["allocated_bytes"] == sum(100 * n * MIB for n in range(1, 8)), "eight allocated")
    expect(eight["ledger"]["residual_bytes"] == -4096, "eight residual")
    expect(eight["ledger"]["stated_requested_bytes"] is None, "eight stated")
    expect([d["device"] for d in eight["timeline"]["devices"]] == [7], "eight timeline")
    expect(len(eight["call_sites"]) == 24 and eight["call_sites_total"] == 57, "eight call sites")
    expect(sum(row["bytes"] for row in eight["call_sites"]) == 2400 * MIB, "eight call sites' sum")
    expect(runs_of(eight["top_blocks"]) == [(1, 1), (2, 6), (7, 7), (8, 8), (9, 11), (12, 12), (13, 15), (16, 18),
                                            (19, 19), (20, 22), (23, 25)], "eight runs")
    expect(eight["settings"] == [], "recorded but empty settings")
    expect(eight["snapshot"]["salvaged"] == {"offset": 1048576, "reason": "the file ends inside a string"}, "salvaged")

    check_hostile(reports["hostile"])


def check_hostile(report):
    """Every name survives wherever it stands, letter by letter, and every number that no sum can hold."""
    HUGE = 2**64 - 2
    device, blocks = report["devices"][0], report["top_blocks"]
    lists = {"categories": report["categories"], "device's categories": device["categories"], "blocks": blocks,
             "pins": report["fragmentation"]["pins"], "device's pins": device["fragmentation"]["pins"],
             "findings": report["findings"], "to do": report["to_do"], "call sites": report["call_sites"],
             "settings": report["settings"], "frames": [block["frames"][0] for block in blocks]}
    named = {"name", "id", "title", "detail", "finding", "category", "role", "pool", "site", "key", "value", "filename"}
    for what, rows in lists.items():
        for number, (row, name) in enumerate(zip(rows, trace_rules.HOSTILE, strict=True)):
            wrong = {key: row[key] for key in named & set(row) if row[key] not in (name, f"{name} (16.00 EiB)", None)}
            expect(not wrong, f"hostile {what}, {number}: {wrong}, not {name!r}")
    for block, name in zip(blocks, trace_rules.HOSTILE):
        frames = [(f["name"], f["filename"], f["line"]) for f in block["frames"]]
        expect(frames == [(name, name, block["rank"] - 1), ("forward", name, None), (name, f"/home/{name}.py", HUGE)],
               f"hostile frames {frames}")
        expect((block["bytes"], block["requested_bytes"], block["device"], block["stream"], block["stream_number"]) ==
               (1 << 20, None, -2**63, 2**63 - 1, 2**32 - 1), f"hostile block {block['rank']}")
    expect([b["address"] for b in blocks] == [None] + [2**64 - n for n in range(2, 48)], "hostile addresses")
    expect(all(p["pinned_bytes"] == p["sharers"] == p["segment_bytes"] == HUGE and p["segment_address"] == 0
               for p in lists["pins"] + lists["device's pins"]), "hostile pins")
    expect(all(finding["bytes"] == HUGE and finding["severity"] == "critical" for finding in report["findings"]), "findings")
    expect([row["default"] for row in report["settings"]] == [n % 2 == 0 for n in range(47)], "hostile settings")
    expect([row["blocks"] for row in report["call_sites"]] == [HUGE] + [1] * 46, "hostile call sites")
    expect(report["warnings"] == trace_rules.HOSTILE and report["name"] == "evil|`<b>@x #1", "hostile warnings")
    expect(report["snapshot"]["path"] == "/tmp/evil|`path`/<img src=x>/[a](b)\n/@x.pickle", "hostile path")
    expect(report["snapshot"]["salvaged"] == {"offset": 0, "reason": "string 'a|b` <script> @octocat #1' is cut"}, "cut")
    expect(report["ledger"]["explanation"] == device["ledger"]["explanation"] == "segment <b>|`x` @octocat", "explained")


def check_readme(sample, readme, report):
    verdict = [line for line in re.findall(r"^- \*\*([\w ]+):\*\* (.*)$", readme, re.M)
               if line[0] not in ("Snapshot", "File")]
    if sample not in STILL:
        expect([label for label, _ in verdict[:5]] == FIVE, f"{sample}: {verdict}")
        verdict = verdict[5:]
    expect([label for label, _ in verdict] == (FIVE if sample in STILL else ["Memory", "Largest", "Where", "Cached"]),
           f"{sample}: {verdict}")
    row = next((row for row in report["call_sites"] if row["site"] != "no stack recorded"), None)
    if row and sample in ("small", "eight"):
        where = verdict[4 if sample in STILL else 2][1]
        expect(where.endswith(f": `{row['site']}`"), f"{sample}: {where}")
    expect("\nImages do not travel with pasted text: drag the PNG files into the pull request.\n" in readme, sample)
    expect("| 0.0 % |" not in re.sub(r"\| 0 B \|( 0 \|)? 0\.0 % \|", "", readme), f"{sample} README.md: 0.0 %")
    expect(("| Unexplained (it does not add up) |" in readme) == (report["ledger"]["residual_bytes"] != 0),
           f"{sample} README.md: unexplained")
    noise = re.search(r"unwind::unwind|CapturedTraceback|wrap_kernel_functor|_PyEval|Redispatch", readme)
    expect(not noise, f"{sample} README.md: {noise}")


def check_trace(sample, text, report):
    rules = trace_rules.Rules(sample)
    explained = dump(sample, "explain")
    if sample in TRACED:
        rules.json(report)
        rules.text(text, report)
        if sample == "train":
            rules.explained(explained)
    rules.layout(explained, has_blanks=sample in EVIL)
    failures.extend(rules.failures)


def check_trace_values(reports):
    """Figures of the samples as sample_trace.c describes them."""
    MIB = 1 << 20
    d = reports["train"]["timeline"]["devices"][0]
    expect([d[key] for key in ("peak_requested_bytes", "peak_allocated_bytes", "peak_active_bytes",
                               "peak_reserved_bytes")] == [1000 * MIB, 1008 * MIB, 1012 * MIB, 1210 * MIB], "peaks")
    expect(d["peaks"]["requested"]["since_first_us"] == 2499000, "time since the first event")
    expect((d["peaks"]["requested"]["step"], d["peaks"]["requested"]["phase"]) == ("ProfilerStep#28", "backward"), "step")
    expect(reports["train"]["top_blocks"][0]["role"] == "Optimizer state", "role of a block")
    expect(reports["train"]["top_blocks"][1]["role"] is None, "no role of a block")
    expect(d["steps"]["rows"][0]["growth_bytes"] is None and d["steps"]["slope_bytes_per_step"] == 2 * MIB, "growth")
    expect(d["call_sites_at_peak"]["rows"][24]["peak_without_bytes"] is None, "peak without: not computed")
    opaque = reports["opaque"]["timeline"]["devices"][0]
    for key in ("peak_allocated_bytes", "peak_active_bytes", "roles_at_peak", "steps", "fragmentation_history",
                "call_sites_at_peak", "lifetimes_at_peak"):
        expect(opaque[key] is None, f"opaque: {key} is {opaque[key]!r}")
    oom = opaque["out_of_memory"][0]
    for key in ("device_free_bytes", "pending_bytes", "unusable_bytes", "largest_hole_bytes", "verdict", "time_us"):
        expect(oom[key] is None, f"opaque oom: {key} is {oom[key]!r}")


def keys_of(value):
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


def check_documented(reports):
    """Every key of the timeline stands in docs/json.md."""
    docs = pathlib.Path(__file__).resolve().parents[2] / "docs" / "json.md"
    known = set(re.findall(r"`(\w+)`", docs.read_text(encoding="utf-8")))
    for sample in TRACED:
        missing = keys_of(reports[sample]["timeline"]) - known
        expect(not missing, f"{sample}: not in docs/json.md: {sorted(missing)}")


def main():
    failures.extend(golden.failures(dump, "--update" in sys.argv))
    reports = {}
    for sample in SAMPLES:
        check_text(sample)
        reports[sample] = check_json(sample)
        text = dump(sample, "text")
        check_call_sites_text(sample, text, reports[sample])
        check_verdict(sample, text, reports[sample])
        check_top_blocks_text(sample, text, reports[sample])
        check_where(sample, text, reports[sample])
        readme = dump(sample, "markdown")
        expect(len(readme) < 65000, f"{sample} README.md has {len(readme)} characters")
        summary = dump(sample, "summary").split("\n")
        labels = [line[:8].strip() for line in summary[:6]]
        expect(labels == FIVE + ["Report"], f"{sample} summary {labels}")
        salvaged = reports[sample]["snapshot"]["salvaged"] is not None
        expect(("SALVAGED)" in summary[0]) == salvaged, f"{sample} summary {summary[0]!r}")
        for line in summary[:5]:
            expect(columns(line) <= 100, f"{sample} summary: {columns(line)} columns: {line!r}")
        check_readme(sample, readme, reports[sample])
        expect(len(summary) == 7 and summary[5].endswith("results/20251114_143025_x"), f"{sample} summary")
        check_trace(sample, text, reports[sample])
    check_values(reports)
    check_trace_values(reports)
    check_documented(reports)
    for failure in failures[:20]:
        print(failure)
    print(f"{len(SAMPLES)} samples, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
