"""Tests of the isolation of programs under test: a program that attacks the results of its run changes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from polling import wait_until

from dra_conformance.core import isolation
from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.core.isolation import Isolation
from dra_conformance.core.process import ManagedProcess
from dra_conformance.kubelet.container_process import ContainerProcess

REPOSITORY = Path(__file__).resolve().parents[2]
ATTACKS = Path(__file__).with_name("attacks.py")
ALL = ("memory", "descriptors", "environment", "ptrace", "log", "report")
_NOBODY = 64999
_PYTHON = "/usr/bin/python3"  # every user may execute it, which is not so for the one of a virtual environment
# The harness may read the files of its own Python, wherever they are; it has no other privilege.
_AS_NOBODY = (
    *("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"),
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
)

FEATURE = """@profile:claim-lifecycle @component:scheduler
Feature: Attacked
  @DRA-100
  Scenario: A node is there
    Given node "n1"
    # The program starts and attacks meanwhile.
    When 3 seconds pass
    Then the Node "n1" still exists
"""

pytestmark = pytest.mark.skipif(not Path(_PYTHON).exists(), reason=f"there is no {_PYTHON}")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start programs as other users")


@dataclass(frozen=True)
class Attacked:
    """The end of a run whose scheduler attacks it."""

    code: int
    output: str
    report: dict[str, Any]
    attacks: dict[str, str]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that other users can read: pytest's own is private."""
    made = Path(tempfile.mkdtemp(prefix="dra-attacked-", dir="/tmp"))
    made.chmod(0o755)
    (made / "probe").mkdir()
    (made / "probe" / "attacked.feature").write_text(FEATURE)
    shutil.copy(ATTACKS, made)
    yield made
    shutil.rmtree(made)


def attacked(folder: Path, *more: str, prefix: tuple[str, ...] = ()) -> Attacked:
    """Run a scenario whose scheduler is the attacking program."""
    out = folder / "report"
    words = ["run", "--features", "probe", "--focus", "^probe/", "--progress", "none", "--out", str(out)]
    words += ["--report", "json"]
    words += ["--scheduler", f"exec:{_PYTHON} {folder / ATTACKS.name} {out}", *more]
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "dra_conformance", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert (out / "report.json").is_file(), done.stderr
    logs = (out / "logs").glob("scheduler*.log")  # with the name of the worker, if there are several
    lines = [line for log in logs for line in log.read_text().splitlines()]
    return Attacked(
        done.returncode,
        done.stdout + done.stderr,
        orjson.loads((out / "report.json").read_bytes()),
        dict(line.split() for line in lines if line.endswith(("denied", "succeeded"))),
    )


@needs_root
def test_a_program_of_another_user_cannot_attack(folder: Path) -> None:
    found = attacked(folder, "--isolation", "user")
    assert found.attacks == dict.fromkeys(ALL, "denied")
    assert found.code == ExitCode.OK
    assert found.report["target"]["isolation"] == {"scheduler": "user"}


@needs_root
def test_a_program_in_a_namespace_cannot_attack(folder: Path) -> None:
    os.chown(folder, _NOBODY, _NOBODY)
    found = attacked(folder, "--isolation", "namespace", prefix=_AS_NOBODY)
    assert found.attacks == dict.fromkeys(ALL, "denied")
    assert found.code == ExitCode.OK
    assert found.report["target"]["isolation"] == {"scheduler": "namespace"}


@pytest.mark.parametrize(
    ("workers", "problem"),
    [([], "another program changed the event log"), (["-n", "1"], "the event log of worker gw0 cannot be used")],
)
def test_an_attack_without_isolation_makes_the_run_invalid(folder: Path, workers: list[str], problem: str) -> None:
    found = attacked(folder, "--isolation", "off", *workers)
    assert found.attacks["log"] == "succeeded"
    assert found.report["verdict"] == "invalid"
    assert problem in found.report["problems"][0]["message"]
    assert found.code == ExitCode.HARNESS_ERROR
    assert found.report["target"]["isolation"] == {"scheduler": "not isolated: --isolation off"}


def has_ended(program: Path) -> bool:
    try:
        return "State:\tZ" in (program / "status").read_text()  # in a container without an init process
    except OSError:
        return True


STARTS = """
import signal, subprocess, sys
from pathlib import Path
from dra_conformance.core.isolation import Isolation
wait = ["/bin/sh", "-c", "echo $$; while :; do sleep 1; done"]
process = subprocess.Popen(Isolation(mode=sys.argv[1], uid=61200).command(wait), stdout=subprocess.PIPE)
print(process.stdout.readline().decode(), end="", flush=True)
signal.pause()
"""


@needs_root
@pytest.mark.parametrize(("mode", "prefix"), [("user", ()), ("namespace", _AS_NOBODY)], ids=["user", "namespace"])
def test_a_program_ends_when_its_harness_is_killed(mode: str, prefix: tuple[str, ...]) -> None:
    harness = subprocess.Popen(
        [*prefix, sys.executable, "-c", STARTS, mode],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path])},
        stdout=subprocess.PIPE,
    )
    assert harness.stdout is not None
    program = Path("/proc") / harness.stdout.readline().decode().strip()
    assert program.name.isdigit()
    assert program.exists()
    harness.kill()
    harness.communicate()
    wait_until(lambda: has_ended(program))


