#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--tree and --chart: the sums of the lines, the width of a terminal, colour, locales."""
import base64
import collections
import fcntl
import functools
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios
import unicodedata
import zlib

from harness import BINARY, SOURCE, Case, main, small_snapshot, write

DEMO = os.path.join(SOURCE, "tests", "data", "demo.gmtrace")
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
LINE = re.compile(r" *([\d.]+) (\w+) +<?[\d.]+%  ((?:[│ ] )*)([├└] )?(.+)")


def parsed(size, unit):
    """Bytes, and how far off they may be for the digits that are shown."""
    digits = len(size.partition(".")[2])
    return float(size) * UNITS[unit], UNITS[unit] * (0.5 / 10**digits if unit != "B" else 0)


def sums(lines):
    """{line: ((bytes, tolerance), [those of the lines right below])}; line -1 is the whole."""
    found, above = collections.defaultdict(lambda: [None, []]), {0: -1}
    for i, line in enumerate(lines):
        size, unit, indent, branch, _ = LINE.fullmatch(line).groups()
        level = len(indent) // 2 + bool(branch)
        found[i][0] = parsed(size, unit)
        found[above[level]][1].append(found[i][0])
        above[level + 1] = i
    return found


def of_png(data):
    """The palette of a PNG, as tuples of red, green, blue, and its rows."""
    at, chunks = 8, collections.defaultdict(bytes)
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        chunks[kind] += data[at + 8:at + 8 + length]
        at += length + 12
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    raw, colors = zlib.decompress(chunks[b"IDAT"]), chunks[b"PLTE"]
    rows = [raw[y * (width + 1):(y + 1) * (width + 1)] for y in range(height)]
    assert all(row[0] == 0 for row in rows)  # no filter
    return [tuple(colors[i:i + 3]) for i in range(0, len(colors), 3)], [row[1:] for row in rows]


def unpacked(data):
    """What says how a PNG looks: palette and pixels."""
    at = data.index(b"IDAT")
    return data[:at - 4], zlib.decompress(data[at + 4:-16])


