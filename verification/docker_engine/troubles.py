"""Broken containers: the exit code and message of a run, and that nothing is left."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

from dra_conformance.core.errors import ExitCode
from verification.docker_engine.runs import Ended, Runs
from verification.docker_engine.waiting import until

_RULE = ("--rule", "DRA-001")
_UNBOUND = ("--profile", "api", "--patience", "3")  # long enough for something to happen in its middle


def look(runs: Runs, broken: str) -> Iterator[str]:
    """Return everything unexpected. `broken` is an image that does not start."""
    ended = runs.run(*_RULE, image=broken)
    yield from _report(runs, "an image without its program", ended, "does not start", ExitCode.TARGET_UNREACHABLE)
    ended = runs.run(*_RULE, "--feature-gates", "DRANoSuchGate=true")
    yield from _report(runs, "a container that ends at once", ended, "is exited with", ExitCode.TARGET_UNREACHABLE)
    ended = _disturbed(runs, _starting, lambda process: process.send_signal(signal.SIGINT))
    yield from _report(runs, "Ctrl-C before the cluster is there", ended, "", ExitCode.INTERRUPTED)
    ended = _disturbed(runs, _serving, lambda process: process.send_signal(signal.SIGINT))
    yield from _report(runs, "Ctrl-C in the middle", ended, "", ExitCode.INTERRUPTED)
    ended = _disturbed(runs, _serving, lambda _: runs.engine.client.containers.list()[0].kill())
    # The code depends on the moment of the kill, so that only the verdict is checked, below.
    yield from _report(runs, "a container that is killed in the middle", ended, "", None)
    if ended.code in (ExitCode.OK, ExitCode.INTERRUPTED) or ended.report.get("verdict") == "CONFORMANT":
        yield f"a run whose container was killed ended with {ended.code}, {ended.report.get('verdict')}"


def _report(runs: Runs, when: str, ended: Ended, words: str, code: ExitCode | None) -> Iterator[str]:
    if code is not None and ended.code != code:
        yield f"{when}: exit code {ended.code}, not {int(code)}\n{ended.said[-1500:]}"
    if words not in ended.said:
        yield f"{when}: nothing was said of {words!r}\n{ended.said[-1500:]}"
    if "Traceback" in ended.said:
        yield f"{when}: a traceback\n{ended.said[-1500:]}"
    yield from (f"{when}: there is {each}" for each in runs.left())


def _disturbed(runs: Runs, reached: Callable[[Runs], bool], disturb: Callable[..., object]) -> Ended:
    process, out = runs.begin(*_UNBOUND)
    try:
        until(lambda: reached(runs) or process.poll() is not None, what="a container of the run")
        disturb(process)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return runs.end(process, out)


def _starting(runs: Runs) -> bool:
    """Whether there is a container: its cluster takes seconds more."""
    return bool(runs.engine.client.containers.list())


def _serving(runs: Runs) -> bool:
    """Whether the cluster is there, so that scenarios begin."""
    return any(b"Node controller sync successful" in each.logs() for each in runs.engine.client.containers.list())
