# SPDX-License-Identifier: Apache-2.0
"""The manual page of gm_record.py, from its own words: manual.py DATE VERSION > gm_record.1"""
import os
import sys
import textwrap

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gm_record  # noqa: E402 pylint: disable=wrong-import-position


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def filled(text):
    return [escaped(line) for line in textwrap.wrap(text, 70, break_long_words=False, break_on_hyphens=False)]


def paragraph(text):
    """Lines that are indented stand as they are."""
    lines = text.split("\n")
    said = " ".join(line for line in lines if not line.startswith("    "))
    shown = [escaped(line[4:]) for line in lines if line.startswith("    ")]
    return [".PP", *filled(said), *([".nf", *shown, ".fi"] if shown else [])]


def row(option):
    value = " {%s}" % ",".join(option.choices) if option.choices else " " + (option.metavar or option.dest.upper())
    names = ", ".join("\\fB%s\\fR" % escaped(name + value * (option.nargs != 0)) for name in option.option_strings)
    return [".TP", names, *filled(option.help % {"default": option.default})]


def page(date, version):
    parser = gm_record.make_parser()
    out = ['.TH GM_RECORD 1 %s "gmanalyze %s"' % (date, version), ".SH NAME",
           *filled("gm_record - " + parser.description[0].lower() + parser.description[1:].rstrip(".")),
           ".SH SYNOPSIS", escaped(parser.usage), ".SH DESCRIPTION"]
    for text in parser.epilog.split("\n\n"):
        out += paragraph(text)[1 if out[-1] == ".SH DESCRIPTION" else 0:]
    out.append(".SH OPTIONS")
    for option in parser._actions:
        out += row(option)
    return "\n".join([*out, ".SH SEE ALSO", ".BR gmanalyze (1)"])


if __name__ == "__main__":
    print(page(*sys.argv[1:]))
