#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second reader of .gmtrace files, written after docs/gmtrace.md alone: what it reads must be what dump_model prints.
Compression is taken off beforehand (gmtrace_convert FILE OUT PLAIN), since Python may have no zstd.

usage: check_spec.py GMTRACE_CONVERT DUMP_MODEL FILE|FOLDER...
       check_spec.py GMTRACE_CONVERT DUMP_MODEL --real     the snapshots beside the checkout; 77 if there are none
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "state"))
from snapshots import snapshot_paths  # noqa: E402

M64 = (1 << 64) - 1
ABSENT = M64
ACTIONS = ("other alloc free_requested free_completed segment_alloc segment_free segment_map segment_unmap snapshot oom "
           "user_defined annotate free workspace_snapshot").split()


def signed64(v):
    return v - (1 << 64) if v >> 63 else v


def unzigzag(v):
    return v >> 1 if v % 2 == 0 else -(v >> 1) - 1


class Stream:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        v = shift = 0
        while True:
            b = self.byte()
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                return v

    def signed(self):
        return unzigzag(self.varint())

    def u64(self):
        self.at += 8
        return struct.unpack("<Q", self.data[self.at - 8:self.at])[0]

    def text(self, pieces=1):
        start = self.at
        for _ in range(pieces):
            self.at = self.data.index(0, self.at) + 1
        return self.data[start:self.at - 1].decode("utf-8", "surrogateescape")


class Fresh:
    def __init__(self):
        self.newest = 0

    def read(self, stream, code=None):
        code = stream.varint() if code is None else code
        v = self.newest + 1 if code == 0 else self.newest + 2 + stream.varint() if code == 1 else self.newest - (code - 2)
        self.newest = max(self.newest, v)
        return v


def sections(data):
    assert data[:8] == b"\x89GMT\r\n\x1a\n" and struct.unpack("<II", data[8:16]) == (1, zlib.crc32(data[:12]))
    at = 16
    while at < len(data):
        tag = data[at:at + 4]
        length, crc = struct.unpack("<II", data[at + 4:at + 12])
        payload = data[at + 12:at + 12 + length]
        assert zlib.crc32(payload, zlib.crc32(data[at:at + 8])) == crc
        if tag == b"END ":
            assert struct.unpack("<QI", payload) == (at, zlib.crc32(data[:at])) and at + 24 == len(data)
        yield tag, payload
        at += 12 + length


def streams(payload):
    whole, found = Stream(payload), []
    while whole.at < len(payload):
        assert whole.byte() == 0
        n = whole.varint()
        found.append(Stream(payload[whole.at:whole.at + n]))
        whole.at += n
    return found


