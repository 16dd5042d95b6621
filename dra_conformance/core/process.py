"""Starts, stops and kills programs.

Each program runs in its own process group and writes its output to a file of the report directory, which is limited
(`output_limit`). Its standard input is a pipe that closes when the harness exits, so that a program can detect this.
Processes that it leaves behind are killed and reported, see `started_programs`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from dra_api import regular_file
from dra_api.private_file import private
from dra_conformance.core import go_panic, usage_text
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.isolation import NONE, Isolation, of_kubernetes
from dra_conformance.core.options import redact
from dra_conformance.core.output_limit import OUTPUT_LIMIT
from dra_conformance.core.program_log import LOGGER
from dra_conformance.core.started_programs import VARIABLE, ProgramMark, kill_remaining, new_mark

_TAIL, _LAST_LINES = 1 << 16, 400  # bytes and lines: enough for the stack after a panic
_log = logging.getLogger(LOGGER)
_LAST_WORDS = ("panic: ", "fatal error: ", "Error: ")


def printed(program: Path, flag: str, *, timeout: float) -> tuple[str, str]:
    """Return what one of Kubernetes' own programs prints for a flag such as --version: output, errors.

    Both are empty if it cannot be started, or does not end within `timeout` seconds.
    """
    words, environment = [str(program), flag], of_kubernetes().environment({})
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=timeout, check=False, env=environment
        )
    except (OSError, subprocess.TimeoutExpired):
        return "", ""
    return done.stdout, done.stderr


class ManagedProcess:
    """A program that the harness starts. `grace` is the time in seconds between SIGTERM and SIGKILL.

    `isolation` separates a program under test from the harness, and limits the environment that it gets. The harness's
    own programs have none and get all of it. `env` is set for both.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log_path: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        isolation: Isolation = NONE,
        grace: float = 5.0,
    ) -> None:
        self.name = name
        self.command = list(command)
        self.log_path = log_path
        self._env = dict(env or {})
        self._cwd = cwd
        self.isolation = isolation
        self._grace = grace
        self._process: subprocess.Popen[bytes] | None = None
        self._mark: ProgramMark | None = None

    def start(self) -> None:
        """Start the program. Raises TargetUnreachable if it cannot be started."""
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        program = self.command[0]
        if not (os.path.sep in program or shutil.which(program)):
            raise TargetUnreachable(f"{self.name}: no program {program!r} in PATH")
        mark = self._mark or new_mark(with_group=self.isolation.needs_helper)
        # Appended: a program that is started again continues its log. Private: its output may have secrets.
        with open(self.log_path, "ab", opener=private) as output:
            try:
                self._process = subprocess.Popen(
                    self.isolation.command(self.command, group=mark.group),
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=self._environment(mark),
                    cwd=self._cwd,
                    # A group of its own: children are killed with the program, and Ctrl-C does not reach it.
                    start_new_session=True,
                    pass_fds=self.isolation.descriptors,
                )
            except OSError as error:
                raise TargetUnreachable(f"{self.name}: cannot start {program!r}: {error.strerror}") from None
        if not self._mark:
            self._mark = mark
            OUTPUT_LIMIT.watch(self.log_path)

    @property
    def pid(self) -> int | None:
        """The process id, or None before the start."""
        return self._process.pid if self._process else None

    @property
    def running(self) -> bool:
        """Whether the program is running."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The exit code (negative for a signal), or None before the start and while the program runs."""
        return self._process.poll() if self._process else None

    def wait(self, seconds: float) -> None:
        """Wait until the program has ended, at most so long."""
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)

    def stop(self) -> None:
        """Send SIGTERM, and SIGKILL to the process group after the grace period."""
        self.terminate(self._grace)
        # Also after an orderly exit, because children of the program may still run.
        self.kill()

    def terminate(self, seconds: float) -> None:
        """Send SIGTERM, and wait until the program has ended, at most so long."""
        if self.running:
            self._signal(signal.SIGTERM)
            self.wait(seconds)

    def kill(self) -> None:
        """Send SIGKILL to the process group, and to processes that a program under test has moved out of it."""
        if self._process is None:
            return
        self._signal(signal.SIGKILL)
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        if self._mark:
            # Programs of the cluster may leave processes on purpose: containerd leaves the containers.
            if self.isolation is not NONE and not self.isolation.leaves_processes:
                self._kill_remaining()
            self._mark = None
            OUTPUT_LIMIT.release(self.log_path)

    def last_lines(self, count: int = 5) -> str:
        """Return the last lines of the output, for messages."""
        if not self.log_path.is_file():
            return ""
        lines = regular_file.tail(self.log_path, _TAIL).decode(errors="replace").splitlines()
        return "\n".join(lines[-count:])

    def why_it_ended(self, count: int) -> list[str]:
        """Return the cause of the last Go panic in the output, or else its last lines, `count` at most.

        The cause comes first if the program has printed its usage.
        """
        lines = self.last_lines(_LAST_LINES).splitlines()
        if self.exit_code and (panic := go_panic.excerpt(lines)):
            return panic[:count]
        said = usage_text.cause(lines) if self.exit_code else ""
        if not said:
            return lines[-count:]
        others = [line for line in lines if line.strip() != said]
        return [said, *others[max(len(others) - count + 1, 0) :]]

    def last_output(self, count: int = 5) -> str:
        """Return the last lines of the output for a message. Of a program that printed its usage it is the cause."""
        said = usage_text.cause(self.last_lines(_LAST_LINES).splitlines()) if self.exit_code else ""
        return said or self.last_lines(count)

    def quoted_output(self) -> str:
        """Return the last output as the end of a message; empty if there is none."""
        return f"; last output: {self.last_output(3)}" if self.last_lines() else ""

    def last_words(self) -> str:
        """Return the last line of the output that reports a panic or an error, or else the last line.

        A Go panic has its place: panics with one message can have several causes.
        """
        lines = self.last_lines(_LAST_LINES).splitlines()
        found = [line for line in lines if line.startswith(_LAST_WORDS)]
        if not found and (said := usage_text.cause(lines)):
            return said
        words = (found or lines or ["no output"])[-1].strip()
        place = go_panic.place(lines) if words.startswith(go_panic.HEADS) else ""
        return f"{words} at {place}" if place else words

    def _environment(self, mark: ProgramMark) -> dict[str, str]:
        variables = {**self._env, VARIABLE: mark.text}
        # Credentials in the environment of the harness are not for other programs.
        return {**os.environ, **variables} if self.isolation is NONE else self.isolation.environment(variables)

    def _kill_remaining(self) -> None:
        if self._process is None or self._mark is None:
            return
        if remaining := kill_remaining(self._mark, group=self._process.pid):
            named = "; ".join(map(redact, remaining))
            _log.warning("%s: killed processes that it left behind: %s", self.name, named)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
