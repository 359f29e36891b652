# SPDX-License-Identifier: Apache-2.0
"""docs/ci: the action and the template, run line by line as a runner would, with programs in place of git, gh and curl
that only write down what they were asked, and a folder in place of the forge's cache. Is the verdict that of gmdiff, is
there one comment, is it replaced the next time, is the baseline that of the base branch?"""
import json
import os
import re
import shutil
import stat
import subprocess
import unittest

from harness import BINARY, SOURCE, Case, main, one_block, write

GMDIFF = os.environ["GMDIFF"]
GMREPLAY = os.environ["GMREPLAY"]
CI = os.path.join(SOURCE, "docs", "ci")
MARK = "<!-- memory gate: memory -->"

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


def scalar(text):
    if text[:1] in "\"'":
        return text[1:-1]
    if text[:1] == "[":
        return [scalar(item.strip()) for item in text[1:-1].split(",")]
    return {"true": True, "false": False}.get(text, int(text) if text.isdigit() else text)


def depth(line):
    return len(line) - len(line.lstrip())


def parse(lines):
    """As much of YAML as stands in docs/ci; what a real parser makes of it is compared where there is one."""
    lines = [line for line in lines if not line.lstrip().startswith("#") or depth(line) > 6]
    made = [] if lines[0].lstrip().startswith("- ") else {}
    here, i = depth(lines[0]), 0
    while i < len(lines):
        line, end = lines[i], i + 1
        while end < len(lines) and (not lines[end].strip() or depth(lines[end]) > here):
            end += 1
        below = lines[i + 1:end]
        if isinstance(made, list):
            item = line.strip()[2:]
            if item == "|":
                made.append(block(below))
            elif re.match(r"[\w-]+:( |$)", item):
                made.append(parse([" " * (here + 2) + item] + below))
            else:
                made.append(scalar(item))
        else:
            key, _, value = line.strip().partition(":")
            value = value.strip()
            made[key] = block(below) if value == "|" else scalar(value) if value else parse(below) if below else None
        i = end
    return made


def block(lines):
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return "".join(line[depth(lines[0]):] + "\n" for line in lines)


def load(name):
    with open(os.path.join(CI, name), encoding="utf-8") as file:
        return parse([line for line in file.read().splitlines() if line.strip()])


