#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is made of each program's table of options: manual pages, docs/cli.md's tables, and completion in bash, zsh and fish
as it is typed. `update` as argument writes the tables."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "check"))
from check_links import anchors  # noqa: E402

PROGRAMS = {name: os.environ.get(name.upper(), os.path.join(SOURCE, "build", "bin", name))
            for name in ("gmanalyze", "gmdiff", "gmdry", "gmfleet", "gmreplay", "gmtrace")}
DOCS = os.path.join(SOURCE, "docs")
# What is typed, of which program; what is among the proposals, and what must not be.
CASES = [
    ("gmanalyze --fail", {"--fail-above", "--fail-on", "--fail-below-efficiency"}, {"--gpu"}),
    ("gmanalyze --gpu rtx-409", {"rtx-4090"}, {"rtx-4080"}),
    ("gmanalyze --gpu=a100", {"a100-40", "a100-80"}, {"h100-80"}),
    ("gmanalyze --gpu l", {"list", "l4", "l40s"}, {"t4"}),
    ("gmanalyze --group ", {"stack", "function", "file", "category", "role"}, {"old.pickle"}),
    ("gmanalyze --fail-on=w", {"warning"}, {"info"}),
    ("gmanalyze --export folded,sp", {"folded,speedscope"}, {"folded,pprof", "speedscope"}),
    ("gmanalyze --export=folded,pp", {"folded,pprof"}, {"folded,speedscope"}),
    ("gmanalyze --ignore tensors", {"tensors-in-a-list"}, {"healthy"}),
    ("gmanalyze --from s", {"step:"}, {"event:"}),
    ("gmanalyze --dims batch=4,se", {"batch=4,seq="}, {"batch=4,hidden="}),
    ("gmanalyze -o ", {"sub/"}, {"old.pickle", "notes.txt"}),
    ("gmanalyze --source=s", {"sub/"}, {"small.json.gz"}),
    ("gmanalyze --categories n", {"notes.txt"}, {"old.pickle"}),
    ("gmanalyze ", {"old.pickle", "small.json.gz", "sub/"}, {"notes.txt"}),
    ("gmanalyze -q -- old", {"old.pickle"}, {"notes.txt"}),
    ("gmanalyze n", {"notes.txt"}, {"old.pickle"}),  # content decides
    ("gmanalyze --top ", set(), {"old.pickle", "stack"}),
    ("gmreplay --alloc-conf exp", {"expandable_segments:True", "expandable_segments:False"}, {"max_split_size_mb:"}),
    ("gmreplay --alloc-conf expandable_segments:True,max_s", {"expandable_segments:True,max_split_size_mb:"}, set()),
    ("gmreplay --alloc-conf=backend:cu", {"backend:cudaMallocAsync"}, {"backend:native"}),
    ("gmreplay --drop Opt", {"Optimizer state", "Optimizer step"}, {"Activation"}),
    ("gmreplay --scale Activation", {"Activation=", "Activation function="}, {"Gradient="}),
    ("gmreplay --plan mi3", {"mi300x", "mi325x", "mi355x"}, {"b200"}),
    ("gmreplay --backend cu", {"cuda", "cuda-async"}, {"sim"}),
    ("gmfleet --pat", {"--pattern"}, {"--gpu"}),
    ("gmfleet s", {"sub/", "small.json.gz"}, {"notes.txt"}),
    ("gmdiff old.pickle s", {"sub/", "small.json.gz"}, {"notes.txt"}),
    ("gmanalyze old.pickle --group ", {"stack"}, {"old.pickle"}),
    ("gmtrace cut --to s", {"step:"}, {"event:"}),
    ("gmdry --data r", {"random"}, {"ones"}),
    ("gmdry --events ", {"now", "sync"}, {"old.pickle"}),
    ("gmdry --gpu h100-80 -- mkdi", {"mkdir"}, {"--gpu"}),
    ("gmdry -- cat n", {"notes.txt"}, {"--gpu"}),
]

# Words as readline breaks them; what is proposed for the last of them takes its place.
BASH = r"""
source "$1" || exit 9
IFS=$'\037' read -r -a COMP_WORDS <<< "$2"
[[ $2 == *$'\037' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
"_${COMP_WORDS[0]}"
printf '%s\n' "${COMPREPLY[@]}"
"""
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
send() { zpty -w shell "$1" }
send 'PS1=; stty -echo; unsetopt zle_bracketed_paste prompt_sp; fpath=('"$1"' $fpath); autoload -Uz compinit; compinit -u -D'
send "zstyle ':completion:*' list-packed false; LISTMAX=0; zstyle ':completion:*' insert-tab false"
# All that compadd is given and fits is printed, and nothing inserted.
send 'compadd() { local -a found; local one; builtin compadd -O found "$@"
  for one in "${found[@]}"; do print -r -- "<$IPREFIX$one>"; done; builtin compadd "$@" }'
