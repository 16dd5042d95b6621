"""Programs that leave processes behind or print without end, and a harness that is killed."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from polling import wait_until

from dra_conformance.core import control_groups, output_limit
from dra_conformance.core.isolation import NONE, Isolation, choose, of_kubernetes
from dra_conformance.core.output_limit import OutputLimit
from dra_conformance.core.process import ManagedProcess

UNDER_TEST = Isolation(reason="of this test")
# Leaves the process group, and its parent ends: what daemon(3) does.
DAEMON = "(setsid sh -c 'echo $$ > {pid}; exec sleep 600' &) ; {rest}"


def script(folder: Path, rest: str) -> list[str]:
    return ["sh", "-c", DAEMON.format(pid=folder / "pid", rest=rest)]


def daemon(folder: Path) -> int:
    """Return the id of the daemon as soon as it runs its last program: in an exec, no command line can be read."""
    return sleeping(folder / "pid")


def sleeping(file: Path) -> int:
    """Return the process id in a file as soon as that process is `sleep`."""
    wait_until(lambda: file.is_file() and file.read_text().endswith("\n"))
    process = int(file.read_text())
    wait_until(lambda: b"sleep\x00600" in Path(f"/proc/{process}/cmdline").read_bytes())
    return process


def runs(process: int) -> bool:
    """Whether a process exists and is no zombie, which has no command line."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes() != b""
    except OSError:
        return False


@pytest.mark.parametrize("end", [ManagedProcess.stop, ManagedProcess.kill])
@pytest.mark.parametrize("rest", ["sleep 600", "true"], ids=["it runs", "it has ended"])
def test_a_process_that_left_its_session_is_killed_and_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, end: Callable[[ManagedProcess], None], rest: str
) -> None:
    program = ManagedProcess("driver", script(tmp_path, rest), log_path=tmp_path / "log", isolation=UNDER_TEST)
    program.start()
    left = daemon(tmp_path)
    with caplog.at_level(logging.WARNING):
        end(program)
    assert not runs(left)
    assert f"driver: killed processes that it left behind: {left} " in caplog.text


# No mark in its environment, no session and no parent of the program.
UNMARKED = "(env -i setsid sh -c 'echo $$; exec sleep 600' &) ; exec sleep 600"


@pytest.fixture
def can_make_groups() -> None:
    made = control_groups.create(control_groups.own_group(), "dra-test")
    if not made:
        pytest.skip("this machine permits no cgroup below that of the tests")
    control_groups.remove(made)


@pytest.mark.usefixtures("can_make_groups")
@pytest.mark.parametrize("has_kill", [True, False], ids=["cgroup.kill", "before Linux 5.14"])
def test_a_process_that_cleared_its_environment_is_killed_and_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, has_kill: bool
) -> None:
    if not has_kill:
        monkeypatch.setattr(control_groups, "KILL", "cgroup.missing")
    log = tmp_path / "log"
    program = ManagedProcess("driver", ["sh", "-c", UNMARKED], log_path=log, isolation=choose("auto", run_id="1"))
    program.start()
    left = sleeping(log)
    group = Path(f"/proc/{left}/cgroup").read_text()
    with caplog.at_level(logging.WARNING):
        program.stop()
    assert not runs(left)
    assert caplog.text.count("left behind") == 1
    assert f"driver: killed processes that it left behind: {left} sleep 600\n" in caplog.text
    (path,) = [line.removeprefix("0::") for line in group.splitlines() if line.startswith("0::")]
    assert "/dra-" in path
    assert not Path(control_groups.own_group(), *Path(path).parts[-2:]).exists()


@pytest.mark.usefixtures("can_make_groups")
def test_a_process_that_cleared_its_environment_ends_with_a_killed_harness(tmp_path: Path) -> None:
    log = tmp_path / "log"
    harness = f"""
import sys
from pathlib import Path
from dra_conformance.core.isolation import choose
from dra_conformance.core.process import ManagedProcess
words, log = ["sh", "-c", {UNMARKED!r}], Path({str(log)!r})
ManagedProcess("p", words, log_path=log, isolation=choose("auto", run_id="1")).start()
sys.stdin.read()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", harness], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    left = sleeping(log)
    process.kill()
    _, said = process.communicate(timeout=60)
    assert not runs(left)
    assert f"the run was killed; killed its process {left}: sleep\n" in said


@pytest.mark.parametrize("isolation", [NONE, of_kubernetes()], ids=["the harness's", "Kubernetes'"])
def test_programs_of_the_environment_may_leave_processes(tmp_path: Path, isolation: Isolation) -> None:
    program = ManagedProcess("containerd", script(tmp_path, "true"), log_path=tmp_path / "log", isolation=isolation)
    program.start()
    left = daemon(tmp_path)
    program.stop()
    assert runs(left)
    os.kill(left, signal.SIGKILL)


@pytest.mark.parametrize("isolation", ["NONE", "Isolation(reason='of this test')"])
def test_no_program_survives_a_killed_harness(tmp_path: Path, isolation: str) -> None:
    harness = f"""
import os, signal, sys
from pathlib import Path
from dra_conformance.core.isolation import NONE, Isolation
from dra_conformance.core.process import ManagedProcess
words, log = {script(tmp_path, "sleep 600")!r}, Path({str(tmp_path / "log")!r})
ManagedProcess("p", words, log_path=log, isolation={isolation}).start()
print("started", flush=True)
sys.stdin.read()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", harness],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    left = daemon(tmp_path)
    process.kill()
    # Ends when the last process with this pipe has ended, the watchdog too.
    _, said = process.communicate(timeout=60)
    assert not runs(left)
    assert f"the run was killed; killed its process {left}: sleep\n" in said


def test_output_without_end_is_limited_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(output_limit, "LIMIT", 2 << 20)
    monkeypatch.setattr(output_limit, "KEPT", 1 << 20)
    log = tmp_path / "log"
    program = ManagedProcess("driver", ["sh", "-c", "echo first; yes"], log_path=log, isolation=UNDER_TEST)
    with caplog.at_level(logging.WARNING):
        program.start()
        wait_until(lambda: "is not kept in full" in caplog.text)
        size = log.stat().st_size
        wait_until(lambda: log.stat().st_size < size or log.stat().st_size > 500 << 20)
        program.kill()
    with log.open("rb") as file:
        assert file.read(6) == b"first\n"
        file.seek(1 << 20)
        # The program can print before the notice is written.
        assert any(line.startswith(b"[dra-conformance: the output is larger than 2 MiB; ") for line in file)
    assert "left behind" not in caplog.text
    assert log.stat().st_mode & 0o777 == 0o600


def test_the_thread_of_the_limit_ends_with_its_last_file(tmp_path: Path) -> None:
    limit = OutputLimit()
    for path in (tmp_path / "a", tmp_path / "b", tmp_path / "a"):
        limit.watch(path)
    empty = limit._empty
    for path in (tmp_path / "a", tmp_path / "a"):
        limit.release(path)
    assert not empty.is_set()
    limit.release(tmp_path / "b")
    assert empty.is_set()