def test_auto_isolates_if_it_can() -> None:
    found = isolation.choose("auto", run_id="00000001")
    assert found.mode in ("user", "namespace", "off")
    assert bool(found.reason) == (found.mode == "off")


@needs_root
def test_auto_does_not_isolate_a_program_that_the_other_user_may_not_execute(tmp_path: Path) -> None:
    program = tmp_path / "private"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    found = isolation.choose("auto", run_id="00000001", programs=[str(program)])
    assert found.mode == "off"
    assert f"may not execute {program}: install it where all users can read it" in found.label
    with pytest.raises(UsageError, match="--isolation user: the user"):
        isolation.choose("user", run_id="00000001", programs=[str(program)])


@needs_root
def test_root_gets_no_namespace() -> None:
    with pytest.raises(UsageError, match="root's files"):
        isolation.choose("namespace", run_id="00000001")


OWN = {
    "PATH": "/bin",
    "HOME": "/root",
    "TMPDIR": "/of-the-user",
    "TZ": "UTC",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "SSH_AUTH_SOCK": "/run/agent",
    "GITHUB_TOKEN": "secret",
    "LCX": "x",
    "PATHS": "x",
    "MINE": "own",
}
SMALL = {name: OWN[name] for name in ("PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL")}


def test_programs_get_little_of_the_environment() -> None:
    assert Isolation().environment({}, own=OWN) == SMALL
    given = {"PATH": "/node/bin:/bin", "KUBECONFIG": "/k"}
    assert Isolation().environment(given, own=OWN) == {**SMALL, **given}


def test_programs_get_the_variables_that_the_user_names() -> None:
    chosen = Isolation(pass_env=("MINE", "KUBECONFIG", "NOT_SET"))
    assert chosen.environment({}, own={**OWN, "KUBECONFIG": "/mine"}) == {**SMALL, "MINE": "own", "KUBECONFIG": "/mine"}
    # What the run sets is part of the scenario.
    assert chosen.environment({"KUBECONFIG": "/k"}, own={**OWN, "KUBECONFIG": "/mine"})["KUBECONFIG"] == "/k"


def test_programs_of_the_cluster_get_little_of_the_environment_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {**OWN, "SSL_CERT_FILE": "/ca", "SSL_CERT_DIR": "/certs", "AWS_SECRET_ACCESS_KEY": "secret"}
    certificates = {"SSL_CERT_FILE": "/ca", "SSL_CERT_DIR": "/certs"}
    assert isolation.of_kubernetes().environment({}, own=own) == {**SMALL, **certificates}
    named = isolation.of_kubernetes(["MINE"]).environment({"PATH": "/node"}, own=own)
    assert named == {**SMALL, **certificates, "MINE": "own", "PATH": "/node"}
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    process = ManagedProcess("p", ["env"], log_path=tmp_path / "log", isolation=isolation.of_kubernetes())
    process.start()
    process.wait(30)
    process.kill()
    printed = (tmp_path / "log").read_text()
    assert "PATH=" in printed
    assert "AWS_SECRET_ACCESS_KEY" not in printed


def test_the_check_of_a_daemon_gets_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    program = ContainerProcess(
        "daemon",
        {"spec": {}},
        {"command": ["daemon", "run"]},
        entry_points={"daemon": ["/bin/sh", "-c", 'echo "own $OWN, secret $AWS_SECRET_ACCESS_KEY."; exit 1']},
        environment={"OWN": "1"},
        log_path=tmp_path / "log",
        isolation=Isolation(),
    )
    assert "own 1, secret ." in program.execute(["daemon", "check"], 10.0)


@pytest.mark.parametrize(
    ("mode", "named", "home"),
    [("user", (), "/scratch"), ("namespace", (), "/scratch"), ("user", ("HOME",), "/root"), ("off", (), "/root")],
)
def test_the_home_of_an_isolated_program_is_its_own(mode: isolation.Mode, named: tuple[str, ...], home: str) -> None:
    found = Isolation(mode=mode, uid=61184, pass_env=named).environment({"TMPDIR": "/scratch"}, own=OWN)
    assert found == {**SMALL, "TMPDIR": "/scratch", "HOME": home}


PRINTS = """
import os, signal, sys
print("variables", *sorted(f"{name}={value}" for name, value in os.environ.items()), flush=True)
signal.pause()
"""


def test_a_secret_of_the_environment_does_not_reach_a_program(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_TOKEN", "WANTED", "UNWANTED"):
        monkeypatch.setenv(name, f"hunter2-{name}")
    (folder / ATTACKS.name).write_text(PRINTS)
    found = attacked(folder, "--pass-env", "WANTED")
    assert found.code == ExitCode.OK, found.output
    written = (folder / "report" / "logs" / "scheduler.log").read_text()
    variables = dict(word.split("=", 1) for word in written.removeprefix("variables ").split())
    assert "KUBECONFIG" in variables
    assert variables["PATH"] == os.environ["PATH"]
    assert {name for name in variables if "hunter2" in variables[name]} == {"WANTED"}
    # The report has the names of passed variables, without their values.
    assert "hunter2" not in "".join(path.read_text() for path in (folder / "report").glob("*.*"))
