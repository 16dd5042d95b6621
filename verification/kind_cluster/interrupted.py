"""Ctrl-C while a cluster is created, while images are loaded, and while the suite runs: nothing is left.

Ctrl-C is SIGINT for each process of the terminal's foreground group: the command, and kind and docker that it calls.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dra_conformance.control_plane.kind import programs
from dra_conformance.control_plane.kind.control_plane import PREFIX
from dra_conformance.core.errors import ExitCode
from verification.docker_engine.waiting import until
from verification.kind_cluster import leftovers

_REACHED, _ENDED, _LAST = 240.0, 180.0, 10.0
_KILLED = -signal.SIGINT
"""A Python program that does not catch KeyboardInterrupt; a shell reports 130."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stage of a command: how to see that it is reached, and the exit code after Ctrl-C then."""

    name: str
    command: Sequence[str]
    reached: Callable[[Path], bool]
    code: int = ExitCode.INTERRUPTED


def look(image: str, folder: Path, archives: Path) -> Iterator[str]:
    """Interrupt commands at each stage and yield what is not as expected."""
    # A shell that starts this in the background lets it ignore SIGINT, and its children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for stage in stages(image, folder, archives):
            yield from interrupted(stage, folder / "interrupted.log")
    finally:
        signal.signal(signal.SIGINT, before)


def stages(image: str, folder: Path, archives: Path) -> Iterator[Stage]:
    """Yield the stages, in the order in which a run reaches them."""
    run = [sys.executable, "-m", "dra_conformance", "run", "--control-plane", "kind", "--kind-image", image]
    run += ["--focus", "^claims/api_claims", "--out", str(folder / "interrupted"), "--progress", "plain"]
    yield Stage(name="containers are being created", command=run, reached=lambda _: bool(nodes()))
    yield Stage(name="kubeadm makes the cluster", command=run, reached=lambda _: _has_control_plane())
    inside = folder / "interrupted-inside"
    yield Stage(
        name="images are being loaded",
        command=[sys.executable, "-m", "verification.kind_cluster.inside", str(inside), str(archives), "--ci"],
        reached=lambda log: "the cluster is ready" in log.read_text(encoding="utf-8"),
        code=_KILLED,
    )
    events = folder / "interrupted/events.jsonl"
    events.unlink(missing_ok=True)  # of the stages before
    yield Stage(name="the suite runs", command=run, reached=lambda _: started(events))


def interrupted(stage: Stage, log: Path) -> Iterator[str]:
    """Start the command of a stage, interrupt it there, and yield what is not as expected."""
    before = leftovers.there()
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(stage.command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        until(lambda: _reached(stage, process, log), what=f"{stage.name}, or the command ends", within=_REACHED)
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGINT)
        code = process.wait(_ENDED)
    except (AssertionError, ProcessLookupError, subprocess.TimeoutExpired) as error:
        yield f"Ctrl-C while {stage.name}: {error}\n{_end(log)}"
        return
    finally:
        _kill(process)
    if code != stage.code:
        yield f"Ctrl-C while {stage.name}: exit code {code}, not {stage.code}\n{_end(log)}"
    left = sorted(leftovers.there() - before)
    try:
        until(lambda: not processes(process.pid), what="its processes have ended", within=_LAST)
    except AssertionError as error:
        left.append(str(error))
    print(f"kind: Ctrl-C while {stage.name}: exit code {code}, left: {left or 'nothing'}", flush=True)
    for each in left:
        yield f"Ctrl-C while {stage.name} leaves {each}"


def _reached(stage: Stage, process: subprocess.Popen[bytes], log: Path) -> bool:
    return process.poll() is not None or stage.reached(log)


def processes(group: int) -> list[str]:
    """Return the running processes of a group; those that have ended and are not reaped do not count."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = path.read_text(encoding="utf-8", errors="replace").rpartition(")")
            state, _, its_group = rest.split()[:3]
            if int(its_group) == group and state != "Z":
                found.append(name.partition("(")[2])
    return found


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def started(events: Path) -> bool:
    """Return whether a step of a scenario ran: the cluster is created when the first scenario starts."""
    return events.is_file() and b'"kind":"step"' in events.read_bytes()


def nodes() -> list[str]:
    """Return the containers that are nodes of clusters of runs."""
    done = programs.run([programs.DOCKER, "ps", "--format", "{{.Names}}"], timeout=30.0)
    return [name for name in done.stdout.split() if name.startswith(PREFIX)]


def _has_control_plane() -> bool:
    """Return whether kubeadm has started: it writes the manifest of etcd before it waits for the API server."""
    return any(
        programs.run(
            [programs.DOCKER, "exec", name, "test", "-f", "/etc/kubernetes/manifests/etcd.yaml"], timeout=30.0
        ).returncode
        == 0
        for name in nodes()
        if name.endswith("-control-plane")
    )


def _end(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8").splitlines()[-8:])
