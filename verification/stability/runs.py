"""One run of the suite on a busy machine, and the results of all runs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import orjson

from dra_conformance.core.errors import ExitCode
from dra_conformance.core.status import Status
from verification.stability import load
from verification.third_party.catalogue import BIN, ThirdParty
from verification.third_party.verify import report_of

RESULTS = Path(__file__).resolve().parent / "results.jsonl"
REFERENCE = "reference"
_NO_VERDICT = "no verdict"
_GOOD = (Status.PASSED, Status.NOT_SUPPORTED, Status.NOT_APPLICABLE, Status.FILTERED)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `load` is the load average at its end, `lag` the value of `--watch-lag`.

    `not_passed` has the status of each scenario that ran and did not pass. A run without a report has the reason there.
    """

    setting: str
    date: str
    commit: str
    lag: str = ""
    load: float
    seconds: float
    passed: int
    not_passed: dict[str, str] = {}


def of_reference(folder: Path, *, lag: str) -> Callable[[], Mapping[str, object] | str]:
    """Return a function that runs the suite as `make run` does and returns the report, or why there is none."""

    def run() -> Mapping[str, object] | str:
        with tempfile.TemporaryDirectory(dir=folder) as out:
            words = ["run", "-n", "2", "--progress", "none", "--out", out, *(["--watch-lag", lag] if lag else [])]
            command = [sys.executable, "-m", "dra_conformance", *words]
            ended = subprocess.run(command, check=False, capture_output=True, text=True)
            if ended.returncode not in (ExitCode.OK, ExitCode.FAILURES):
                return f"exit code {ended.returncode}: {(ended.stdout + ended.stderr)[-500:]}"
            found: dict[str, object] = orjson.loads((Path(out) / "report.json").read_bytes())
            return found

    return run


def of_program(program: ThirdParty, *, lag: str) -> Callable[[], Mapping[str, object] | str]:
    """Return a function that runs the scenarios of a program and returns the report, or why there is none."""
    return lambda: report_of(program, bin_dir=BIN, more=["--watch-lag", lag] if lag else [])


def once(
    work: Callable[[], Mapping[str, object] | str], *, setting: str, lag: str, wanted_load: float, commit: str
) -> Run:
    """Run once while the machine has at least this load average."""
    began = datetime.now(UTC)
    with load.spinning(load.to_add(wanted_load, load.average())):
        report = work()
        busy = load.average()
    passed, not_passed = _counts(report)
    return Run(
        setting=setting,
        date=f"{began:%Y-%m-%d %H:%M}",
        commit=commit,
        lag=lag,
        load=round(busy, 1),
        seconds=round((datetime.now(UTC) - began).total_seconds(), 1),
        passed=passed,
        not_passed=not_passed,
    )


def _counts(report: Mapping[str, object] | str) -> tuple[int, dict[str, str]]:
    if isinstance(report, str):
        return 0, {_NO_VERDICT: report}
    rows = msgspec.convert(report["scenarios"], list[dict[str, object]])
    passed = sum(row["status"] == Status.PASSED for row in rows)
    # The plan's status of a scenario without evidence, which did not run, is the same in every run.
    bad = [row for row in rows if row["evidence"] and row["status"] not in _GOOD]
    return passed, {str(row["id"]): str(row["status"]) for row in bad}


def unstable(runs: Sequence[Run]) -> dict[str, Counter[str]]:
    """Return the scenarios whose status differs between runs of one setting, with the number of runs by status."""
    found = {}
    for ident in sorted({ident for run in runs for ident in run.not_passed}):
        statuses = Counter(run.not_passed.get(ident, Status.PASSED.value) for run in runs)
        if len(statuses) > 1:
            found[ident] = statuses
    return found


def read(path: Path = RESULTS) -> list[Run]:
    """Return all results, in the order in which they were made."""
    return [msgspec.json.decode(line, type=Run) for line in path.read_bytes().splitlines()] if path.exists() else []


def append(run: Run, path: Path = RESULTS) -> None:
    """Add a result."""
    with path.open("ab") as file:
        file.write(msgspec.json.encode(run) + b"\n")


def by_setting(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    """Return the runs by setting and watch lag."""
    found: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        found.setdefault((run.setting, run.lag), []).append(run)
    return found