class Files(unittest.TestCase):
    NAMES = {"action.yml": "vendor.github-actions", "workflow.yml": "vendor.github-workflows", "gitlab.yml": "vendor.gitlab-ci"}

    def test_a_real_parser_reads_the_same(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no PyYAML")
        for name in self.NAMES:
            with open(os.path.join(CI, name), encoding="utf-8") as file:
                real = yaml.safe_load(file)
            real = {"on" if key is True else key: value for key, value in real.items()}
            self.assertEqual(load(name), real)

    def test_schemas(self):
        if shutil.which("check-jsonschema") is None:
            self.skipTest("no check-jsonschema")
        for name, schema in self.NAMES.items():
            more = ["--data-transform", "gitlab-ci"] if "gitlab" in schema else []
            done = subprocess.run(["check-jsonschema", "--builtin-schema", schema, *more, os.path.join(CI, name)],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_workflow_gives_the_action_what_it_takes(self):
        gate = next(step for step in load("workflow.yml")["jobs"]["memory"]["steps"] if "docs/ci@" in step.get("uses", ""))
        inputs = load("action.yml")["inputs"]
        self.assertLessEqual(set(gate["with"]), set(inputs))
        self.assertLessEqual({name for name, about in inputs.items() if about.get("required")}, set(gate["with"]))
        with open(os.path.join(SOURCE, "docs", "ci.md"), encoding="utf-8") as file:
            document = file.read()
        for name in list(inputs) + list(load("gitlab.yml")[".memory-gate"]["variables"]):
            self.assertTrue(f"`{name}`" in document or name == "MEMORY_CACHE", name)

    def test_shells_say_nothing_of_expressions(self):
        """${{ }} in a script would put what somebody called a branch into it."""
        for step in load("action.yml")["runs"]["steps"]:
            self.assertNotIn("${{", step.get("run", ""))


@unittest.skipIf(shutil.which("jq") is None, "no jq")
class Jobs(Case):
    def setUp(self):
        super().setUp()
        self.calls, self.body = self.at("calls"), self.at("body")
        os.makedirs(self.at("bin"))
        for name in "gh", "curl", "git":
            with open(self.at("bin", name), "w", encoding="ascii") as file:
                file.write(FAKE)
            os.chmod(self.at("bin", name), stat.S_IRWXU)
        for name, program in (("gmdiff", GMDIFF), ("gmreplay", GMREPLAY), ("gmanalyze", BINARY)):
            os.symlink(program, self.at("bin", name))

    def shell(self, *scripts, comments=(), **more):
        environment = {**os.environ, "PATH": self.at("bin") + ":" + os.environ["PATH"], "CALLS": self.calls,
                       "BODY": self.body, "COMMENTS": json.dumps(list(comments)), **more}
        return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", "\n".join(scripts)], cwd=self.folder, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)

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


class GitHub(Jobs):
    def cache(self, step, values, saves):
        """actions/cache: the file under its key, or the newest whose key begins with one of restore-keys."""
        file, folder = self.at(*self.fill(step["with"]["path"], values).split("/")), self.at("cache")
        key = self.fill(step["with"]["key"], values)
        os.makedirs(folder, exist_ok=True)
        if saves:
            shutil.copy(file, os.path.join(folder, key))
            return
        prefix = self.fill(step["with"]["restore-keys"], values)
        keys = sorted(os.listdir(folder), key=lambda name: os.stat(os.path.join(folder, name)).st_mtime_ns)
        found = [name for name in keys if name == key] or [name for name in keys if name.startswith(prefix)]
        if found:
            os.makedirs(os.path.dirname(file), exist_ok=True)
            shutil.copy(os.path.join(folder, found[-1]), file)

    @staticmethod
    def fill(text, values):
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda match: values.get(match.group(1), ""), text)

    def run_action(self, megabytes, event="pull_request", sha="new", comments=(), fake_code="0", **inputs):
        """The code of its verdict, and what it printed."""
        if megabytes is not None:
            write(self.at("memory_snapshot.pickle"), one_block(megabytes))
        shutil.rmtree(self.at(".memory-gate"), ignore_errors=True)
        action = load("action.yml")
        values = {f"inputs.{name}": str(about.get("default", "")).replace("True", "true") for name, about in action["inputs"].items()}
        values["inputs.token"] = "secret"
        values.update({f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()})
        values.update({"inputs.snapshot": "memory_snapshot.pickle", "github.event_name": event, "github.sha": sha,
                       "github.event.pull_request.base.sha": "base", "github.event.pull_request.number": "12"})
        printed = ""
        for step in action["runs"]["steps"]:
            condition = re.sub(r"(?:inputs|github|steps)\.[\w.-]+", lambda match: repr(values.get(match.group(), "")), step.get("if", "True"))
            if not eval(condition.replace("&&", "and").replace("||", "or"), {"__builtins__": {}}):
                continue
            if "uses" in step:
                self.cache(step, values, "save" in step["uses"])
                continue
            output = self.at("output")
            open(output, "w", encoding="ascii").close()
            done = self.shell(step["run"], comments=comments, GITHUB_OUTPUT=output, GITHUB_STEP_SUMMARY=self.at("summary"),
                              GITHUB_PATH=self.at("path"), GITHUB_ACTION_PATH=CI, GITHUB_REPOSITORY="me/mine", FAKE_CODE=fake_code,
                              **{name: self.fill(value, values) for name, value in (step.get("env") or {}).items()})
            printed += done.stdout
            with open(output, encoding="utf-8") as file:
                for line in file.read().splitlines():
                    name, _, value = line.partition("=")
                    values[f"steps.{step['id']}.outputs.{name}"] = value
            self.outputs = {name: self.fill(about["value"], values) for name, about in action["outputs"].items()}
            if done.returncode != 0 and step["name"] != "Verdict" and not step.get("continue-on-error"):
                self.fail(f"{step['name']}: {done.stdout}")
        return done.returncode, printed

    def test_comment_is_replaced(self):
        self.assertEqual(self.run_action(100, "push", sha="base")[0], 0)
        self.assertEqual(self.called(), "")  # nothing is built, nothing posted
        self.assertEqual(self.run_action(100)[0], 0)
        self.assertIn("gh api --silent --method POST repos/me/mine/issues/12/comments -F body=@", self.called())
        self.check_body("PASS")
        others = [{"id": 1, "user": {"type": "User"}, "body": MARK}, {"id": 2, "user": {"type": "Bot"}, "body": "another job's"},
                  {"id": 3, "user": {"type": "Bot"}, "body": "<!-- memory gate: other -->"}]
        code, printed = self.run_action(103, comments=others)
        self.assertEqual(code, 1)
        self.assertIn("--method POST", self.called())
        self.check_body("FAIL")
        mine = {"id": 33, "user": {"type": "Bot"}, "body": MARK + "\n### GPU memory"}
        self.assertEqual(self.run_action(102, comments=[*others, mine])[0], 0)
        called = self.called()
        self.assertIn("gh api --silent --method PATCH repos/me/mine/issues/comments/33 -F body=@", called)
        self.assertNotIn("POST", called)
        self.check_body("PASS")
        self.assertEqual(self.run_action(103, fake_code="22")[0], 1)  # a comment that cannot be posted changes no verdict
        self.assertEqual(self.run_action(100, fake_code="22")[0], 0)

    def test_dry_run_prints(self):
        self.run_action(100, "push", sha="base")
        code, printed = self.run_action(103, comment="dry-run", comments=[{"id": 33, "user": {"type": "Bot"}, "body": MARK}])
        self.assertEqual(code, 1)
        self.assertIn("gh api --method PATCH repos/me/mine/issues/comments/33\n" + MARK, printed)
        self.assertNotIn("--method", self.called())
        self.run_action(103, comment="false")
        self.assertEqual(self.called(), "")

    def test_annotations(self):
        self.run_action(100, "push", sha="base")
        with open(self.at("train.py"), "w", encoding="ascii") as file:
            file.write("pass\n" * 5)
        code, printed = self.run_action(150)
        self.assertEqual(code, 1)
        self.assertRegex(printed, "(?m)^::error title=fail-growth::")
        self.assertRegex(printed, "(?m)^::warning file=train.py,line=3,title=grown-call-site::")
        self.assertEqual(self.outputs["code"], "1")
        with open(self.at(*self.outputs["sarif"].split("/")), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["version"], "2.1.0")
        with open(self.at("summary"), encoding="utf-8") as file:
            self.assertIn("### GPU memory", file.read())

    def test_baseline_of_the_cache(self):
        code, printed = self.run_action(100)
        self.assertEqual((code, printed.count("there is no baseline yet")), (0, 1))
        self.assertEqual(self.called(), "")
        self.run_action(100, "push", sha="older")
        self.assertEqual(self.run_action(150)[0], 1)  # the newest there is
        self.run_action(200, "push", sha="newer")
        self.assertEqual(self.run_action(150)[0], 0)
        self.run_action(120, "push", sha="base")
        self.run_action(300, "push", sha="newest")
        self.assertEqual(self.run_action(150)[0], 1)  # that of the commit it is based on
        self.assertEqual(sorted(os.listdir(self.at("cache"))), ["memory-gate-memory-" + sha for sha in ("base", "newer", "newest", "older")])

    def test_baseline_of_the_repository(self):
        base = write(self.at("base.pickle"), one_block(100))
        subprocess.run([GMREPLAY, "-q", "--trace-out", self.at("kept.gmtrace"), base], check=True)
        for event in "pull_request", "push":
            self.assertEqual(self.run_action(100, event, baseline="kept.gmtrace")[0], 0)
            self.assertEqual(self.run_action(110, event, baseline="kept.gmtrace", fail_growth="5MiB")[0], 1)
        self.assertEqual(self.run_action(110, baseline="kept.gmtrace", fail_growth="20MiB", options="--top 3 -v")[0], 0)
        self.assertFalse(os.path.exists(self.at("cache")))

    def test_nothing_to_read(self):
        self.assertEqual(self.run_action(None, "push")[0], 3)
        self.assertFalse(os.path.exists(self.at("cache")))
        self.run_action(100, "push", sha="base")
        os.remove(self.at("memory_snapshot.pickle"))
        code, printed = self.run_action(None)
        self.assertEqual(code, 3)
        self.assertIn("::error title=unreadable::", printed)
        self.assertEqual(self.called(), "")
        self.assertEqual(self.run_action(100, baseline="nowhere.gmtrace")[0], 3)

    def test_a_runner_without_gmdiff(self):
        """It builds out of its own checkout."""
        step = load("action.yml")["runs"]["steps"][0]
        os.remove(self.at("bin", "gmdiff"))
        os.makedirs(self.at("ours", "docs", "ci"))
        with open(self.at("ours", "dev"), "w", encoding="ascii") as file:
            file.write('#!/bin/sh\necho "dev $*" >> "$CALLS"\n')
        os.chmod(self.at("ours", "dev"), stat.S_IRWXU)
        done = self.shell(step["run"], GITHUB_ACTION_PATH=self.at("ours", "docs", "ci"), GITHUB_PATH=self.at("path"))
        if shutil.which("gmdiff") is not None:
            self.skipTest("gmdiff is installed here")
        self.assertEqual((done.returncode, self.called()), (0, "dev build\n"), done.stdout)
        with open(self.at("path"), encoding="utf-8") as file:
            self.assertTrue(file.read().strip().endswith("ours/docs/ci/../../build/bin"))


class GitLab(Jobs):
    NOTES = "api/projects/3/merge_requests/12/notes"

    def run_job(self, megabytes, is_merge=True, comments=(), **more):
        if megabytes is not None:
            write(self.at("memory_snapshot.pickle"), one_block(megabytes))
        job = load("gitlab.yml")[".memory-gate"]
        variables = {name: str(value).replace("True", "true") for name, value in job["variables"].items()}
        variables.update({"CI_API_V4_URL": "api", "CI_PROJECT_ID": "3", "MEMORY_BOT_TOKEN": "secret", "CI_MERGE_REQUEST_IID": "12" if is_merge else ""})
        done = self.shell(*job["script"], comments=comments, **{**variables, **more})
        return done.returncode, done.stdout

    def test_comment_is_replaced(self):
        self.assertEqual(self.run_job(100, is_merge=False)[0], 0)
        self.assertEqual(self.called(), "")
        self.assertEqual(self.run_job(100)[0], 0)
        self.assertRegex(self.called(), r"--data-urlencode body@\S+ --request POST " + self.NOTES + r"\n")
        self.check_body("PASS")
        others = [{"id": 1, "author": {"id": 8}, "body": MARK}, {"id": 2, "author": {"id": 7}, "body": "mine, but another"}]
        self.assertEqual(self.run_job(103, comments=others)[0], 1)
        self.assertIn("--request POST", self.called())
        self.check_body("FAIL")
        self.assertEqual(self.run_job(103, comments=[*others, {"id": 44, "author": {"id": 7}, "body": MARK + " ..."}])[0], 1)
        said = self.called()
        self.assertRegex(said, r"--data-urlencode body@\S+ --request PUT " + self.NOTES + r"/44\n")
        self.assertNotIn("POST", said)
        self.assertEqual(self.run_job(100, FAKE_CODE="22")[0], 0)  # a comment that cannot be posted changes no verdict
        self.assertEqual(self.run_job(103, FAKE_CODE="22")[0], 1)

    def test_reports(self):
        self.run_job(100, is_merge=False)
        self.run_job(150)
        reports = load("gitlab.yml")[".memory-gate"]["artifacts"]["reports"]
        with open(self.at(*reports["codequality"].split("/")), encoding="utf-8") as file:
            self.assertEqual({one["check_name"] for one in json.load(file)}, {"fail-growth", "grown-call-site"})
        with open(self.at(*reports["junit"].split("/")), encoding="utf-8") as file:
            self.assertIn("<failure ", file.read())

    def test_dry_run_and_no_baseline(self):
        code, printed = self.run_job(100)
        self.assertEqual((code, printed), (0, "there is no baseline yet; the next run on the default branch leaves one\n"))
        self.run_job(100, is_merge=False)
        code, printed = self.run_job(103, MEMORY_COMMENT="dry-run")
        self.assertEqual(code, 1)
        self.assertIn(f"curl --request POST {self.NOTES}\n{MARK}\n", printed)
        self.assertNotIn("POST", self.called())

    def test_nothing_to_read(self):
        self.assertEqual(self.run_job(None, is_merge=False)[0], 3)
        self.run_job(100, is_merge=False)
        os.remove(self.at("memory_snapshot.pickle"))
        self.assertEqual(self.run_job(None)[0], 3)
        self.assertEqual(self.called(), "")


main()
