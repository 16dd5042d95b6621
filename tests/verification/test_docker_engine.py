"""`python -m verification docker`: messages when prerequisites are missing, and cleanup after every outcome."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dra_conformance.engine.requirements.control_plane import BYPASS_HARNESS
from dra_conformance.kubelet.real import requirements
from verification.docker_engine import command, compare, docker, flags, image, place
from verification.docker_engine.runs import Ended

ROOT = Path(__file__).resolve().parents[2]
CHILD = """
    import signal, sys
    from pathlib import Path
    from verification.docker_engine import place
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(place.apart(lambda folder: [sys.executable, "-c", sys.argv[1], str(folder)]))
"""
STAYS = """
    import pathlib, subprocess, sys
    from verification.docker_engine import place
    place.settle()
    folder = pathlib.Path(sys.argv[1])
    (folder / "mounted").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder / "mounted")], check=True)
    child = subprocess.Popen(["sleep", "1000"])
    print(folder, flush=True)
    child.wait()
"""


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A folder in which everything seems to be built."""
    for name in (*docker.PROGRAMS, "dra-cluster", "control-plane", "dra-node"):
        (tmp_path / name).touch()
    assert not image.needed(tmp_path)
    return tmp_path


def test_the_log_of_a_failed_cluster_is_reduced_to_errors_and_warnings() -> None:
    said = "E1123 one\n\nW1123 two\nI1123 three\nfour\n"
    assert flags.worst(said) == ["E1123 one", "W1123 two"]


def test_what_is_not_built_is_said_in_one_line(built: Path) -> None:
    reasons: list[str] = []
    (built / "dockerd").unlink()
    (built / "dra-cluster").unlink()
    assert command.main(bin_dir=built, absent=lambda reason: (reasons.append(reason), 7)[1]) == 7
    assert reasons == ["docker: dockerd, dra-cluster not built (make third-party-all)"]


def test_missing_root_rights_are_reported_in_one_line(
    built: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        requirements, "look", lambda: [requirements.Need("privileges", "uid 1000", "a kubelet runs as root", "")]
    )
    assert command.main(bin_dir=built, absent=lambda _: 1) == 0
    assert capsys.readouterr().out.splitlines() == [
        "docker: no engine runs here: privileges: a kubelet runs as root; --control-plane k3s was not tried"
    ]


class Told:
    """Runs whose reports are told beforehand: of the container and of processes, in turns."""

    image = f"{image.NAME}:v1.36.2"

    def __init__(self, *statuses: dict[str, str], reason: str = "why") -> None:
        self._reason = reason
        self._reports = [self._report(each) for each in statuses]
        self.words: list[tuple[str, ...]] = []

    def _report(self, statuses: dict[str, str]) -> Ended:
        rows = [
            {"id": name, "status": status, "reason": f"{self._reason} {status}"} for name, status in statuses.items()
        ]
        target = {"controlPlane": f"container in the place of k3s ({self.image}), started by the run"}
        return Ended(0, "", {"scenarios": rows, "target": {**target, "evidence": "evidence"}})

    def run(self, *words: str) -> Ended:
        self.words.append(words)
        return self._reports.pop(0)

    run_binaries = run

    def left(self) -> list[str]:
        return []


def test_verdicts_that_differ_twice_are_reported_and_others_are_unstable(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = Told(
        {"f/a#x": "passed", "f/b#y": "passed", "f/c#z": "failed", "f/d#n": "not-applicable"},
        {"f/a#x": "failed", "f/b#y": "failed", "f/c#z": "failed", "f/d#n": "passed"},
        {"f/a#x": "passed", "f/b#y": "passed"},
        {"f/a#x": "failed", "f/b#y": "passed"},
    )
    told = list(compare.look(runs))  # type: ignore[arg-type]
    assert told == ["f/a#x: passed on the container, failed on processes (why passed; why failed)"]
    assert runs.words[2] == ("--focus", r"^f/a\#x ", "--focus", r"^f/b\#y ")
    assert "unstable: f/b#y: passed on the container, failed on processes" in capsys.readouterr().out


@pytest.mark.parametrize(("reason", "differing"), [(BYPASS_HARNESS, 0), ("another reason", 1)])
def test_a_container_cannot_have_faults_in_requests(reason: str, differing: int) -> None:
    here, there = {"f/a#x": "passed", "f/b#y": "untestable"}, {"f/a#x": "passed", "f/b#y": "failed"}
    runs = Told(here, there, here, there, reason=reason)
    assert len(list(compare.look(runs))) == differing  # type: ignore[arg-type]


def test_verdicts_that_were_not_repeated_are_reported() -> None:
    runs = Told({"f/a#x": "passed", "f/b#y": "passed"}, {"f/a#x": "failed", "f/b#y": "passed"}, {}, {})
    assert list(compare.look(runs)) == ["f/a#x: None on the container, None on processes ()"]  # type: ignore[arg-type]


def test_nothing_judged_alike_is_no_good_end() -> None:
    (told,) = compare.look(Told({}, {}))  # type: ignore[arg-type]
    assert told.startswith("nothing was judged alike")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whatever_ends_the_command_ends_the_place(how: signal.Signals) -> None:
    if lacking := [f"{need.name}: {need.lacks}" for need in requirements.look() if need.lacks]:
        pytest.skip(f"no namespaces here: {'; '.join(lacking)}")
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), textwrap.dedent(STAYS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        start_new_session=True,  # as a terminal does it: Ctrl-C goes to all of them
    )
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    assert folder.name.startswith("dra-docker-")
    os.killpg(process.pid, how) if how is signal.SIGINT else os.kill(process.pid, how)
    process.communicate(timeout=60)
    if how is signal.SIGKILL:  # nobody is left to tidy up, but nothing runs and nothing is mounted
        place.clear(folder)
    assert place.traces(folder) == []
