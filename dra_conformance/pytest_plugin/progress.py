"""Shows the progress of a run: one line for each chapter, updated in place on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from dra_conformance.core.plain_text import printable
from dra_conformance.core.status import Status

if TYPE_CHECKING:
    from dra_conformance.core.features import Scenario
    from dra_conformance.engine.plan import Plan
    from dra_conformance.engine.run import Run
    from dra_conformance.report.model import Report

_NAME, _BAR, _NOW = 20, 20, 40
"""Columns of the name of a chapter, of a bar, and of the name of the scenario that runs, at most."""
_NARROWEST, _WIDEST = 40, 120
_LISTED = 5
"""Scenarios that do not pass which a terminal names during a run, a row each, or two with a reason."""


class Progress:
    """The progress display. `mode` is `auto`, `live` (updates a line in place), `plain` or `none`."""

    def __init__(self, mode: str = "auto", *, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        if mode == "auto":
            mode = "live" if self._out.isatty() and os.environ.get("TERM") != "dumb" else "plain"
        self._mode = mode
        self._color = mode == "live" and "NO_COLOR" not in os.environ
        self._planned: Counter[str] = Counter()
        self._done: dict[str, list[Status]] = defaultdict(list)
        self._time: defaultdict[str, float] = defaultdict(float)
        self._chapter = ""  # the chapter of the current line
        self._closed: set[str] = set()
        self._shown = 0.0
        self._bad = 0

    def begin(self, run: Run, plan: Plan) -> None:
        """Show the target and the plan."""
        target = run.describe()
        self._planned = Counter(scenario.chapter for scenario in plan.to_run)
        left_out = Counter(d.status.value for d in plan.decisions if d.status is not None)
        components = " ".join(
            f"{component}={held}" for component, held in target.components.items() if held != "reference"
        )
        self._say(f"dra-conformance  rules {len(run.catalogue)}  seed {run.seed}  run {run.run_id}")
        self._say(printable(f"target   {target.control_plane}, Kubernetes {target.kubernetes_version}; {components}"))
        if target.resource_api != "v1":
            self._say(f"         resource.k8s.io/{target.resource_api}: the client converts from and to v1")
        self._say(printable(f"         driver {target.driver}; kubelet: {target.kubelet}; nvml: {target.nvml}"))
        others = "".join(f", {count} {status}" for status, count in sorted(left_out.items()))
        self._say(f"plan     {len(plan)} scenarios: {len(plan.to_run)} to run{others}\n")

    def scenario_started(self, scenario: Scenario) -> None:
        """Show the start of a scenario."""
        self._chapter = scenario.chapter
        self._line(now=scenario.name)

    def scenario_finished(self, scenario: Scenario, status: Status, reason: str, duration: float) -> None:
        """Show the end of a scenario."""
        self._done[scenario.chapter].append(status)
        self._time[scenario.chapter] += duration
        self._chapter = scenario.chapter
        if status is not Status.PASSED:
            self._not_passed(scenario, status, reason)
        if len(self._done[scenario.chapter]) == self._planned[scenario.chapter]:
            self._close_line()
        else:
            self._line(now="")

    def _not_passed(self, scenario: Scenario, status: Status, reason: str) -> None:
        """Show a scenario that did not pass. On a terminal only the first ones, so that the report remains in sight."""
        self._bad += 1
        columns = self._columns()
        if columns is not None and self._bad > _LISTED:
            if self._bad == _LISTED + 1:
                self._clear()
                self._say("  (further ones are in the report)")
            return
        self._clear()
        room = None if columns is None else columns - 1
        self._say(f"  {self._paint(status.value.upper(), '31')} {scenario.id[: room and room - len(status.value) - 3]}")
        # The report has the values of a failed check, once.
        if status is not Status.FAILED:
            self._say(f"    {printable(reason)}"[:room])

    def end(self, report: Report, folder: Path, *, durations: int = 0) -> None:
        """Show the verdict, and the slowest `durations` scenarios and rules."""
        if self._mode == "none":
            # Without a display a run that could not judge must still say why.
            for problem in report.problems:
                print(printable(f"error: {problem.message}"), file=sys.stderr)
                if problem.hint:
                    print(printable(f"  {problem.hint}"), file=sys.stderr)
            return
        from dra_conformance.report.terminal import render

        for chapter in [chapter for chapter in self._done if chapter not in self._closed]:
            self._chapter = chapter
            self._close_line()
        self._clear()
        self._say("")
        self._write(render(report, folder=folder, color=self._color, durations=durations, width=self._columns()))

    def _columns(self) -> int | None:
        """Return the width of the terminal; None for a file, whose lines have any length."""
        return max(shutil.get_terminal_size().columns, _NARROWEST) if self._mode == "live" else None

    def _bar(self, chapter: str, *, now: str = "") -> str:
        """Return the line of a chapter, which fits the terminal: a longer one would leave a part behind when updated.

        The bar gives way to the numbers, and `now` takes the place that is left.
        """
        done = self._done[chapter]
        planned = self._planned[chapter]
        bad = sum(status is not Status.PASSED for status in done)
        tail = f"  {bad} not passed" if bad else ""
        numbers = f" {len(done):>3}/{planned:<3} {self._time[chapter]:6.1f} s"
        name = f"{chapter:<{_NAME}.{_NAME}} "
        columns = (self._columns() or _WIDEST) - 1
        if len(f"{name}{numbers}{tail}") > columns:
            tail = ""
        room = columns - len(f"{name}{numbers}{tail}")
        width = min(max(room, 0), _BAR)
        filled = width * len(done) // max(planned, 1)
        bar = "█" * filled + "░" * (width - filled)
        left = room - width - 2
        what = f"  {now[: min(left, _NOW)]}" if now and left > 0 else ""
        return f"{name}{bar}{numbers}{self._paint(tail, '31') if tail else ''}{what}"

    def _line(self, *, now: str) -> None:
        if self._mode != "live":
            return
        moment = time.monotonic()
        # At most 20 updates a second, beside one for each scenario that starts.
        if now or moment - self._shown > 0.05:
            self._shown = moment
            self._write(f"\r\x1b[2K{self._bar(self._chapter, now=now)}")

    def _close_line(self) -> None:
        if not self._chapter:
            return
        self._clear()
        self._say(self._bar(self._chapter))
        self._closed.add(self._chapter)
        self._chapter = ""

    def _clear(self) -> None:
        if self._mode == "live":
            self._write("\r\x1b[2K")

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._color else text

    def _say(self, line: str) -> None:
        self._write(line.rstrip() + "\n")

    def _write(self, text: str) -> None:
        if self._mode == "none":
            return
        try:
            self._out.write(text)
            self._out.flush()
        except BrokenPipeError:  # the reader has exited (`| head`); the run continues and writes its report
            self._mode = "none"
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, self._out.fileno())
            os.close(devnull)
            self._out.flush()  # buffered text must not fail at exit
