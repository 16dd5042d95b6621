"""The GitHub Action, the reusable workflow and the GitLab component: they parse, their options exist, they work."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import dra_api
from dra_conformance.cli import cli

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "action.yml"
WORKFLOW = ROOT / ".github" / "workflows" / "conformance.yml"
GITLAB = ROOT / "templates" / "dra-conformance.yml"
PAGE = ROOT / "docs" / "how-to" / "continuous-integration.md"
HOSTILE = "--focus=x; touch injected $(touch injected) `touch injected`"


def documents(path: Path) -> list[dict[Any, Any]]:
    return list(yaml.safe_load_all(path.read_text()))


def steps(path: Path) -> list[dict[str, Any]]:
    (document,) = documents(path)
    found = document["runs"]["steps"] if path == ACTION else document["jobs"]["conformance"]["steps"]
    assert isinstance(found, list)
    return found


def inputs(path: Path) -> dict[str, dict[str, Any]]:
    document = documents(path)[0]
    if path == ACTION:
        return dict(document["inputs"])
    # YAML 1.1 reads the key `on` as a boolean.
    return dict(document["spec"]["inputs"] if path == GITLAB else document[True]["workflow_call"]["inputs"])


def gitlab_job() -> dict[str, Any]:
    (job,) = documents(GITLAB)[1].values()
    assert isinstance(job, dict)
    return job


def scripts(path: Path) -> list[str]:
    if path == GITLAB:
        return list(gitlab_job()["script"])
    return [step["run"] for step in steps(path) if "run" in step]


FILES = pytest.mark.parametrize("path", [ACTION, WORKFLOW, GITLAB], ids=["action", "workflow", "gitlab"])


@FILES
def test_inputs_are_declared_described_used_and_documented(path: Path) -> None:
    declared = inputs(path)
    assert all(one["description"] and isinstance(one["default"], str) for one in declared.values())
    used = set(re.findall(r"inputs\.([a-z-]+)", path.read_text()))
    assert used == set(declared)
    page = PAGE.read_text()
    assert [name for name in declared if f"`{name}`" not in page] == []


@FILES
def test_scripts_parse_and_contain_no_expressions(path: Path) -> None:
    for script in scripts(path):
        # Text of an expression becomes part of the script; variables do not.
        assert "${{" not in script
        assert "$[[" not in script
        shell = "sh" if path == GITLAB else "bash"
        done = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True, check=False)
        assert done.returncode == 0, f"{script}\n{done.stderr}"


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the subcommand and the options of each call of the program in a script."""
    for line in re.findall(r"dra-conformance ((?!=)[a-z][a-z-]*\b[^\n|;&]*)", text):
        yield line.split()[0], re.findall(r"(?<!\S)(--[a-z-]+)", line)


def options_of(name: str) -> set[str]:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None, f"there is no command {name}"
    return {option for parameter in found.params for option in (*parameter.opts, *parameter.secondary_opts)}


@FILES
def test_commands_and_options_exist(path: Path) -> None:
    called = [call for script in scripts(path) for call in commands(script)]
    assert {"run", "summary"} <= {name for name, _ in called}
    assert [(name, option) for name, found in called for option in found if option not in options_of(name)] == []


def test_the_options_of_the_examples_exist() -> None:
    examples = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(examples) == 3
    for example in examples:
        (block,) = re.findall(r"options: \|\n((?: +--.*\n)+)", example)
        assert set(re.findall(r"^ +(--[a-z-]+)=", block, re.MULTILINE)) <= options_of("run")
    for path in (ACTION, WORKFLOW, GITLAB):
        names = {name for example in examples for name in re.findall(r"^ +([a-z-]+):", example, re.MULTILINE)}
        assert set(inputs(path)) & names


def test_actions_are_pinned_to_a_commit_and_the_comment_has_its_tag() -> None:
    pins: dict[str, set[tuple[str, str]]] = {}
    for path in (ACTION, *WORKFLOW.parent.glob("*.yml")):
        for line in re.findall(r"\buses: .*", path.read_text()):
            pin = re.fullmatch(r"uses: (actions/[a-z-]+)[a-z/-]*@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)", line)
            assert pin, line
            pins.setdefault(pin[1], set()).add((pin[2], pin[3]))
    assert [name for name, found in pins.items() if len(found) > 1] == []


@pytest.mark.parametrize("path", [WORKFLOW, GITLAB], ids=["workflow", "gitlab"])
def test_a_tag_installs_its_own_version(path: Path) -> None:
    assert inputs(path)["version"]["default"] == dra_api.__version__
    (script,) = [script for script in scripts(path) if "pip install" in script]
    name = "DRA_VERSION" if path == GITLAB else "VERSION"
    for version, wanted in (("0.2.0", "dra-conformance==0.2.0"), ("", "dra-conformance")):
        words = script.replace("python3 -m pip install --quiet ", "printf %s ")
        environment = {"PATH": os.environ["PATH"], name: version}
        printed = subprocess.run(["sh", "-c", words], env=environment, capture_output=True, text=True, check=True)
        assert printed.stdout == wanted


