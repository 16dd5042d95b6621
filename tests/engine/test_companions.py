"""Companions of a component: their order, their readiness, their errors, and the presets for KAI."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import orjson
import pytest

from dra_conformance.core import assets, kai_presets
from dra_conformance.core.companions import CompanionProgram, Companions
from dra_conformance.core.component_spec import ComponentSpec
from dra_conformance.core.configuration import from_mapping
from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.core.options import RunOptions
from dra_conformance.engine import preflight
from tests.engine.command_line import CommandLine

# A scheduler that ends at once while its companion is not ready.
SCHEDULER = (
    "exec:/bin/sh -c 'test -e {folder}/ready && exec {python} -m reference_impl scheduler --kubeconfig {{kubeconfig}}'"
)
# A program that listens on its port, answers 503 once, and is ready after that.
SERVER = """
import http.server, os, sys

class Handler(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        Handler.asked += 1
        if Handler.asked > 1:
            open(sys.argv[2], "w").close()
        self.send_response(200 if Handler.asked > 1 else 503)
        self.end_headers()

assert os.path.exists(os.environ["KUBECONFIG"]) and os.environ["COLOUR"] == "green"
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
MANIFEST = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shelves.store.example.com}
spec:
  group: store.example.com
  scope: Cluster
  names: {plural: shelves, singular: shelf, kind: Shelf, listKind: ShelfList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: store.example.com/v1
kind: Shelf
metadata: {name: top}
"""


def configure(
    cli: CommandLine, script: str, *, manifest: str = MANIFEST, ready: str = "/", scheduler: str = SCHEDULER
) -> list[str]:
    """Write a configuration with a companion of the scheduler, and return options of a run that needs it."""
    (cli.folder / "beside.py").write_text(script)
    (cli.folder / "shelf.yaml").write_text(manifest)
    (cli.folder / "dra-conformance.toml").write_text(
        dedent(f"""
        scheduler = {orjson.dumps(scheduler.format(folder=cli.folder, python=sys.executable)).decode()}
        isolation = "off"
        [companions.scheduler]
        manifests = ["shelf.yaml"]
        [[companions.scheduler.programs]]
        name = "beside"
        command = ["{sys.executable}", "{cli.folder}/beside.py", "{{port}}", "{cli.folder}/ready"]
        environment = {{COLOUR = "green"}}
        ready = "http://127.0.0.1:{{port}}{ready}"
        """)
    )
    return ["--focus", "^bind_requests/scheduler_cleans#", "--rule", "KAI-070"]


def started(cli: CommandLine) -> list[tuple[str, str]]:
    """Return component and action of each change of a component, in order."""
    rows = [orjson.loads(line) for line in cli.logged().splitlines()]
    return [(row["component"], row["action"]) for row in rows if row["kind"] == "component"]


def test_companions_are_ready_before_the_component_and_survive_its_restarts(cli: CommandLine) -> None:
    ended = cli.suite(*configure(cli, SERVER))
    assert ended.code == 0, ended.out + ended.err
    changes = [change for change in started(cli) if change[0] in ("beside", "scheduler")]
    assert changes.count(("beside", "start")) == 1
    assert changes.count(("scheduler", "start")) > 1


@pytest.mark.parametrize(
    ("script", "manifest", "code", "said"),
    [
        ("import sys; sys.exit('no queue')", MANIFEST, ExitCode.TARGET_UNREACHABLE, "no queue"),
        (SERVER, MANIFEST.partition("---")[2], ExitCode.USAGE, "unknown kind 'Shelf' in apiVersion"),
        (SERVER, "- 1", ExitCode.USAGE, "shelf.yaml: expected an object with metadata"),
    ],
)
def test_a_companion_that_cannot_be_had_ends_the_run(
    cli: CommandLine, script: str, manifest: str, code: int, said: str
) -> None:
    ended = cli.suite(*configure(cli, script, manifest=manifest))
    assert said in ended.out + ended.err
    assert ended.code == code


# A program that is ready at once, and ends soon after that.
MORTAL = """
import http.server, os, sys, threading, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open(sys.argv[2], "w").close()
        self.send_response(200)
        self.end_headers()
        threading.Timer({after}, lambda: (print("no more groups", flush=True), os._exit(3))).start()

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


IDLE = "exec:/bin/sh -c 'test -e {folder}/ready && exec sleep 600'"
"""A scheduler that does nothing, so that its scenario fails after its companion has died."""


@pytest.mark.parametrize(("scheduler", "after"), [(IDLE, 0.5), (SCHEDULER, 0.0)], ids=["in a scenario", "between two"])
def test_a_companion_that_dies_later_ends_the_run_and_is_named(cli: CommandLine, scheduler: str, after: float) -> None:
    configure(cli, MORTAL.format(after=after), scheduler=scheduler)
    ended = cli.suite("--focus", "^bind_requests/scheduler_cleans#", "--rule", "KAI-070", "--rule", "KAI-072")
    said = ended.out + ended.err
    assert "problem: beside, a companion of the scheduler, ended with exit code 3" in said
    assert "no more groups" in said
    assert ended.code == ExitCode.TARGET_UNREACHABLE
    # No rule is judged by what the scheduler did without it, and it is not started again.
    assert "MUST failed" not in said
    assert started(cli).count(("beside", "start")) == 1


@pytest.mark.parametrize("word", ["{port}", "{flags}", "{kubeconfig}"])
def test_a_command_of_a_component_has_these_words(word: str) -> None:
    preflight.check(RunOptions(scheduler=f"exec:/bin/sh {word}"))


def of_scheduler(**more: Any) -> dict[str, Any]:
    return {"scheduler": "exec:/bin/sh", "companions": {"scheduler": more}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"companions": {"kubelet": {}}}, "unknown component with companions 'kubelet'"),
        ({"companions": {"scheduler": {}}}, "companions.scheduler: requires a program that the run starts"),
        (of_scheduler(programs=[{"name": "", "command": ["x"]}]), "a program must have a name and a command"),
        (of_scheduler(programs=[{"name": "binder", "command": ["x"]}]), "the name 'binder' is taken"),
        ({"pod-label": ["queue"]}, "--pod-label 'queue': must be KEY=VALUE"),
        ({"pod-annotation": ["=x"]}, "--pod-annotation '=x': must be KEY=VALUE"),
        (
            {**of_scheduler(manifests=["x"]), "control-plane": "kubeconfig"},
            "manifests are created on a control plane of the run only",
        ),
    ],
)
def test_declarations_that_cannot_work_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        from_mapping(values, where="test")
    assert message in error.value.message


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (of_scheduler(manifests=["/no/such.yaml"]), "companions: /no/such.yaml: no such file or directory"),
        (of_scheduler(programs=[{"name": "x", "command": ["/no/x"]}]), "--x exec: no such program: /no/x"),
        (
            of_scheduler(programs=[{"name": "x", "command": ["/bin/sh", "{prt}"]}]),
            "unknown placeholder {prt} in the command",
        ),
        ({"scheduler-name": "mine"}, "--scheduler-name: requires a scheduler under test"),
    ],
)
def test_what_a_declaration_names_must_exist(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        preflight.check(from_mapping(values, where="test"))
    assert message in error.value.message


def test_pods_get_the_names_of_the_scheduler_under_test() -> None:
    options = RunOptions(scheduler="exec:x", scheduler_name="mine", pod_label=("a=b=c",), pod_annotation=("d=",))
    assert (options.scheduler_name_of_pods, options.pod_labels, options.pod_annotations) == (
        "mine",
        {"a": "b=c"},
        {"d": ""},
    )
    assert RunOptions().scheduler_name_of_pods == ""
    kai = RunOptions(scheduler="kai")
    assert (kai.scheduler_name_of_pods, kai.pod_labels) == ("kai-scheduler", {"kai.scheduler/queue": "default-queue"})


# -- presets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("component", ["scheduler", "binder"])
def test_a_preset_of_kai_is_the_command_of_its_release(component: str) -> None:
    spec = ComponentSpec.parse(component, "kai")
    assert spec == ComponentSpec.parse(component, "kai:v0.12.0")
    assert spec.kind == "exec"
    assert str(spec) == "kai:v0.12.0"
    assert spec.command[0] == str(assets.third_party_programs() / "kai-v0.12.0" / component)
    # A release of KAI is not one of NVIDIA's driver.
    assert RunOptions(**{component: "kai"}).nvidia_release == "v0.5.0"


def test_another_release_of_kai_is_refused() -> None:
    with pytest.raises(UsageError, match=r"unknown release of KAI 'v1' \(choose from v0.12.0\)"):
        ComponentSpec.parse("binder", "kai:v1")


@pytest.mark.parametrize(("component", "built"), [("scheduler", "kai"), ("binder", "kai-binder")])
def test_a_program_of_kai_that_is_not_built_ends_with_the_build_command(
    component: str, built: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assets, "third_party_programs", lambda: tmp_path)
    with pytest.raises(UsageError, match=f"--{component} kai:v0.12.0: not built: there is no ") as raised:
        preflight.check(RunOptions(**{component: "kai"}))
    assert raised.value.exit_code == ExitCode.USAGE
    build = f"python -m verification build {built}"
    assert raised.value.hint == f"In a checkout of the project, with Go: {build}; then run the suite there."


def test_a_companion_that_is_not_built_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "third_party_programs", lambda: tmp_path)
    missing = {path.name for path in kai_presets.kai("scheduler", "").missing()}
    assert {"scheduler", "podgrouper", "crds"} <= missing


def test_the_files_of_a_folder_are_read_by_name(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yaml", "c.txt"):
        (tmp_path / name).touch()
    program = CompanionProgram(name="x", command=tuple(shlex.split("x y")))
    found = Companions(manifests=(str(tmp_path),), programs=(program,))
    assert [path.name for path in found.files()] == ["a.yaml", "b.yaml"]
