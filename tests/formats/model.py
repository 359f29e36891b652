# SPDX-License-Identifier: Apache-2.0
"""What the lines of dump_model have to be for a snapshot object: the schema, written down a second time."""
import json
import re

ACTIONS = ("alloc free_requested free_completed segment_alloc segment_free segment_map segment_unmap snapshot oom "
           "user_defined annotate free workspace_snapshot").split()
ABSENT = (1 << 64) - 1


def text(value, lone_surrogates):
    """A string as dump_model prints it; lone surrogates are kept as bytes, or replaced (JSON, protocol 0)."""
    if value is None:
        return None
    if isinstance(value, str):
        if lone_surrogates == "replaced":
            value = re.sub("[\ud800-\udfff]", "\ufffd", value)
        value = value.encode("utf-8", "surrogatepass")
    return value.decode("utf-8", "surrogateescape")


_shared = {}


def shared(stack):
    """One object for equal stacks, so that comparing many of them is quick."""
    return _shared.setdefault(json.dumps(stack), stack)


class Model:
    def __init__(self, lone_surrogates="kept"):
        self.stacks, self.frames = {}, {}
        self.lone_surrogates = lone_surrogates
        self.lines = []

    def text(self, value):
        return text(value, self.lone_surrogates) if isinstance(value, (str, bytes)) else None

    @staticmethod
    def uint(value):
        if isinstance(value, float) and 0 <= value < 9.0e18 and value == int(value):
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < ABSENT:
            return None
        return value

    def address(self, value):
        if isinstance(value, int) and -(1 << 63) <= value < 0:
            value += 1 << 64
        return self.uint(value)

    def signed(self, value, absent=None):
        if isinstance(value, bool) or value is None:
            return absent
        if isinstance(value, int) and -(1 << 63) < value < ABSENT:
            return value - (1 << 64) if value >= 1 << 63 else value
        value = self.uint(value)
        return absent if value is None else value

    def pool(self, value):
        if isinstance(value, (tuple, list)) and len(value) == 2:
            return [self.uint(v) for v in value]
        return None

    def stack(self, value):
        if not isinstance(value, list) or not all(isinstance(f, dict) and "filename" in f for f in value):
            return None
        if id(value) not in self.stacks:
            self.stacks[id(value)] = shared([self.frame(f) for f in value])
        return self.stacks[id(value)]

    def frame(self, value):
        """A file has few frames, and stacks of them that are many."""
        if id(value) not in self.frames:
            self.frames[id(value)] = [self.text(value.get("name")), self.text(value.get("filename")), self.uint(value.get("line"))]
        return self.frames[id(value)]

    def segments(self, word, segments):
        for s in segments or []:
            numbers = [self.uint(s.get(k)) for k in ("total_size", "allocated_size", "active_size", "requested_size")]
            kind = s.get("segment_type")
            self.lines.append([word + "segment", self.signed(s.get("device"), 0), self.address(s["address"])] + numbers +
                              [self.signed(s.get("stream")), self.pool(s.get("segment_pool_id")), self.stack(s.get("frames")),
                               kind if kind in ("small", "large") else None, s.get("is_expandable")])
            address = self.address(s["address"])
            for b in s["blocks"]:
                address = self.address(b["address"]) if "address" in b else address
                history = b["history"][0] if b.get("history") else {}
                requested = self.uint(b.get("requested_size"))
                stack = self.stack(b.get("frames"))
                state = {"active_awaiting_free": "active_pending_free"}.get(b["state"], b["state"])
                self.lines.append([word + "block", address, b["size"],
                                   requested if requested is not None else self.uint(history.get("real_size")), state,
                                   stack if stack is not None else self.stack(history.get("frames"))])
                address += b["size"]

    def traces(self, word, traces, ring):
        for d, trace in enumerate(traces or []):
            limit, overflowed = (r[d] if isinstance(r, list) and d < len(r) else None if isinstance(r, list) else r
                                 for r in ring)
            self.lines.append([word + "trace", d, len(trace), self.uint(limit),
                               None if overflowed is None else bool(overflowed)])
            for e in trace:
                self.lines.append(["event", self.text(e["action"]), self.address(e.get("addr", e.get("device_free"))),
                                   self.uint(e.get("size")), self.signed(e.get("time_us")), self.signed(e.get("stream")),
                                   self.pool(e.get("pool_id")), self.stack(e.get("frames"))] +
                                  [self.text(e.get(k)) for k in ("compile_context", "user_metadata", "category")])

    def settings(self, settings, prefix=""):
        for key, value in settings.items():
            if isinstance(value, dict):
                self.settings(value, prefix + key + ".")
            elif not isinstance(value, (list, tuple)):
                self.lines.append(["setting", prefix + key, self.text(value) if isinstance(value, str) else value])


def expected_lines(snapshot, lone_surrogates="kept"):
    """Everything but the "source" and "warning" lines."""
    m = Model(lone_surrogates)
    if isinstance(snapshot, list):
        snapshot = {"segments": snapshot}
    settings = snapshot.get("allocator_settings") or {}
    ring = [snapshot.get(k, settings.get(k)) for k in ("trace_alloc_max_entries", "trace_alloc_overflowed")]
    m.segments("", snapshot.get("segments"))
    m.segments("host_", snapshot.get("host_segments"))
    m.traces("", snapshot.get("device_traces", snapshot.get("traces")), ring)
    m.traces("host_", snapshot.get("host_traces"), [None, None])
    m.settings(settings)
    for a in snapshot.get("external_annotations") or []:
        stage = a.get("stage")
        m.lines.append(["annotation", m.text(a.get("name")), stage if stage in ("START", "END") else None,
                        m.signed(a.get("device"), -1), m.signed(a.get("time_us"))])
    return m.lines