class Reader:
    def __init__(self, data):
        self.events, self.segments = [], {}
        for tag, payload in sections(data):
            if tag not in (b"END ", b"EVNT") and not 97 <= tag[0] <= 122:
                parts = streams(payload)
                getattr(self, tag.decode().strip().lower())(*parts)
                assert all(s.at == len(s.data) for s in parts), tag

    def strs(self, count, text, joins):
        self.strings, until = [None], -1
        if joins.data:
            until = joins.varint()
        for _ in range(count.varint()):
            pieces = joins.varint() if until == 0 else 1
            if until == 0:
                until = joins.varint() if joins.at < len(joins.data) else -1
            else:
                until -= 1
            self.strings.append(text.text(pieces))

    def fram(self, count, names, files, lines):
        fresh, self.frames = Fresh(), [None]
        for _ in range(count.varint()):
            name, file = fresh.read(names), fresh.read(files)
            line = lines.varint()
            self.frames.append([self.strings[name], self.strings[file], None if line == 0 else line - 1])

    def stak(self, count, pops, pushes, frames):
        fresh, one, two, path, self.stacks = Fresh(), {}, {}, [], [None, []]
        for _ in range(count.varint()):
            gone = pops.varint()
            path = path[:len(path) - gone]
            for _ in range(pushes.varint()):
                before, last = ([0, 0] + path)[-2:]
                pair = ((before * 0x9e3779b1 ^ last * 0x85ebca6b) & 0xffffffff) >> 18
                code = frames.varint()
                frame = two[pair] if code == 0 else one[last] if code == 1 else fresh.read(frames, code - 2)
                one[last] = two[pair] = frame
                path.append(frame)
            self.stacks.append(path[::-1])

    def meta(self, n, texts):
        flags = n.varint()
        self.has_time = flags & 1
        self.streams, self.pools, last = [None], [None], 0
        for _ in range(n.varint()):
            last += n.signed()
            self.streams.append(signed64(last & M64))
        for _ in range(n.varint()):
            self.pools.append([n.varint(), n.varint()])
        self.event_count = n.varint()
        self.columns = [(n.varint(), n.varint()) for _ in range(6)]
        self.traces = [[(n.varint(), n.varint(), n.varint()) for _ in range(n.varint())] for _ in range(2)]
        self.settings = []
        for _ in range(n.varint()):
            kind = n.varint()
            value = n.signed() if kind < 3 else n.varint()
            if kind == 3:
                value = struct.unpack("<d", struct.pack("<Q", value))[0]
            value = None if kind == 0 else bool(value) if kind == 1 else self.strings[value] if kind == 4 else value
            self.settings.append(["setting", texts.text(), value])
        self.warnings = [["warning", texts.text()] for _ in range(n.varint())]
        if flags & 16:
            self.salvaged = (n.varint(), texts.text())

    def segs(self, count, device, address, sizes, keys, stack, kind, blocks, b_address, b_size, b_requested, b_state,
             b_stack, odd, word=""):
        def units(stream, expected):
            code = stream.varint()
            if code < 2:
                return odd.u64() if code else expected
            return (expected + 512 * unzigzag(code - 2)) & M64

        def size(stream, expected):
            code = stream.varint()
            if code < 2:
                return odd.u64() if code else ABSENT
            return (expected + unzigzag(code - 2)) & M64

        fresh, last, end, rows = Fresh(), 0, 0, []
        segment_count = count.varint()
        count.varint()
        for _ in range(segment_count):
            last += device.signed()
            row = [word + "segment", signed64(last & M64), units(address, end)]
            stream, pool, at = keys.varint(), keys.varint(), fresh.read(stack)
            k, place, sums, inner = kind.byte(), row[2], [0] * 4, []
            for _ in range(blocks.varint()):
                place = units(b_address, place)
                bytes_ = units(b_size, 0)
                asked = size(b_requested, bytes_)
                state = b_state.byte()
                inner.append([word + "block", place, bytes_, None if asked == ABSENT else asked,
                              ("inactive", "active_allocated", "active_pending_free")[state], fresh.read(b_stack)])
                place = place + bytes_ & M64
                sums[0] += bytes_
                if state:
                    sums[1] += bytes_ if state == 1 else 0
                    sums[2] += bytes_
                    sums[3] += bytes_ if asked == ABSENT else asked
            got = [size(sizes, s & M64) for s in sums]
            end = row[2] + got[0]
            row += [None if v == ABSENT else v for v in got]
            row += [self.streams[stream], self.pools[pool], at, (None, "small", "large")[k & 3], (None, False, True)[k >> 2]]
            rows += [row] + [b[:5] + [b[5] or None] for b in inner]
            row[9] = at or None
        self.segments[word] = rows

    def hseg(self, *parts):
        self.segs(*parts, word="host_")

    def anno(self, count, name, stage, device, time):
        self.annotations, d, t = [], 0, 0
        for _ in range(count.varint()):
            d, t = d + device.signed(), t + time.signed()
            at = signed64(t & M64)
            self.annotations.append(["annotation", self.strings[name.varint()], (None, "START", "END")[stage.byte()],
                                     signed64(d & M64), None if at == -(1 << 63) else at])

    def xtra(self, *parts):
        for part in parts:  # dump_model does not print these
            part.at = len(part.data)

    class State:
        def __init__(self):
            self.contexts, self.shapes, self.slots, self.live, self.free = [None], [None], [None], [], {}
            self.freed_with, self.fresh, self.time, self.next, self.other, self.end = {}, Fresh(), 0, 0, 0, 0

    def events_section(self, s, parts):
        (count, step, shape, context, rank, down, far, other, odd, t_alloc, t_req, t_comp, t_other, n_action, n_size,
         n_context), fields = parts[:16], parts[16:]

        def get_context(stream):
            i = stream.varint()
            if i == 0:
                s.contexts.append([s.fresh.read(fields[0])] + [f.varint() for f in fields[1:]])
                i = len(s.contexts) - 1
            return i

        def get_shape():
            i = shape.varint()
            if i == 0:
                action, size = n_action.byte(), n_size.varint()
                s.shapes.append((action, size, get_context(n_context)))
                i = len(s.shapes) - 1
            return i

        def address(stream, start):
            code = stream.varint()
            if code == 0:
                return odd.u64()
            return (start + 512 * unzigzag(code - 1)) & M64

        def put(action, addr, size, ctx, stream):
            at = None
            if self.has_time:
                s.time += stream.signed()
                at = signed64(s.time & M64)
            self.events.append((action, addr, size, None if at == -(1 << 63) else at, s.contexts[ctx]))

        def rounded(size):
            return -(-size // 512)

        rows = len(self.events) + count.varint()
        while len(self.events) < rows:
            op = step.byte()
            if op < 6:
                r = rank.varint()
                slot = s.live[-1 - r] if r < 64 else r - 64
                addr, kind = s.slots[slot]
                if op % 2:
                    s.freed_with[kind] = get_context(context)
                ctx, size = s.freed_with[kind], s.shapes[kind][1]
                if op < 4:
                    put(2, addr, size, ctx, t_req)
                if op < 2 or op >= 4:
                    put(3, addr, size, ctx, t_comp)
                    s.live.remove(slot)
                    s.free.setdefault((rounded(size), s.contexts[s.shapes[kind][2]][1]), []).append(slot)
                continue
            kind = get_shape()
            action, size, ctx = s.shapes[kind]
            if op == 11:
                s.other = address(other, s.end)
                s.end = s.other + size
                put(action, s.other, size, ctx, t_other)
                continue
            if op < 8:
                stack = s.free[rounded(size), s.contexts[ctx][1]]
                slot = stack.pop(-1 - (down.varint() if op == 7 else 0))
            else:
                slot = len(s.slots)
                s.slots.append((s.next if op == 8 else s.other if op == 9 else address(far, s.next), None))
            addr = s.slots[slot][0]
            s.slots[slot] = (addr, kind)
            s.live.append(slot)
            s.next = addr + 512 * rounded(size) & M64
            put(action, addr, size, ctx, t_alloc)

    def model(self, data):
        state = self.State()
        for tag, payload in sections(data):
            if tag == b"EVNT":
                parts = streams(payload)
                self.events_section(state, parts)
                assert all(p.at == len(p.data) for p in parts)
        assert len(self.events) == self.event_count
        out = [["stack", i, [self.frames[f] for f in s]] for i, s in enumerate(self.stacks) if i]
        out += self.segments[""] + self.segments["host_"]
        at = 0
        for word, traces in zip(("", "host_"), self.traces):
            for d, (n, entries, over) in enumerate(traces):
                out.append([word + "trace", d, n, None if entries == 0 else entries - 1, (None, False, True)[over]])
                out += [self.event_line(e) for e in self.events[at:at + n]]
                at += n
        return out + self.settings + self.annotations + self.warnings

    def event_line(self, event):
        action, addr, size, time, (stack, stream, pool, compile_context, metadata, name, category) = event
        s = self.strings
        return ["event", s[name] if name or not action else ACTIONS[action], None if addr == ABSENT else addr,
                None if size == ABSENT else size, time, self.streams[stream], self.pools[pool], stack or None,
                s[compile_context], s[metadata], s[category]]


def main():
    convert, dump_model, *names = sys.argv[1:]
    count = wrong = 0
    if names == ["--real"]:
        names = snapshot_paths(".pickle", ".pkl", ".json")
    paths = [p for name in names for p in ([name] if pathlib.Path(name).is_file() else pathlib.Path(name).rglob("*"))]
    with tempfile.TemporaryDirectory() as scratch:
        out, plain = pathlib.Path(scratch, "out"), pathlib.Path(scratch, "plain")
        for path in sorted(str(p) for p in paths):
            if not path.endswith((".pickle", ".pkl", ".json")):
                continue
            done = subprocess.run([convert, path, str(out), str(plain)], capture_output=True, check=False)
            if done.returncode == 3:
                continue
            data = plain.read_bytes()
            got = Reader(data).model(data)
            dumped = subprocess.run([dump_model, path], capture_output=True, check=True).stdout.decode()
            want = [json.loads(line) for line in dumped.split("\n") if line][1:]
            count += 1
            if done.returncode != 0 or got != want:
                wrong += 1
                print(path, next((pair for pair in zip(got, want) if pair[0] != pair[1]), "other lengths"))
    print(count, "files,", wrong, "wrong")
    sys.exit(1 if wrong or count == 0 else 0)


main()
