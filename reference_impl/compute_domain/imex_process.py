"""The nvidia-imex process of a daemon: started once its peers are known, started again whenever it ends.

`ImexProcess` owns the process and a thread that waits for its end, between `start` and `stop`.

Source: cmd/compute-domain-daemon/process.go of kubernetes-sigs/dra-driver-nvidia-gpu at v0.5.0; rules NV-396, NV-399 to
NV-401, NV-404.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from dra_api.clock import Clock
from dra_api.private_file import private
from dra_api.threads import report_exception, started
from fake_nvml import imex

log = logging.getLogger(__name__)

PROGRAM = "nvidia-imex"
CONTROL = "nvidia-imex-ctl"
_LOOK_SECONDS = 0.1
_RESTART_SECONDS = 0.5
"""From the end of the process to its restart."""
_STOP_SECONDS = 5.0
_CHECK_SECONDS = 10.0


def program(name: str, *, simulated: bool, environment: Mapping[str, str]) -> list[str]:
    """Return the words that start nvidia-imex or nvidia-imex-ctl. Raises FileNotFoundError if it is not in PATH.

    `simulated` chooses the simulation, which needs no NVLink between nodes; only the user does.
    """
    if simulated:
        part = "daemon" if name == PROGRAM else "control"
        return [sys.executable, "-I", "-S", str(Path(imex.__file__)), part]
    found = shutil.which(name, path=environment.get("PATH"))
    if found is None:
        raise FileNotFoundError(f"{name} is not in PATH")
    return [found]


def check(config: Path, *, clique_id: str, simulated: bool, environment: Mapping[str, str]) -> str:
    """Return why the node's IMEX daemon is not ready; empty if it is (rule NV-404).

    A node without a clique runs no IMEX daemon, so nothing has to be ready (rule NV-405).
    """
    if not clique_id:
        return ""
    try:
        done = subprocess.run(
            [*program(CONTROL, simulated=simulated, environment=environment), "-c", str(config), "-q"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=dict(environment),
            timeout=_CHECK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"{CONTROL} cannot be run: {error}"
    if not reports_ready(done.returncode, done.stdout):
        said = done.stdout.decode(errors="replace").strip()[:300]
        return f"{CONTROL} exits with {done.returncode} and says {said!r}"
    return ""


def reports_ready(code: int, output: bytes) -> bool:
    """Return whether this exit code and output of nvidia-imex-ctl mean that the daemon is ready."""
    # All of the output: NOT_READY contains the word, and a warning before it means that something is wrong.
    return code == 0 and output == b"READY\n"


class ImexProcess:
    """nvidia-imex with one configuration file."""

    def __init__(
        self,
        config: Path,
        *,
        clock: Clock,
        environment: Mapping[str, str],
        output: Path | None,
        simulated: bool,
        on_failure: Callable[[str], None],
    ) -> None:
        self._config = config
        self._clock = clock
        self._environment = dict(environment)
        self._output = output
        self._simulated = simulated
        self._on_failure = on_failure
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: threading.Thread | None = None
        self._ending = threading.Event()

    @property
    def pid(self) -> int | None:
        """The id of the process that runs, or ran last."""
        return self._process.pid if self._process else None

    def start_or_update(self) -> None:
        """Start the process, or make the one that runs resolve the names of its peers again (rule NV-396).

        Raises OSError if it cannot be started.
        """
        with self._lock:
            if self._ending.is_set():
                return
            if self._process is None:
                self._start()
                self._watchdog = started(self._watch, name="nvidia-imex")
            elif self._process.poll() is None:
                self._process.send_signal(signal.SIGUSR1)
            # One that has just ended is started again, and reads the names then.

    def stop(self) -> None:
        """Send SIGTERM and wait for the end of the process; SIGKILL if it does not come. Idempotent."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        with self._lock:
            self._ending.set()
            process = self._process
        if process is not None and process.poll() is None:
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_SECONDS)
            if process.poll() is None:
                process.kill()
                process.wait()
        if self._watchdog is not None and self._watchdog is not threading.current_thread():
            self._watchdog.join()

    def _start(self) -> None:
        words = program(PROGRAM, simulated=self._simulated, environment=self._environment)
        command: Sequence[str] = [*words, "-c", str(self._config)]
        # Private: the output of a program may have secrets.
        with open(self._output, "ab", opener=private) if self._output else nullcontext() as output:
            self._process = subprocess.Popen(
                command, env=self._environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def _watch(self) -> None:
        try:
            while not self._clock.wait(self._ending, _LOOK_SECONDS):
                process = self._process
                if process is None or process.poll() is None:
                    continue
                log.warning("nvidia-imex ended with %s; it is started again", process.returncode)
                if self._clock.wait(self._ending, _RESTART_SECONDS):
                    return
                with self._lock:
                    if not self._ending.is_set():
                        self._start()
        except OSError as error:
            self._on_failure(f"{PROGRAM} cannot be started again: {error}")
        except Exception as error:
            report_exception(error)
            self._on_failure(f"{PROGRAM} is not watched any more: {error}")
