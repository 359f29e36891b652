# SPDX-License-Identifier: Apache-2.0
"""The jobs of docs/ci.md, run line by line as a runner would, with programs in place of git, gh and curl that only write
down what they were asked: is the verdict that of gmdiff, is there one comment, is it replaced the next time?"""
import json
import os
import re
import shutil
import stat
import subprocess

from harness import MIB, SOURCE, Allocator, Case, Clock, frame, main, write

GMDIFF = os.environ["GMDIFF"]
GMREPLAY = os.environ["GMREPLAY"]
MARK = "<!-- memory gate -->"

# Says what it was called with, and the body that it was given; lists the comments that $COMMENTS has.
FAKE = r"""#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
for word in "$@"; do
  case "$word" in *body[@=]*) cp "${word##*@}" "$BODY" ;; esac
done
case "$(basename "$0") $*" in
  "gh api --paginate"*) printf '%s' "$COMMENTS" | jq -r "$5" ;;
  *"/user") echo '{"id": 7}' ;;
  *"?per_page=100") printf '%s' "$COMMENTS" ;;
esac
exit "${FAKE_CODE:-0}"
"""


def block(heading):
    """The indented text below a heading of docs/ci.md."""
    with open(os.path.join(SOURCE, "docs", "ci.md"), encoding="utf-8") as file:
        text = file.read().split(f"\n## {heading}\n", 1)[1]
    return [line[4:] for line in re.match(r"\n((?:    .*\n|\n)+)", text).group(1).splitlines()]


def scripts(lines, key):
    """What follows each `key` of a YAML list or mapping: the rest of its line, or the deeper lines below a '|'."""
    found, i = [], 0
    while i < len(lines):
        match, depth, body = re.match(r" *" + key + r"(.*)", lines[i]), len(lines[i]) - len(lines[i].lstrip()), []
        i += 1
        if match is None:
            continue
        if match.group(1).strip() != "|":
            found.append(match.group(1).strip())
            continue
        while i < len(lines) and (not lines[i].strip() or len(lines[i]) - len(lines[i].lstrip()) > depth):
            body.append(lines[i])
            i += 1
        margin = min(len(line) - len(line.lstrip()) for line in body if line.strip())
        found.append("\n".join(line[margin:] for line in body))
    return found


def snapshot(megabytes):
    allocator = Allocator(0, 0x7F0000000000, Clock())
    allocator.recording = True
    allocator.alloc(megabytes * MIB, [frame("main", "/app/train.py", 3)])
    return {"segments": allocator.snapshot_segments(), "device_traces": [allocator.trace], "external_annotations": []}


