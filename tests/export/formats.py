# SPDX-License-Identifier: Apache-2.0
"""Readers of the export formats that accept only what their consumers do; each raises AssertionError otherwise.

Written from the formats' own definitions: flamegraph.pl's input, speedscope's file-format schema, the Trace Event Format,
pprof's profile.proto. Stacks come back as {(frame, frame, ...) from the outermost: bytes}.
"""
import collections
import gzip
import json
import re


def folded(data):
    stacks = collections.Counter()
    text = data.decode("utf-8")
    assert text == "" or text.endswith("\n")
    for line in text.split("\n")[:-1]:
        match = re.fullmatch(r"(.+) (\d+)", line)  # flamegraph.pl: /^(.*)\s+?(\d+(?:\.\d*)?)$/
        assert match, line
        frames = tuple(match[1].split(";"))
        assert all(frames) and int(match[2]) > 0, line
        assert all(c >= " " for c in line), line
        stacks[frames] += int(match[2])
    return stacks


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), keys
    return dict(pairs)


def no_constant(name):
    raise AssertionError(name)


def strict_json(data):
    return json.loads(data.decode("utf-8"), object_pairs_hook=no_duplicates, parse_constant=no_constant)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def speedscope(data):
    """{name of a profile: stacks}; frames are (name, file, line)."""
    file = strict_json(data)
    assert set(file) <= {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}, file.keys()
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert isinstance(file["name"], str) and isinstance(file["exporter"], str)
    assert set(file["shared"]) == {"frames"}
    frames = []
    for frame in file["shared"]["frames"]:
        assert {"name"} <= set(frame) <= {"name", "file", "line", "col"}, frame
        assert isinstance(frame["name"], str) and isinstance(frame.get("file", ""), str)
        assert "line" not in frame or is_number(frame["line"])
        frames.append((frame["name"], frame.get("file"), frame.get("line")))
    assert len(frames) == len(set(frames))
    profiles = {}
    for profile in file["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled" and isinstance(profile["name"], str)
        assert profile["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")
        assert is_number(profile["startValue"]) and is_number(profile["endValue"])
        assert len(profile["samples"]) == len(profile["weights"])
        stacks = collections.Counter()
        for sample, weight in zip(profile["samples"], profile["weights"]):
            assert sample and all(isinstance(i, int) and 0 <= i < len(frames) for i in sample), sample
            assert is_number(weight) and weight > 0
            stacks[tuple(frames[i] for i in sample)] += weight
        assert profile["name"] not in profiles and profile["unit"] == "bytes" and profile["startValue"] == 0
        assert sum(stacks.values()) == profile["endValue"], profile["name"]
        profiles[profile["name"]] = stacks
    assert not profiles or 0 <= file["activeProfileIndex"] < len(profiles)
    return profiles


def perfetto(data):
    """(processes, counters, slices, instants): {pid: name}; {(pid, name): [(ts, bytes)]}; {(pid, track): [(ts, dur,
    name, args)]}; {pid: [(ts, name, args)]}."""
    file = strict_json(data)
    assert file["displayTimeUnit"] in ("ms", "ns")
    assert all(isinstance(v, str) for v in file["otherData"].values())
    processes, tracks, counters, slices, instants, last = {}, {}, {}, {}, {}, {}
    for event in file["traceEvents"]:
        ph, pid, name, args = event["ph"], event["pid"], event["name"], event["args"]
        assert isinstance(pid, int) and pid > 0 and isinstance(name, str)  # 0 is the idle process
        if ph == "M":
            assert set(event) == {"ph", "pid", "tid", "name", "args"} and set(args) == {"name"}
            if name == "process_name":
                assert pid not in processes
                processes[pid] = args["name"]
            else:
                assert name == "thread_name" and pid in processes and (pid, event["tid"]) not in tracks
                tracks[pid, event["tid"]] = args["name"]
            continue
        ts = event["ts"]
        assert isinstance(ts, int) and ts >= 0 and pid in processes
        assert ts >= last.get(pid, 0), "time runs backwards"
        last[pid] = ts
        if ph == "C":
            assert set(event) == {"ph", "pid", "ts", "name", "args"}
            assert set(args) == {"bytes"} and isinstance(args["bytes"], int) and args["bytes"] >= 0
            counters.setdefault((pid, name), []).append((ts, args["bytes"]))
        elif ph == "X":
            assert set(event) == {"ph", "pid", "ts", "dur", "tid", "cat", "name", "args"}
            assert isinstance(event["dur"], int) and event["dur"] >= 0
            track = slices.setdefault((pid, tracks[pid, event["tid"]]), [])
            assert not track or ts >= track[-1][0] + track[-1][1], "slices of one track overlap"
            track.append((ts, event["dur"], name, args))
        else:
            assert ph == "i" and event["s"] in ("g", "p", "t") and isinstance(event["tid"], int)
            instants.setdefault(pid, []).append((ts, name, args))
    return processes, counters, slices, instants


# ---- protocol buffers: the wire format, then profile.proto's fields by number


def fields(data):
    """(number, value) of a message: int for varints, bytes for the rest. Nothing else occurs in a profile."""
    at, out = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            assert shift <= 70
            if byte < 0x80:
                assert value < 1 << 64
                return value

    while at < len(data):
        key = varint()
        assert key >> 3 > 0
        if key & 7 == 0:
            out.append((key >> 3, varint()))
        else:
            assert key & 7 == 2, key
            length = varint()
            assert at + length <= len(data)
            out.append((key >> 3, data[at:at + length]))
            at += length
    return out


def packed(value):
    if isinstance(value, int):
        return [value]
    out = []
    while value:
        n = next(i for i, byte in enumerate(value) if byte < 0x80) + 1
        out.append(sum((byte & 0x7F) << 7 * i for i, byte in enumerate(value[:n])))
        value = value[n:]
    return out


def message(data, repeated=(), known=()):
    out = {number: [] for number in repeated}
    for number, value in fields(data):
        assert number in repeated or number in known, number
        if number in repeated:
            out[number].append(value)
        else:
            assert number not in out
            out[number] = value
    return out


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def pprof(data):
    """(stacks with bytes, stacks with blocks, raw): frames are (function, file, line), outermost first; raw has the rest."""
    assert data[:3] == b"\x1f\x8b\x08" and data[4:8] == bytes(4), "gzip, without a time"
    profile = message(gzip.decompress(data), repeated=(1, 2, 3, 4, 5, 6, 13), known=(7, 8, 9, 10, 11, 12, 14))
    strings = [s.decode("utf-8") for s in profile[6]]
    assert strings[0] == "" and len(strings) == len(set(strings))
    types = [message(t, known=(1, 2)) for t in profile[1]]
    types = [(strings[t[1]], strings[t[2]]) for t in types]
    assert types == [("inuse_objects", "count"), ("inuse_space", "bytes")]
    assert strings[profile[14]] == "inuse_space"
    (mapping,) = [message(m, known=range(1, 11)) for m in profile[3]]
    assert mapping[1] != 0 and all(mapping[flag] == 1 for flag in range(7, 11))
    functions = {}
    for raw in profile[5]:
        function = message(raw, known=(1, 2, 3, 4, 5))
        assert function[1] != 0 and function[1] not in functions
        functions[function[1]] = strings[function[2]], strings[function.get(4, 0)]
    assert len(set(functions.values())) == len(functions)
    locations = {}
    for raw in profile[4]:
        location = message(raw, repeated=(4,), known=(1, 2, 3, 5))
        assert location[1] != 0 and location[1] not in locations and location[2] == mapping[1]
        (line,) = [message(line, known=(1, 2, 3)) for line in location[4]]
        locations[location[1]] = (*functions[line[1]], signed(line[2]) if 2 in line else None)
    used, space, objects, devices = set(), collections.Counter(), collections.Counter(), collections.Counter()
    for raw in profile[2]:
        sample = message(raw, repeated=(1, 2, 3))
        ids = [i for value in sample[1] for i in packed(value)]
        values = [signed(v) for value in sample[2] for v in packed(value)]
        assert ids and len(values) == len(types) and min(values) >= 0
        used.update(ids)
        stack = tuple(locations[i] for i in reversed(ids))
        objects[stack] += values[0]
        space[stack] += values[1]
        (label,) = [message(label, known=(1, 2, 3, 4)) for label in sample[3]]
        assert strings[label[1]] == "device"
        devices[int(strings[label[2]])] += values[1]
    assert used == set(locations)
    return space, objects, {"time_nanos": profile.get(9), "comments": [strings[packed(c)[0]] for c in profile[13]],
                            "devices": devices, "file": strings[mapping[5]]}