def of_sixels(text):
    """The same of a sixel image, a palette by number: every pixel must have been set."""
    width, height = map(int, re.match(r'"1;1;(\d+);(\d+)', text).groups())
    colors, rows, x, top, color, unset = {}, [bytearray(b"\xff" * width) for _ in range(height)], 0, 0, None, 255
    for token in re.findall(r"#\d+;2;\d+;\d+;\d+|#\d+|!\d+.|[$?-~-]", text[text.index("#"):]):
        if ";2;" in token:
            number, *rest = token[1:].split(";")
            colors[int(number)] = tuple(int(v) * 255 // 100 for v in rest[1:])
        elif token[0] == "#":
            color = int(token[1:])
        elif token == "$":
            x = 0
        elif token == "-":
            x, top = 0, top + 6
        else:
            count = int(token[1:-1]) if token[0] == "!" else 1
            for y in range(6):
                if ord(token[-1]) - 63 >> y & 1:
                    rows[top + y][x:x + count] = bytes([color]) * count
            x += count
    assert unset not in colors and not any(unset in row for row in rows)
    return colors, rows


class Drawn(Case):
    def drawn(self, *options, **environment):
        env = dict(os.environ, LC_ALL="C.UTF-8", **environment)
        text = self.run_it("--no-charts", "--no-page", *options, DEMO, env=env).stdout.decode()
        return text.split("\n\n", 1)[1].splitlines()

    def on_terminal(self, columns, *options, **environment):
        """What a terminal of that width gets."""
        env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL")}
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        program = subprocess.Popen([BINARY, "--no-charts", "--no-page", *options, DEMO], cwd=self.folder, stdout=slave,
                                   stderr=subprocess.DEVNULL, env=dict(env, TERM="xterm", LC_ALL="C.UTF-8", **environment))
        os.close(slave)
        data = b""
        try:
            while chunk := os.read(master, 65536):
                data += chunk
        except OSError:  # EIO: nobody has the other end
            pass
        os.close(master)
        self.assertEqual(program.wait(), 0)
        return data.decode().replace("\r\n", "\n").split("\n\n", 1)[1].splitlines()

    def on_answering_terminal(self, answer, pixels, *options):
        """What a terminal gets that says `answer` when it is asked, before and behind that question; columns: 100."""
        pid, master = pty.fork()
        if pid == 0:
            env = dict(os.environ, TERM="xterm", LC_ALL="C.UTF-8")
            os.chdir(self.folder)
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, pixels, 0))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.execve(BINARY, [BINARY, "--no-page", *options, DEMO], env)
        data, asked = b"", None
        try:
            while chunk := os.read(master, 65536):
                data += chunk
                if asked is None and data.endswith(b"\x1b[c"):
                    asked, data = data, b""
                    self.assertFalse(termios.tcgetattr(master)[3] & termios.ECHO)
                    for part in answer:  # however it arrives
                        os.write(master, bytes([part]))
        except OSError:
            pass
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        os.close(master)
        return asked, data.decode().replace("\r\n", "\n")

    def timeline(self):
        with open(os.path.join(self.folder, "results/latest/memory_timeline.png"), "rb") as file:
            return file.read()

    def test_kitty(self):
        for pixels, columns in ((0, 100), (900, 100), (1000, 90), (3600, 50), (600, 100)):
            _, text = self.on_answering_terminal(b"\x1b_Gi=31;OK\x1b\\\x1b[?62;4c", pixels, "--chart")
            pieces = re.findall(r"\x1b_G(a=T,q=2,f=100,c=(\d+),)?m=([01]);([^\x1b]{1,4096})\x1b\\", text)
            self.assertEqual([piece[2] for piece in pieces], ["1"] * (len(pieces) - 1) + ["0"])
            self.assertEqual([piece[1] for piece in pieces if piece[0]], [str(columns)])
            self.assertEqual(base64.b64decode("".join(piece[3] for piece in pieces)), self.timeline())
            self.assertNotIn("┤", text)

    def test_sixels(self):
        for pixels, factor in ((900, 2), (1799, 2), (1800, 1), (620, 3)):
            _, text = self.on_answering_terminal(b"\x1b[?62;22;4c", pixels, "--chart")
            (image,) = re.findall(r"\x1bP0;1q([^\x1b]*)\x1b\\\n", text)
            (colors, got), (palette, whole) = of_sixels(image), of_png(self.timeline())
            self.assertEqual((len(got), len(got[0])), (len(whole) // factor, 1800 // factor))

            @functools.lru_cache(maxsize=None)
            def is_far(color, *square):
                mean = [sum(c) / len(square) for c in zip(*(palette[i] for i in square))]
                return max(abs(a - b) for a, b in zip(colors[color], mean)) > 40  # edges are in six steps of 51

            far = 0
            for y in range(0, len(got), 3):
                squares = zip(*(whole[y * factor + i][k::factor] for i in range(factor) for k in range(factor)))
                far += sum(is_far(color, *square) for color, square in zip(got[y], squares))
            self.assertLess(far, len(got) * len(got[0]) / 3 / 500)

    def test_other_terminals_get_characters(self):
        for answer in (b"\x1b[?62;14;22;40c", b"\x1b[?6c", b"\x1b_Gi=31;ENOTSUPPORTED\x1b\\\x1b[?1;2c", b"", b"q\n"):
            asked, text = self.on_answering_terminal(answer, 900, "--chart")
            self.assertIsNotNone(asked)
            self.assertIn("┤", text)
            self.assertNotIn("\x1b_G", text)
            self.assertNotIn("\x1bP", text)

    def test_who_is_not_asked(self):
        for options in (["--tree"], ["--chart", "-q"], ["--chart", "--no-charts"]):
            asked, text = self.on_answering_terminal(b"\x1b[?4c", 900, *options)
            self.assertIsNone(asked)
            self.assertNotIn("\x1b[c", text)

    def test_lines_sum_to_the_peak(self):
        peak = self.peak_of_demo()
        for top in (1, 2, 5, 20, 50, 1000):
            lines = self.drawn("--tree", "--top", str(top))
            self.assertTrue(lines[0].startswith("Device 0 at its peak: 9.47 GiB requested"), lines[0])
            self.assertLessEqual(len(lines) - 1, max(top, 1))
            for i, (whole, parts) in sums(lines[1:]).items():
                whole = whole or (peak, 0)
                if parts:
                    self.assertAlmostEqual(whole[0], sum(p[0] for p in parts),
                                           delta=whole[1] + sum(p[1] for p in parts), msg=f"{top}: {lines[i + 1]}")

    def peak_of_demo(self):
        found = re.search(rb'"peak_requested_bytes": (\d+)', self.run_it("--no-charts", "--no-page", "--json", "-", DEMO).stdout)
        return int(found[1])

    def test_as_wide_as_the_terminal(self):
        for columns in (60, 80, 120):
            lines = self.on_terminal(columns, "--tree", "--chart", "--gpu", "a100-80", NO_COLOR="1")
            widths = [sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line) for line in lines]
            self.assertLessEqual(max(widths), columns)
            self.assertGreater(max(widths), columns - 3)
            self.assertNotIn("\x1b", "".join(lines))

    def test_colour(self):
        self.assertIn("\x1b[2m", "".join(self.on_terminal(80, "--tree")))
        for no_colour in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            env = {"TERM": "xterm", **no_colour}
            self.assertNotIn("\x1b", "".join(self.drawn("--tree", **env)))
        self.assertNotIn("\x1b", "".join(self.drawn("--tree", TERM="xterm")))

    def test_no_terminal_is_100_columns(self):
        lines = self.drawn("--chart")
        self.assertEqual(max(map(len, lines)), 100)

    def test_ascii_in_other_locales(self):
        for locale in ("C", "POSIX", "de_DE.ISO-8859-1"):
            text = self.run_it("--no-charts", "--no-page", "--tree", "--chart", DEMO, env=dict(os.environ, LC_ALL=locale)).stdout
            self.assertTrue(text.decode().split("\n\n", 1)[1].isascii())

    def test_chart(self):
        lines = self.drawn("--chart", "--gpu", "rtx-4090")
        self.assertTrue(lines[0].startswith("Device 0 over time, peak: 9.47 GiB requested"))
        self.assertIn("▼", lines[1])
        self.assertEqual(lines[14].split()[:2], ["0", lines[14].split()[1]])
        self.assertTrue(lines[15].strip().startswith("time"))
        self.assertTrue(lines[16].strip().startswith("step"))
        self.assertEqual(sum("╌╌╌" in line for line in lines), 1)
        self.assertIn("rtx-4090: ", lines[-1])

    def test_devices_one_after_the_other(self):
        write(self.snapshot, small_snapshot(devices=2))
        text = self.run_it("--no-charts", "--no-page", "--tree", "--chart", self.snapshot).stdout.decode()
        heads = [line[:22] for line in text.splitlines() if line.startswith("Device ")]
        self.assertEqual(heads, ["Device 0 at its peak: ", "Device 1 at its peak: ", "Device 0 over time, pe", "Device 1 over time, pe"])

    def test_large_files_are_drawn_late(self):
        """The same pictures, when the events are forgotten as while they are there."""
        pictures = []
        for padding in (0, 48 << 20):
            with open(self.at("snapshot.json"), "w", encoding="ascii") as file:
                file.write(json.dumps(small_snapshot()) + " " * padding)
            self.run_it("-q", "snapshot.json")
            run = self.at("results", self.latest())
            pictures.append({path.name: unpacked(path.read_bytes()) for path in pathlib.Path(run).glob("*.png")})
        self.assertGreater(len(pictures[0]), 8)
        self.assertEqual(*pictures)

    def test_where_it_goes(self):
        self.assertEqual(self.run_it("-q", "--no-charts", "--tree", "--chart", self.snapshot).stdout, b"")
        for option in ("--tree", "--chart"):
            self.assert_one_error(self.run_it(option, "--json", "-", self.snapshot, code=2), option)


if __name__ == "__main__":
    main()
