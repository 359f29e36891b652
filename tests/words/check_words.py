# SPDX-License-Identifier: Apache-2.0
"""What the writers make of the sample reports, checked from outside: no line wider than 80 columns, JSON as the schema
says (keys in order, sums, absent is null), README.md short enough for a comment on GitHub.

usage: check_words.py WORDS_DUMP
"""
import json
import re
import subprocess
import sys
import unicodedata

SAMPLES = ["small", "empty", "eight", "hostile", "flood"]
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
FINDING = ["id", "severity", "title", "detail", "bytes"]

failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


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
        expect(line == line.rstrip(" ") or sample == "hostile", f"{sample} text line {number} ends in blanks")
    for title in ["SUMMARY", "MEMORY BY CATEGORY", "FRAGMENTATION ANALYSIS", "OPTIMIZATION RECOMMENDATIONS",
                  "PER DEVICE", "PER POOL", "PER STREAM", "LEDGER", "ALLOCATOR SETTINGS", "TRACE", "WARNINGS"]:
        expect(f"\n{title}\n{'-' * len(title)}\n" in text, f"{sample} text lacks {title}")
    start = text.split("\n")
    if text.startswith("SALVAGED"):
        start = start[start.index("") + 1:]
    expect([line.split()[0] for line in start[:5]] == ["Memory", "Largest", "Cached", "Finding", "Where"],
           f"{sample} text does not begin with the verdict")
    check_ledger_text(sample, text)


def check_ledger_text(sample, text):
    """The rows that a person sees add up to the sum that he sees."""
    section = text.split("\nLEDGER\n")[1].split("\n\n")[0]
    number = lambda line: int(re.search(r"(-?[\d,]{1,})(\s+[\d.]+ [KMGTPE]?i?B)?$", line).group(1).replace(",", ""))
    lines = section.split("\n")
    rows = [number(line) for line in lines if re.match(r"  [ +] (allocated|blocks|cached)", line)]
    total = [number(line) for line in lines if line.startswith("  = sum")]
    reserved = [number(line) for line in lines if "reserved (sum" in line]
    residual = [number(line) for line in lines if "residual" in line]
    expect(len(rows) == 5 and [sum(rows)] == total, f"{sample}: the ledger's rows do not add up: {rows} {total}")
    expect(reserved[0] - total[0] == residual[0], f"{sample}: residual {residual}")


def keys_begin(mapping, wanted, what):
    expect(list(mapping)[:len(wanted)] == wanted, f"{what}: keys {list(mapping)[:len(wanted)]}, not {wanted}")


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    expect(len(keys) == len(set(keys)), f"duplicate keys in {keys}")
    return dict(pairs)


def check_totals(t, what):
    keys = [key for key in t if key in TOTALS]
    expect(keys == TOTALS, f"{what}: totals {keys}")
    for key in TOTALS[:-1]:
        expect(type(t[key]) is int, f"{what}: {key} is {t[key]!r}")
    expect(t["reserved_bytes"] == t["active_bytes"] + t["inactive_bytes"], f"{what}: reserved")
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
    expect(report["roles"] is None, "roles")
    keys_begin(report["snapshot"], SNAPSHOT, f"{sample} snapshot")
    keys_begin(report["totals"], TOTALS, f"{sample} totals")
    check_totals(report["totals"], sample)
    for device in report["devices"]:
        keys_begin(device, ["device"] + TOTALS, f"{sample} device")
        check_totals(device, f"{sample} device {device['device']}")
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

    empty = reports["empty"]
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
    expect(eight["settings"] == [], "recorded but empty settings")
    expect(eight["snapshot"]["salvaged"] == {"offset": 1048576, "reason": "the file ends inside a string"}, "salvaged")

    hostile = reports["hostile"]
    names = [c["name"] for c in hostile["categories"]]
    for name in ["a\\|b", "</details></table><h1>x", "line\nbreak\r\nand\ttab", "\x1b[31mred\x07",
                 "bad utf8 \ufffd\ufffd(", "\u202eright to left", "\u4e2d\u6587\u6587\u4ef6 \U0001f600 wide"]:
        expect(name in names, f"hostile name {name!r} did not survive")
    expect(hostile["top_blocks"][0]["address"] is None, "absent address")
    expect(hostile["top_blocks"][1]["address"] == 2**64 - 2, "address")
    expect(hostile["top_blocks"][0]["device"] == -2**63, "device")


def main():
    reports = {}
    for sample in SAMPLES:
        check_text(sample)
        reports[sample] = check_json(sample)
        readme = dump(sample, "markdown")
        expect(len(readme) < 65000, f"{sample} README.md has {len(readme)} characters")
        summary = dump(sample, "summary").split("\n")
        expect(len(summary) == 6 and summary[4].endswith("results/20251114_143025_x"), f"{sample} summary")
    check_values(reports)
    for failure in failures[:20]:
        print(failure)
    print(f"{len(SAMPLES)} samples, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