class Jobs(Case):
    def setUp(self):
        super().setUp()
        self.calls, self.body = self.at("calls"), self.at("body")
        os.makedirs(self.at("bin"))
        os.makedirs(self.at("ci"))
        for name in "gh", "curl", "git":
            with open(self.at("bin", name), "w", encoding="ascii") as file:
                file.write(FAKE)
            os.chmod(self.at("bin", name), stat.S_IRWXU)
        os.symlink(GMDIFF, self.at("bin", "gmdiff"))
        os.symlink("/usr/bin/true", self.at("bin", "python"))  # the snapshot is there already
        base = write(self.at("base.pickle"), snapshot(100))
        subprocess.run([GMREPLAY, "-q", "--trace-out", self.at("ci", "memory_baseline.gmtrace"), base], check=True)

    def shell(self, *scripts_of_step, comments=(), **more):
        environment = {**os.environ, "PATH": self.at("bin") + ":" + os.environ["PATH"], "CALLS": self.calls,
                       "BODY": self.body, "COMMENTS": json.dumps(list(comments)), "GITHUB_OUTPUT": self.at("output"),
                       "GITHUB_REPOSITORY": "me/mine", "NUMBER": "12", "CI_API_V4_URL": "api", "CI_PROJECT_ID": "3",
                       "CI_MERGE_REQUEST_IID": "12", "MEMORY_BOT_TOKEN": "secret", **more}
        return subprocess.run(["bash", "-e", "-c", "\n".join(scripts_of_step)], cwd=self.folder, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)

    def called(self):
        if not os.path.exists(self.calls):
            return ""
        with open(self.calls, encoding="utf-8") as file:
            text = file.read()
        os.remove(self.calls)
        return text

    def check_body(self, verdict):
        with open(self.body, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[0], MARK)
        self.assertEqual(lines[1], "### GPU memory")
        self.assertTrue(lines[3].startswith(f"**{verdict}: "), lines[3])

    def github(self, megabytes, code, comments=()):
        build, snap, compare, comment, verdict = scripts(block("GitHub Actions"), "run: ")
        write(self.at("memory_snapshot.pickle"), snapshot(megabytes))
        for step in build, snap, compare:
            done = self.shell(step)
            self.assertEqual(done.returncode, 0, done.stdout)
        with open(self.at("output"), encoding="ascii") as file:
            said = file.read().splitlines()[-1]
        self.assertEqual(said, f"code={code}")
        self.assertEqual(self.called(), "")  # gmdiff is there: nothing to clone
        done = self.shell(comment, comments=comments)
        self.assertEqual(done.returncode, 0, done.stdout)
        done = self.shell(verdict.replace("${{ steps.compare.outputs.code || 3 }}", said[5:]))
        self.assertEqual(done.returncode, code)

    @staticmethod
    def lacks_jq():
        return shutil.which("jq") is None

    def test_github(self):
        if self.lacks_jq():
            self.skipTest("no jq")
        self.github(100, 0)
        self.assertIn("gh api --silent --method POST repos/me/mine/issues/12/comments -F body=@", self.called())
        self.check_body("PASS")
        others = [{"id": 1, "user": {"login": "mallory"}, "body": MARK}, {"id": 2, "user": {"login": "github-actions[bot]"},
                                                                          "body": "another job's"}]
        self.github(103, 1, comments=others)
        self.assertIn("--method POST", self.called())
        self.check_body("FAIL")
        mine = {"id": 33, "user": {"login": "github-actions[bot]"}, "body": MARK + "\n### GPU memory"}
        self.github(102, 0, comments=[*others, mine])
        self.assertIn("gh api --silent --method PATCH repos/me/mine/issues/comments/33 -F body=@", self.called())
        self.check_body("PASS")

    def test_github_without_a_result(self):
        """No snapshot: nothing to post, and the verdict is that of gmdiff."""
        _, _, compare, comment, _ = scripts(block("GitHub Actions"), "run: ")
        self.assertEqual(self.shell(compare).returncode, 0)
        with open(self.at("output"), encoding="ascii") as file:
            self.assertEqual(file.read(), "code=3\n")
        self.assertEqual(self.shell(comment).returncode, 0)
        self.assertEqual(self.called(), "")

    def gitlab(self, megabytes, code, comments=(), **more):
        write(self.at("memory_snapshot.pickle"), snapshot(megabytes))
        lines = block("GitLab")
        first, last = lines.index("  script:"), lines.index("  artifacts:")
        done = self.shell(*scripts(lines[first + 1:last], "- "), comments=comments, **more)
        self.assertEqual(done.returncode, code, done.stdout)
        return self.called()

    def test_gitlab(self):
        if self.lacks_jq():
            self.skipTest("no jq")
        notes = "api/projects/3/merge_requests/12/notes"
        said = self.gitlab(100, 0)
        self.assertRegex(said, r"--request POST --data-urlencode body@\S+ " + notes + r"\n")
        self.check_body("PASS")
        others = [{"id": 1, "author": {"id": 8}, "body": MARK}, {"id": 2, "author": {"id": 7}, "body": "mine, but another"}]
        self.assertIn("--request POST", self.gitlab(103, 1, comments=others))
        self.check_body("FAIL")
        said = self.gitlab(103, 1, comments=[*others, {"id": 44, "author": {"id": 7}, "body": MARK + " ..."}])
        self.assertRegex(said, r"--request PUT --data-urlencode body@\S+ " + notes + r"/44\n")
        self.assertNotIn("POST", said)
        self.gitlab(100, 0, FAKE_CODE="22")  # a comment that cannot be posted changes no verdict
        self.gitlab(103, 1, FAKE_CODE="22")


main()
