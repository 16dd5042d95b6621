"""Records exceptions of background threads: without this a dead thread of the harness looks like a slow target.

`ThreadFailures` replaces `threading.excepthook` between `install` and `uninstall`. An exception of the harness's own
code is kept until `take` and makes the scenario an error. An exception of a reference component, or of the package that
is the target of the scenario (`judged`), is logged only: the checks of the scenario decide about it, as they do about a
third-party program that crashes.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dra_api.tracebacks import format_traceback

_OWN = "dra_conformance"
_OTHERS = ("reference_impl", "dra_conformance.mutants")
log = logging.getLogger("reference_impl.threads")


@dataclass(frozen=True, slots=True)
class HarnessFailure:
    """One failure of the harness or of the control plane that it started, which makes verdicts worthless."""

    message: str
    traceback: str


class ThreadFailures:
    """The exceptions of background threads in this process."""

    def __init__(self) -> None:
        self.judged = ""
        """The package of the harness that the scenario judges; empty if there is none."""
        self._lock = threading.Lock()
        self._failures: list[HarnessFailure] = []
        self._previous: Callable[[threading.ExceptHookArgs], Any] | None = None

    def install(self) -> None:
        """Receive the exceptions of all threads from now on."""
        self._previous = threading.excepthook
        threading.excepthook = self._record

    def uninstall(self) -> None:
        """Restore the previous hook. Idempotent."""
        if self._previous is not None:
            threading.excepthook = self._previous
            self._previous = None

    def take(self) -> list[HarnessFailure]:
        """Return the failures since the last call."""
        with self._lock:
            taken, self._failures = self._failures, []
        return taken

    def _record(self, arguments: threading.ExceptHookArgs, /) -> None:
        error = arguments.exc_value
        if error is None or isinstance(error, SystemExit):
            return  # threading ignores SystemExit too; exc_value is None at interpreter shutdown only
        if _is_of_closed_channel(error):
            return
        thread = arguments.thread.name if arguments.thread is not None else "unknown"
        message = f"thread {thread}: {type(error).__name__}: {error}"
        if _raised_by_others(error) or (self.judged and is_raised_by(error, self.judged)):
            log.error("%s", message, exc_info=error)
            return
        with self._lock:
            self._failures.append(HarnessFailure(message, format_traceback(error)))


def is_raised_by(error: BaseException, package: str) -> bool:
    """Whether a package of the harness raised an error, or code outside the harness that the package called."""
    own = [name for name in modules_of(error) if _is_in(name, _OWN)]
    return bool(own) and _is_in(own[-1], package)


def _is_in(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def _raised_by_others(error: BaseException) -> bool:
    """Whether a reference component or a mutant takes part in the call that failed."""
    return any(name.startswith(_OTHERS) for name in modules_of(error))


def _is_of_closed_channel(error: BaseException) -> bool:
    """Whether a thread of gRPC began to watch its channel after this was closed, which gRPC does not catch."""
    if not isinstance(error, ValueError) or "Channel closed!" not in str(error):
        return False
    return all(_is_in(name, "grpc") or name == "threading" for name in modules_of(error))


def modules_of(error: BaseException) -> list[str]:
    """Return the names of the modules in the call that failed, the outermost first."""
    return [str(frame.f_globals.get("__name__", "")) for frame, _ in traceback.walk_tb(error.__traceback__)]
