"""`dra-conformance sonobuoy`: runs the suite as a plugin of Sonobuoy, and hands its results over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from dra_conformance.core.errors import ExitCode, UsageError, cannot_write
from dra_conformance.report.sonobuoy import REPORT, End, hand_over

RESULTS = "SONOBUOY_RESULTS_DIR"
_LINES = 50
_GRACE = 20.0
"""Seconds that a run has to end after a signal. A pod has 30 by default, and the results have to be written."""

_REST = 5.0
"""Seconds for the last output of an ended run."""


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF run]...")
def command(options: tuple[str, ...]) -> int:
    """Run the suite as a plugin of Sonobuoy. `job --sonobuoy` prints the plugin, whose pod starts this command.

    The options are those of `run`, without --out and --progress. The results are written to the folder that the
    variable SONOBUOY_RESULTS_DIR names, also if the run fails, is refused or is ended. The exit code is that of `run`.
    """
    folder = os.environ.get(RESULTS, "")
    if not Path(folder).is_dir() or not folder:
        raise UsageError(
            f"{RESULTS} is {folder!r}: there is no such folder",
            hint="Sonobuoy sets it in its plugins. Start `dra-conformance run` where there is no Sonobuoy.",
        )
    results = Path(folder).absolute()
    words = [sys.executable, "-m", "dra_conformance", "run", *options]
    end = _run([*words, "--out", str(results / REPORT), "--progress", "plain"])
    try:
        named = hand_over(results, end)
    except OSError as error:
        raise cannot_write(error, results) from None
    click.echo(f"{end.reason}; results for Sonobuoy: {named}")
    return ExitCode.INTERRUPTED if end.code < 0 else end.code


def _run(words: Sequence[str]) -> End:
    """Run a command to its end, which a signal to this process causes too. Its output is also that of this process."""
    started: list[subprocess.Popen[str]] = []
    ends: list[int] = []

    def kill() -> None:
        for process in started:
            process.kill()

    timer = threading.Timer(_GRACE, kill)
    timer.daemon = True

    def stop(number: int, _frame: object) -> None:
        ends.append(number)
        for process in started:
            if timer.ident is None:
                timer.start()
            process.terminate()

    # Before the start: a signal in between would end this process without results.
    previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", bufsize=1
        )
        started.append(process)
        if ends:
            stop(ends[0], None)
        last: deque[str] = deque(maxlen=_LINES)
        # A process that the run left behind can keep the pipe open: its end is not awaited.
        reader = threading.Thread(target=_copy, args=(process.stdout, last), name="output", daemon=True)
        reader.start()
        code = process.wait()
        reader.join(_REST)
    finally:
        timer.cancel()
        for number, handler in previous.items():
            signal.signal(number, handler)
    return End(code=code, output=tuple(last))


def _copy(lines: Iterable[str], last: deque[str]) -> None:
    for line in lines:
        click.echo(line, nl=False)
        last.append(line.rstrip("\n"))
