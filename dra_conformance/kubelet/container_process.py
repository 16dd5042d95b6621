"""A container of a pod as a process of this machine, for pods whose program the harness has.

There are no images: `EntryPoints` is the list of the commands that may run, each with the words that take its place on
this machine. A container with another command does not start. The process gets the variables of the container in the
pod, then those of its CDI devices; its probes run in the same environment.

Source: pkg/kubelet/kuberuntime/kuberuntime_container.go (generateContainerConfig, killContainer) of Kubernetes 1.37.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from dra_api.objects import Obj
from dra_conformance.core.isolation import Isolation
from dra_conformance.core.process import ManagedProcess
from dra_conformance.kubelet.container_env import command_line, environment
from dra_conformance.kubelet.errors import KubeletError

EntryPoints: TypeAlias = Mapping[str, Sequence[str]]
"""The words that take the place of the first word of a container's command, by that word."""

_DEFAULT_GRACE_SECONDS = 30.0
_CHUNK, _KEPT, _READ_SECONDS = 65_536, 4096, 2.0


def variables(
    pod: Obj, container: Mapping[str, Any], *, own: Mapping[str, str], edits: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of a container.

    Args:
        pod: the pod, with its address in its status.
        container: the container in its spec.
        own: what is there in any case, such as HOSTNAME; the container's own values win.
        edits: the variables of its CDI devices, which win over all others.

    Raises KubeletError for a variable that is not emulated.
    """
    return {**own, **environment(pod, container), **edits}


def words_on_machine(words: Sequence[str], entry_points: EntryPoints) -> list[str]:
    """Return the command that takes the place of a container's. Raises KubeletError if it may not run."""
    if not words:
        raise KubeletError("the container has no command, and there is no image with an entry point")
    if (program := entry_points.get(words[0])) is None:
        raise KubeletError(f"no program of this machine takes the place of {words[0]!r}")
    return [*program, *words[1:]]


def grace_of(pod: Obj) -> float:
    """Return the seconds from SIGTERM to SIGKILL."""
    found = pod["spec"].get("terminationGracePeriodSeconds")
    return _DEFAULT_GRACE_SECONDS if found is None else float(found)


class ContainerProcess:
    """A process in place of a container; it is started once."""

    def __init__(
        self,
        name: str,
        pod: Obj,
        container: Mapping[str, Any],
        *,
        entry_points: EntryPoints,
        environment: Mapping[str, str],
        log_path: Path,
        isolation: Isolation,
    ) -> None:
        """Raises KubeletError if its command may not run."""
        self._entry_points = entry_points
        self._environment = dict(environment)
        self._isolation = isolation
        self._grace = grace_of(pod)
        words = command_line(container, environment)
        self.process = ManagedProcess(
            name,
            words_on_machine(words, entry_points),
            log_path=log_path,
            env=self._environment,
            isolation=isolation,
        )

    def start(self) -> None:
        """Start the process. Raises TargetUnreachable if it cannot be started."""
        self.process.start()

    def ended(self) -> str | None:
        """Return the exit code and the last output of a process that has ended; None while it runs."""
        if self.process.running:
            return None
        return f"exit code {self.process.exit_code}: {self.process.last_output(3)}"

    def stop(self) -> None:
        """Send SIGTERM to the process alone, and wait for the grace period of its pod at most."""
        if self.process.running and self.process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGTERM)
            self.process.wait(self._grace)

    def kill(self) -> None:
        """Send SIGKILL to the process and its children."""
        self.process.kill()

    def execute(self, words: Sequence[str], seconds: float) -> str:
        """Run a command in the container, as an exec probe does. Return why it failed; empty if it succeeded."""
        try:
            command = words_on_machine(words, self._entry_points)
            process = subprocess.Popen(
                self._isolation.command(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self._isolation.environment(self._environment),
                # A group of its own: what a command starts is killed with it.
                start_new_session=True,
            )
        except (OSError, KubeletError) as error:
            return str(error)
        problem, output = "", _LastBytes(process)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            problem = f"it takes more than {seconds:g} s"
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        said = output.end()
        if problem or process.returncode == 0:
            return problem
        return f"exit code {process.returncode}: {said.decode(errors='replace').strip()[-300:]}"


class _LastBytes:
    """The end of the output of a process, which may write without end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._pipe = process.stdout
        self._last = b""
        self._reader = threading.Thread(target=self._read, name=f"output-{process.pid}", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while self._pipe is not None and (more := os.read(self._pipe.fileno(), _CHUNK)):
                self._last = (self._last + more)[-_KEPT:]

    def end(self) -> bytes:
        """Return what was read last, once the process has ended."""
        self._reader.join(_READ_SECONDS)
        if self._pipe is not None and not self._reader.is_alive():
            self._pipe.close()
        return self._last