FAKE = """\
#!{python}
import json, os, sys
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
words = sys.argv[1:]
if words[0] == "run":
    out = words[words.index("--out") + 1]
    if os.environ["VERDICT"]:
        os.makedirs(out, exist_ok=True)
        open(os.path.join(out, "report.json"), "w").write(json.dumps({{"verdict": os.environ["VERDICT"]}}))
    sys.exit(int(os.environ["EXIT"]))
if words[0] == "diff":
    sys.exit(int(os.environ["DIFF"]))
print("# " + words[0])
"""


class Runner:
    """Runs the steps of a job as a runner does, with a fake `dra-conformance`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        programs = folder / "programs"
        programs.mkdir()
        (programs / "dra-conformance").write_text(FAKE.format(python=sys.executable))
        (programs / "dra-conformance").chmod(0o755)
        self.environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "CALLS": str(folder / "calls"),
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            "VERDICT": "conformant",
            "EXIT": "0",
            "DIFF": "0",
        }

    def step(self, path: Path, name: str, **values: str) -> int:
        (step,) = [step for step in steps(path) if step.get("name") == name]
        assert set(values) == set(step.get("env", {}))
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(words, cwd=self.folder, env={**self.environment, **values}, check=False).returncode

    @property
    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]

    @property
    def outputs(self) -> dict[str, str]:
        lines = (self.folder / "output").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def run_step(path: Path) -> dict[str, str]:
    return {"OUT": "dra-report"} if path == ACTION else {}


GITHUB = pytest.mark.parametrize("path", [ACTION, WORKFLOW], ids=["action", "workflow"])


@GITHUB
def test_each_line_is_one_word_and_no_shell_reads_it(runner: Runner, path: Path) -> None:
    options = f"--profile=driver-core\n\n--driver=exec:./plugin --node {{node}} 'a b'\n{HOSTILE}\n"
    assert runner.step(path, "Run", OPTIONS=options, **run_step(path)) == 0
    assert runner.calls[0] == [
        *("run", "--out", "dra-report", "--progress", "plain"),
        *("--profile=driver-core", "--driver=exec:./plugin --node {node} 'a b'", HOSTILE),
    ]
    assert not (runner.folder / "injected").exists()
    assert runner.outputs == {"verdict": "conformant", "exit-code": "0"}
    assert (runner.folder / "summary").read_text() == "# summary\n"


@GITHUB
def test_a_failed_run_is_published_and_then_fails_the_job(runner: Runner, path: Path) -> None:
    runner.environment |= {"VERDICT": "not-conformant", "EXIT": "1"}
    assert runner.step(path, "Run", OPTIONS="", **run_step(path)) == 0
    assert runner.outputs == {"verdict": "not-conformant", "exit-code": "1"}
    assert runner.step(path, "Result", RUN="1", COMPARE="") == 1


@GITHUB
def test_a_run_without_a_report_keeps_its_exit_code(runner: Runner, path: Path) -> None:
    runner.environment |= {"VERDICT": "", "EXIT": "10"}
    assert runner.step(path, "Run", OPTIONS="", **run_step(path)) == 0
    assert runner.outputs == {"verdict": "", "exit-code": "10"}
    assert len(runner.calls) == 1
    assert runner.step(path, "Result", RUN="10", COMPARE="") == 10
    # No exit code at all: the step was killed.
    assert runner.step(path, "Result", RUN="", COMPARE="") != 0


@GITHUB
def test_a_regression_fails_the_job(runner: Runner, path: Path) -> None:
    runner.environment |= {"DIFF": "1"}
    values = {"BASELINE": "main report", "OUT": "dra-report"} if path == ACTION else {}
    assert runner.step(path, "Compare", **values) == 0
    assert runner.calls[0][0] == "diff"
    assert runner.outputs == {"exit-code": "1"}
    assert runner.step(path, "Result", RUN="0", COMPARE="1") == 1
    assert runner.step(path, "Result", RUN="0", COMPARE="") == 0


def test_the_action_writes_the_bundle(runner: Runner) -> None:
    assert runner.step(ACTION, "Write the evidence bundle", BUNDLE="a b", OUT="dra-report") == 0
    assert runner.calls == [["bundle", "dra-report", "--out", "a b"]]


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("code", ["0", "1", "10"])
def test_the_gitlab_job(runner: Runner, shell: str, code: str) -> None:
    if shutil.which(shell) is None:
        # GitLab runs the script in the shell of an image; a machine need not have both.
        pytest.skip(f"{shell} is not installed")
    runner.environment |= {"EXIT": code, "VERDICT": "" if code == "10" else "partial"}
    options = f"--profile=driver-core\n--driver=exec:./plugin  {{node}}\n{HOSTILE}"
    (script,) = [script for script in gitlab_job()["script"] if "dra-conformance run" in script]
    environment = {**runner.environment, "DRA_OPTIONS": options}
    done = subprocess.run([shell, "-ec", script], cwd=runner.folder, env=environment, check=False)
    assert done.returncode == int(code)
    assert runner.calls[0][5:] == ["--profile=driver-core", "--driver=exec:./plugin  {node}", HOSTILE]
    assert [call[0] for call in runner.calls[1:]] == ([] if code == "10" else ["summary", "badge"])
    assert not (runner.folder / "injected").exists()
