# SPDX-License-Identifier: Apache-2.0
"""Writers of pickles other than Python's own, opcode by opcode.

A `bytes` object in the data stands for a string with just these bytes, UTF-8 or not.
"""
import struct


def text_bytes(value):
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")


def cpp_dumps(obj):
    """As PyTorch's C++ writer: protocol 2, one batch per container, strings memoised by value, 8-byte LONG1, integers
    signed; memo numbers after the object is complete and only for what is used again."""
    uses = {}

    def count(o):
        if isinstance(o, (list, dict, tuple)):
            uses[id(o)] = uses.get(id(o), 0) + 1
            if uses[id(o)] == 1:
                for item in o.items() if isinstance(o, dict) else o:
                    for part in item if isinstance(o, dict) else (item,):
                        count(part)

    count(obj)
    out, memo = [b"\x80\x02"], {}

    def put(key):
        n = memo[key] = len(memo)
        out.append(b"q" + bytes([n]) if n < 256 else b"r" + struct.pack("<I", n))

    def get(key):
        n = memo[key]
        out.append(b"h" + bytes([n]) if n < 256 else b"j" + struct.pack("<I", n))

    def integer(v):
        if v >= 1 << 63:
            v -= 1 << 64
        if 0 <= v < 256:
            out.append(b"K" + bytes([v]))
        elif 0 <= v < 65536:
            out.append(b"M" + struct.pack("<H", v))
        elif -(1 << 31) <= v < 1 << 31:
            out.append(b"J" + struct.pack("<i", v))
        else:
            out.append(b"\x8a\x08" + struct.pack("<q", v))

    def write(o):
        if o is None:
            out.append(b"N")
        elif isinstance(o, bool):
            out.append(b"\x88" if o else b"\x89")
        elif isinstance(o, int):
            integer(o)
        elif isinstance(o, float):
            out.append(b"G" + struct.pack(">d", o))
        elif isinstance(o, (str, bytes)):
            data = text_bytes(o)
            if data in memo:
                return get(data)
            out.append(b"X" + struct.pack("<I", len(data)) + data)
            put(data)
        elif id(o) in memo:
            get(id(o))
        else:
            container(o)
            if uses[id(o)] > 1:
                put(id(o))

    def container(o):
        if isinstance(o, dict):
            out.append(b"}(")
            for key, value in o.items():
                write(key)
                write(value)
            out.append(b"u")
        elif isinstance(o, list):
            out.append(b"](")
            for item in o:
                write(item)
            out.append(b"e")
        else:
            for item in o:
                write(item)
            out.append({1: b"\x85", 2: b"\x86", 3: b"\x87"}[len(o)])

    write(obj)
    out.append(b".")
    return b"".join(out)


def python2_dumps(obj, is_text):
    """As Python 2: byte strings; protocol 0 (is_text: lines, INT 00 and 01 for booleans, LONG with an L) or 1."""
    out = []

    def quoted(data):
        return b"'" + b"".join(b"\\x%02x" % c if c < 32 or c > 126 or c in b"'\\" else bytes([c]) for c in data) + b"'"

    def write(o):
        if o is None:
            out.append(b"N")
        elif isinstance(o, bool):
            out.append(b"I01\n" if o else b"I00\n")
        elif isinstance(o, int):
            out.append(b"I%d\n" % o if abs(o) < 1 << 31 else b"L%dL\n" % o)
        elif isinstance(o, float):
            out.append(b"F" + repr(o).encode() + b"\n")
        elif isinstance(o, (str, bytes)):
            data = text_bytes(o)
            if is_text:
                out.append(b"S" + quoted(data) + b"\n")
            elif len(data) < 256:
                out.append(b"U" + bytes([len(data)]) + data)
            else:
                out.append(b"T" + struct.pack("<i", len(data)) + data)
        elif isinstance(o, dict):
            out.append(b"(d" if is_text else b"}")
            for key, value in o.items():
                write(key)
                write(value)
                out.append(b"s")
        elif isinstance(o, list):
            out.append(b"(l" if is_text else b"]")
            for item in o:
                write(item)
                out.append(b"a")
        else:
            out.append(b"(")
            for item in o:
                write(item)
            out.append(b"t")

    write(obj)
    out.append(b".")
    return b"".join(out)