send 'show() { compstate[list]=; compstate[insert]=; _main_complete; print "<end>" }'
send "zle -C show list-choices show; bindkey '^T' show; print '<'ready'>'"
while zpty -r shell line; do [[ $line == *'<ready>'* ]] && break; done
shift
for typed; do
  zpty -n -w shell "$typed"$'\C-t'
  while zpty -r shell line; do print -r -- "$line"; [[ $line == *'<end>'* ]] && break; done
  zpty -n -w shell $'\C-u'
done
zpty -d shell
"""


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


def options_of(program):
    return re.findall(r"(?m)^ +(?:-\w, )?(--[a-z-]+)", run(PROGRAMS[program], "--help").stdout)


def table_of(program):
    return re.compile(rf"(?<=<!-- made by {program} --manual markdown: tests/cli/test_manual.py update -->\n\n)(?:\|.*\n)+")


def update():
    with open(os.path.join(DOCS, "cli.md"), encoding="utf-8") as file:
        text = file.read()
    for program in PROGRAMS:
        made = run(PROGRAMS[program], "--manual", "markdown").stdout
        text = table_of(program).sub(lambda _: made, text)
    with open(os.path.join(DOCS, "cli.md"), "w", encoding="utf-8") as file:
        file.write(text)


def needs(tool):
    return unittest.skipUnless(shutil.which(tool), f"no {tool}")


class Manual(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gmanalyze-manual-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.makedirs(os.path.join(self.folder, "sub"))
        for name in ("old.pickle", "small.json.gz", "notes.txt"):
            open(os.path.join(self.folder, name), "w").close()

    def manual(self, program, form):
        done = run(PROGRAMS[program], "--manual", form)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_help_fits_a_terminal(self):
        for program, binary in PROGRAMS.items():
            self.assertEqual([line for line in run(binary, "--help").stdout.splitlines() if len(line) > 80], [], program)

    def test_every_option_is_in_every_form(self):
        for program in PROGRAMS:
            options = options_of(program)
            self.assertIn("--manual", options)
            forms = {form: self.manual(program, form) for form in ("man", "markdown", "bash", "zsh", "fish")}
            for option in options:
                bare = option[2:]
                for form, mark in (("man", "\\fB" + option.replace("-", "\\-")), ("markdown", f"`{option}"), ("bash", f" {option} "),
                                   ("zsh", option), ("fish", f" -l {bare} ")):
                    self.assertRegex(forms[form], re.escape(mark).rstrip("\\ ") + r"(?![\w-])", (program, form))

    def test_the_documentation_has_these_tables(self):
        with open(os.path.join(DOCS, "cli.md"), encoding="utf-8") as file:
            text = file.read()
        for program in PROGRAMS:
            made = self.manual(program, "markdown")
            self.assertEqual(table_of(program).findall(text), [made], "stale: run this file with 'update'")
            for page, heading in re.findall(r"\]\(([a-z_]+\.md)(?:#([^)]*))?\)", made):
                self.assertIn(heading, {"", *anchors(os.path.join(DOCS, page))}, page)

    def test_what_was_probably_meant(self):
        for line, meant in (
                ("gmanalyze --gpus h100 x", "--gpu"), ("gmanalyze --gpu h10 x", "h100-80"), ("gmanalyze --export fold x", "folded"),
                ("gmanalyze --fail-on warn x", "warning"), ("gmanalyze --group funktion x", "function"),
                ("gmanalyze --ignore tensor-in-a-list x", "tensors-in-a-list"), ("gmanalyze --dims bach=4 x", "batch="),
                ("gmanalyze --dims batch=4,sek=3 x", "seq="), ("gmanalyze --dims infr x", "infer"),
                ("gmanalyze --from stp:3 x", "step:"), ("gmanalyze --manual mann", "man"), ("gmreplay --plan rtx-490 x", "rtx-4090"),
                ("gmreplay --backend cud x", "cuda"), ("gmreplay --scale Atention x", "Attention="),
                ("gmfleet --pattren x y", "--pattern"), ("gmdiff --fail-grow 2 x y", "--fail-growth"),
                ("gmdry --data zero -- true", "zeros"), ("gmdry --events syn -- true", "sync"), ("gmdry --gpu rtx409 -- x", "rtx-4090"),
                ("gmdry --ignore slow-leek -- true", "slow-leak")):
            program, *arguments = line.split()
            done = run(PROGRAMS[program], *arguments, cwd=self.folder)
            self.assertEqual(done.returncode, 2, line)
            self.assertIn(f"did you mean '{meant}'?", done.stderr)

    def test_a_manual_page_has_its_sections(self):
        for program in PROGRAMS:
            page = self.manual(program, "man")
            self.assertEqual(re.findall(r"(?m)^\.SH (.*)$", page),
                             ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "FILES", "EXAMPLES", "SEE ALSO"])
            for other in PROGRAMS:
                self.assertEqual(f".BR {other} (1)" in page, other != program)
            for code in re.findall(r"(?<=[ \n])([0-5])(?= [a-z])", run(PROGRAMS[program], "--help").stdout.split("Exit codes:")[1]):
                self.assertIn(f".TP\n{code}\n", page)

    @needs("mandoc")
    def test_mandoc_has_nothing_to_say(self):
        for program in PROGRAMS:
            done = run("mandoc", "-T", "lint", input=self.manual(program, "man"))
            self.assertEqual((done.stdout + done.stderr, done.returncode), ("", 0))
        recorder = run(sys.executable, os.path.join(SOURCE, "replay", "recorder", "manual.py"), "2026-01-01", "1.2.3")
        for option in ("--max-bytes SIZE", "--stacks {all,python}"):
            self.assertIn(option.replace("-", "\\-"), recorder.stdout)
        done = run("mandoc", "-T", "lint", input=recorder.stdout)
        self.assertEqual((done.stdout + done.stderr, done.returncode), ("", 0))

    @needs("lexgrog")
    def test_the_name_is_found_by_apropos(self):
        for program in PROGRAMS:
            path = os.path.join(self.folder, program + ".1")
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.manual(program, "man"))
            self.assertIn(f'"{program} - ', run("lexgrog", path).stdout)

    def check(self, shell, propose):
        paths = {}
        for program in PROGRAMS:
            paths[program] = os.path.join(self.folder, ".scripts", f"_{program}" if shell == "zsh" else program)
            os.makedirs(os.path.dirname(paths[program]), exist_ok=True)
            with open(paths[program], "w", encoding="utf-8") as file:
                file.write(self.manual(program, shell))
            self.assertEqual(run(shell, "-n", paths[program]).stderr, "")
        for line, wanted, unwanted in CASES:
            with self.subTest(line):
                found = propose(line, paths[line.split()[0]])
                self.assertLessEqual(wanted, found, "not proposed")
                self.assertFalse(unwanted & found, "proposed")

    def test_bash_completes(self):
        def propose(line, script):
            words = line.split(" ")
            broken = [piece for word in words for piece in ([""] if word == "" else re.findall(r"[=:]+|[^=:]+", word))]
            done = run("bash", "--norc", "-c", BASH, "bash", script, "\037".join(broken), cwd=self.folder)
            self.assertEqual(done.stderr, "")
            last = broken[-1] if not set(broken[-1]) <= set("=:") else ""
            before = words[-1][:len(words[-1]) - len(last)] if last else words[-1]
            before = re.sub(r"^--[a-z-]+=", "", before)
            found = {before + reply for reply in done.stdout.splitlines()}
            return {reply + "/" if os.path.isdir(os.path.join(self.folder, reply)) else reply for reply in found}
        self.check("bash", propose)

    @needs("zsh")
    def test_zsh_completes(self):
        lines, told = [line for line, _, _ in CASES], []

        def propose(line, script):
            if not told:  # all of them in one shell, which takes a second to start
                done = run("zsh", "-f", "-c", ZSH, "zsh", os.path.dirname(script), *lines, cwd=self.folder)
                told.extend(done.stdout.split("<end>"))
            found = {re.sub(r"^--[a-z-]+=", "", reply) for reply in re.findall(r"<(.*?)>", told[lines.index(line)])}
            return {reply + "/" if os.path.isdir(os.path.join(self.folder, reply)) else reply for reply in found}
        self.check("zsh", propose)

    @needs("fish")
    def test_fish_completes(self):
        def propose(line, script):
            home = dict(os.environ, HOME=self.folder, XDG_CONFIG_HOME=self.folder, XDG_DATA_HOME=self.folder)
            done = run("fish", "--no-config", "-c", 'source $argv[1]; complete -C"$argv[2]"', script, line, cwd=self.folder, env=home)
            self.assertEqual(done.stderr, "")
            return {re.sub(r"^--[a-z-]+=", "", reply.split("\t")[0]).replace("\\", "") for reply in done.stdout.splitlines()}
        self.check("fish", propose)


if __name__ == "__main__":
    if sys.argv[1:] == ["update"]:
        update()
    else:
        unittest.main()
