#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the kernels compute, computed again in Python from docs/kernels.md: sizes, shapes, patterns, results, accounts.

usage: check_kernels.py RUN_KERNELS reference|launch [few]
"""
import math
import struct
import subprocess
import sys

M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
TOLERANCE = {"elementwise": 1e-5, "rmsnorm": 1e-5, "layernorm": 1e-4, "softmax": 1e-5, "attention": 1e-4, "mlp": 1e-3,
             "adamw": 1e-5}
KERNELS = ["fill", "verify", "copy", "elementwise", "rmsnorm", "layernorm", "softmax", "attention", "mlp", "adamw",
           "embedding"]


def mix32(x):
    x ^= x >> 16
    x = x * 0x85EBCA6B & M32
    x ^= x >> 13
    x = x * 0xC2B2AE35 & M32
    return x ^ x >> 16


def seeds(key):
    key = key + 0x9E3779B97F4A7C15 & M64
    key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9 & M64
    key = (key ^ key >> 27) * 0x94D049BB133111EB & M64
    key ^= key >> 31
    return key & M32, key >> 32


def pattern_hash(seed, index):
    return mix32(((index & M32) ^ seed[0]) + (index >> 32) * 0x9E3779B9 & M32) ^ seed[1]


def pattern(key, size):
    seed, out = seeds(key), bytearray()
    for index in range((size + 15) // 16):
        h = pattern_hash(seed, index)
        for factor in (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F):
            out += struct.pack("<I", (h * factor + factor & 0x80FFFFFF) | 0x3F000000)
    return bytes(out[:size])


def floats(data):
    return list(struct.unpack(f"<{len(data) // 4}f", data[:len(data) // 4 * 4]))


def power_of_two(most):
    return 1 << most.bit_length() - 1


def period(words):
    return words // 4 * 4 if words >= 4 else words


def allowed(name):
    """Of the launched kernel, which computes in float; the reference has sums in double."""
    return min(TOLERANCE.get(name, 0), 1e-3 if sys.argv[2] == "launch" else 2e-7)


class Job:
    """A job as docs/kernels.md describes it; `at` is where in the block its output begins, in words."""

    def __init__(self, size, sources, block):
        given = [floats(s) for s in sources if len(s) >= 4]
        words = floats(block)
        self.at, self.words = 0, words
        if given:
            self.a, self.b = given[0], given[-1]
        else:
            self.at = size // 2 // 16 * 4
            self.a = self.b = words[:self.at]
        self.n = len(words) - self.at if self.a else 0


def rows_of(job, most, a_words=None):
    fits = min(most, job.n, len(job.a) if a_words is None else a_words)
    if fits == 0:
        return 0, 0, 0
    columns = power_of_two(fits)
    return job.n // columns, columns, len(job.a) // columns


def elementwise(job, key):
    a, b = period(len(job.a)), period(len(job.b))
    out = {job.at + i: job.a[i % a] / (1 + math.exp(-job.a[i % a])) * job.b[i % b] for i in range(job.n)}
    return out, 12 * job.n, 5 * job.n


def norm(job, centred):
    rows, columns, sources = rows_of(job, 1024)
    out = {}
    for r in range(rows):
        x = job.a[r % sources * columns:][:columns]
        mean = math.fsum(x) / columns if centred else 0
        scale = 1 / math.sqrt(math.fsum((v - mean) ** 2 for v in x) / columns + 1e-5)
        for i, v in enumerate(x):
            bias = job.b[(columns + i) % len(job.b)] if centred else 0
            out[job.at + r * columns + i] = (v - mean) * scale * job.b[i % len(job.b)] + bias
    return out, 8 * len(out), (7 if centred else 4) * len(out)


def softmax(job, key):
    rows, columns, sources = rows_of(job, 1024)
    out = {}
    for r in range(rows):
        e = [math.exp(v) for v in job.a[r % sources * columns:][:columns]]
        total = math.fsum(e)
        out.update((job.at + r * columns + i, v / total) for i, v in enumerate(e))
    return out, 8 * len(out), 5 * len(out)


def attention(job, key):
    half = period(len(job.b) // 2)
    rows, columns, queries = rows_of(job, 64, min(len(job.a), half))
    if rows == 0:
        return {}, 0, 0
    keys, values, key_rows = job.b[:half], job.b[half:], half // columns
    length = min(128, key_rows)
    out = {}
    for r in range(rows):
        q = job.a[r % queries * columns:][:columns]
        first = r // 128 % (key_rows // length) * length
        e = [math.exp(math.fsum(x * y for x, y in zip(q, keys[(first + k) * columns:][:columns])) / math.sqrt(columns))
             for k in range(length)]
        total = math.fsum(e)
        for i in range(columns):
            out[job.at + r * columns + i] = math.fsum(w * values[(first + k) * columns + i]
                                                      for k, w in enumerate(e)) / total
    moved = 4 * columns * (2 * rows + 2 * ((rows + 127) // 128) * length)
    return out, moved, rows * length * (4 * columns + 3)


def mlp(job, key):
    fits = min(job.n, len(job.a))
    d = power_of_two(min(512, fits)) if fits else 0
    while d and d * d + d > len(job.b):
        d //= 2
    if d == 0:
        return {}, 0, 0
    rows, out = fits // d, {}
    for r in range(rows):
        x = job.a[r * d:][:d]
        for j in range(d):
            y = job.b[d * d + j] + math.fsum(x[k] * job.b[k * d + j] for k in range(d))
            out[job.at + r * d + j] = y * 0.5 * math.erfc(-y / math.sqrt(2))
    return out, 4 * (4 * rows * d + d * d + d), 2 * rows * d * d + 6 * rows * d


def adamw(job, key):
    n, grads = period(job.n // 3), period(len(job.a))
    out = {}
    for i in range(n):
        p, m, v = (job.words[job.at + part * n + i] for part in range(3))
        g = job.a[i % grads]
        m = 0.9 * m + 0.1 * g
        v = 0.999 * abs(v) + 0.001 * g * g
        p -= 0.001 * 0.01 * p
        p -= 0.001 * (m / (1 - 0.9 ** 10)) / (math.sqrt(v / (1 - 0.999 ** 10)) + 1e-8)
        for part, value in enumerate((p, m, v)):
            out[job.at + part * n + i] = value
    return out, 28 * n, 16 * n


def embedding(job, key):
    rows, columns, table = rows_of(job, 128)
    seed, out = seeds(key), {}
    for r in range(rows):
        at = ((pattern_hash(seed, r) << 32) | mix32((r & M32) + seed[0] & M32)) % table
        out.update((job.at + r * columns + i, job.a[at * columns + i]) for i in range(columns))
    return out, 8 * len(out), 0


def copied(size, sources, before):
    source = next((s for s in sources if s), None)
    begin = 0
    if source is None:
        begin = size // 2 // 16 * 16
        source = before[:begin]
    if not source:
        return before, 0
    length = len(source) // 16 * 16 if len(source) >= 16 else len(source)
    moved = (source[:length] * ((size - begin) // length + 1))[:size - begin]
    return before[:begin] + moved, 2 * (size - begin)


def compare(name, case, job, want, after):
    """The floats that were to change, within the tolerance; every other byte is as it was."""
    got, worst, width = floats(after), 0.0, allowed(name)
    for i, value in want.items():
        error = abs(got[i] - value) / max(1.0, abs(value))
        worst = max(worst, error)
        if not error <= width:
            sys.exit(f"{case}: float {i} is {got[i]!r}, should be {value!r}")
    return worst


def check(case, result, sources, before, after):
    name, size, key = case[0], case[1], case[4]
    mismatches, first, moved, flops = result
    if name in ("fill", "verify"):
        want, wanted = pattern(key, size), (size, 0)
        if name == "fill" and after != want:
            sys.exit(f"{case}: not the pattern")
        wrong = [i for i in range(0, size, 4) if before[i:i + 4] != want[i:i + 4]] if name == "verify" else []
        if (mismatches, first) != (len(wrong), wrong[0] if wrong else M64):
            sys.exit(f"{case}: found {mismatches} from {first} on, there are {len(wrong)}: {wrong[:3]}")
        if name == "verify" and key % 2 == 1 and not wrong:
            sys.exit(f"{case}: there was nothing to find")
        worst = 0
    elif name == "copy":
        want, wanted_bytes = copied(size, sources, before)
        wanted = wanted_bytes, 0
        if after != want:
            sys.exit(f"{case}: not a copy")
        worst = 0
    else:
        job = Job(size, sources, before)
        function = {"elementwise": elementwise, "rmsnorm": lambda j, k: norm(j, False),
                    "layernorm": lambda j, k: norm(j, True), "softmax": softmax, "attention": attention, "mlp": mlp,
                    "adamw": adamw, "embedding": embedding}[name]
        want, *wanted = function(job, key)
        worst = compare(name, case, job, want, after)
        for i in range(0, size, 4):
            if i // 4 not in want and after[i:i + 4] != before[i:i + 4]:
                sys.exit(f"{case}: changed bytes {i} ... that are not its to change")
    if (moved, flops) != tuple(wanted):
        sys.exit(f"{case}: says {moved} bytes, {flops} FLOPs; these are {tuple(wanted)}")
    return worst


def cases(is_few):
    sizes = [(1, 0, 0), (3, 8, 0), (4, 4, 4), (15, 1, 3), (16, 0, 0), (17, 20, 0), (31, 0, 40), (64, 3, 2), (100, 0, 0),
             (512, 512, 0), (520, 24, 28), (1000, 4, 8), (1023, 700, 24), (2052, 0, 0), (4096, 4096, 8192),
             (4099, 9000, 1024), (12345, 6000, 5000), (33000, 16000, 4100),
             (40000, 40, 48), (40004, 9000, 5000)]
    if not is_few:
        sizes += [(8192 + 12, 0, 0), (65536 + 4, 30000, 70000), (40000, 140000, 0)]
    for number, name in enumerate(KERNELS):
        for place, (size, a, b) in enumerate(sizes):
            yield name, size, a, b, 1000 * number + place
    yield "attention", 90000, 90000, 200000, 5  # several sequences, of the block and of the sources
    yield "mlp", 4000, 4000, 70000, 6  # 128 columns
    for name in ("fill", "verify", "copy"):
        for key in (7, 8):
            yield name, 70001, 160, 0, key


def main():
    jobs = list(cases(len(sys.argv) > 3))
    args = [str(value) for job in jobs for value in job]
    done = subprocess.run([*sys.argv[1:3], *args], stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{sys.argv[1]} ended with {done.returncode}")
    data, at, worst = done.stdout, 0, {}
    for case in jobs:
        name, size, a, b = case[:4]
        parts = [32, a, b, size, size]
        pieces = []
        for length in parts:
            pieces.append(data[at:at + length])
            at += length
        error = check(case, struct.unpack("<4Q", pieces[0]), pieces[1:3], pieces[3], pieces[4])
        worst[name] = max(worst.get(name, 0), error)
    if at != len(data):
        sys.exit("there is more output than there should be")
    for name in KERNELS:
        print(f"{name}: largest error {worst[name]:.1e}, allowed {allowed(name)}")


main()
