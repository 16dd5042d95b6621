"""Run the suite against a third-party program and compare the verdicts with the expected ones.

Every run has its own control plane and folders and removes them; only the verdicts remain.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import orjson

from dra_api.clock import RealClock
from verification.jobs import Job, Outcome
from verification.third_party.catalogue import Breaks, ThirdParty
from verification.third_party.existing_cluster import existing_cluster, objects_of

EVERYTHING = "*"
"""Stands for all rules when a program got no verdict at all."""
# Conformant, or some rule is broken: both are verdicts. Any other exit code is not.
_WITH_VERDICT = (0, 1, 12)  # 12: a profile that the options select was not judged
_TIMELINE_LINES = 25
_FILTERED = "filtered"
BROKEN = ("failed", "error", "untestable", "flaky")
_START_SECONDS = 60.0
_FEW = 2  # workers of a run that is repeated


def job_of(program: ThirdParty, *, bin_dir: Path, subset: bool = False) -> Job:
    """Return a job that runs the suite against a program.

    Args:
        program: the program.
        bin_dir: the folder of built programs.
        subset: run only the scenarios of CI's fixed subset; the rules of others are not compared.
    """
    selection = program.ci if subset and not isinstance(program.ci, str) else ()

    def work() -> Outcome:
        rules = verdicts(program, bin_dir=bin_dir, selection=selection)
        if isinstance(rules, str):
            # Not a failure yet: `retry` decides.
            return Outcome(0, (rules,), {EVERYTHING: rules})
        if selection:
            rules = _judged(rules)
            note = f" (only {' '.join(selection)})"
            return Outcome(0, (_summary(program, rules) + note,), unexpected(rules, program.broken_rules, among=rules))
        return Outcome(0, (_summary(program, rules),), unexpected(rules, program.broken_rules), _statuses(rules))

    def retry(before: Mapping[str, str]) -> Outcome:
        everything = EVERYTHING in before
        rules = verdicts(
            program,
            bin_dir=bin_dir,
            only=() if everything else sorted(before),
            selection=selection if everything else (),
            # The load must not change the second verdict: few workers, and none for single rules.
            workers=min(program.workers, _FEW) if everything else 0,
        )
        if isinstance(rules, str):
            return Outcome(1, (rules, *(f"  {text}" for text in before.values())))
        among: Iterable[str] | None = None if everything else before
        if everything and selection:
            among = rules = _judged(rules)
        still = unexpected(rules, program.broken_rules, among=among)
        lines = [
            f"  {still[rule]}" if rule in still else f"  unstable: {text}; as expected when verified alone"
            for rule, text in sorted({**still, **before}.items())
        ]
        lines += [f"  {_summary(program, rules)}"] if everything else []
        judged = _statuses(rules) if everything else {rule: rules[rule]["status"] for rule in before if rule in rules}
        return Outcome(1 if still else 0, (f"{program.name}, verified again alone:", *lines), statuses=judged)

    return Job(program.name, program.takes, work, retry)


class StartError(Exception):
    """A program that runs outside the suite, or its control plane, did not start or did not last."""


def _judged(rules: Mapping[str, Any]) -> dict[str, Any]:
    return {rule: row for rule, row in rules.items() if row["status"] != _FILTERED}


def _statuses(rules: Mapping[str, Any]) -> dict[str, str]:
    return {rule: row["status"] for rule, row in rules.items()}


def _summary(program: ThirdParty, rules: Mapping[str, Any]) -> str:
    passed = sum(row["status"] == "passed" for row in rules.values())
    broken = sum(row["status"] in BROKEN for row in rules.values())
    # A rule is filtered if one of its scenarios was left out, although others passed.
    partly = sum(row["status"] == _FILTERED and row["ran"] for row in rules.values())
    text = f"{program.name} {program.version}: {passed} rules passed, {broken} broken"
    return f"{text}, {partly} passed in part" if partly else text


def unexpected(
    rules: Mapping[str, Any], expected: Mapping[str, Breaks], *, among: Iterable[str] | None = None
) -> dict[str, str]:
    """Return the rules whose verdict differs from the expected one, each with a description.

    Args:
        rules: rows of the report by rule id.
        expected: the rules that the program is known to break.
        among: compare only these rules; by default all of both.
    """
    found: dict[str, str] = {}
    for rule in set(expected) | set(rules) if among is None else set(among):
        row = rules.get(rule) or {"status": "not judged", "reason": ""}
        known = expected.get(rule)
        if known is None and row["status"] in (*BROKEN, "not judged"):
            found[rule] = f"new: {rule} {row['status']}: {row['reason']}"
        elif known is not None and known.by_chance and row["status"] == "passed":
            continue
        elif known is not None and row["status"] not in BROKEN:
            found[rule] = f"gone: {rule} is no longer broken ({known.reason})"
        elif known is not None and row["status"] != known.status:
            found[rule] = f"changed: {rule} is {row['status']}, expected {known.status}"
    return found


def verdicts(
    program: ThirdParty,
    *,
    bin_dir: Path,
    only: Sequence[str] = (),
    selection: Sequence[str] = (),
    workers: int | None = None,
) -> dict[str, Any] | str:
    """Run the suite against a program; return the rules of the report by id, or the reason why there are none.

    Args:
        program: the program; its options select what is run.
        bin_dir: the folder of built programs, `{bin}` in options.
        only: run only the scenarios of these rules.
        selection: additional options that select scenarios.
        workers: number of worker processes, 0 for none; by default those of the program.
    """
    more = [*selection, *(word for rule in only for word in ("--rule", rule))]
    try:
        report = report_of(program, bin_dir=bin_dir, more=more, workers=workers)
    except StartError as error:
        return str(error)
    if isinstance(report, str):
        return report
    return _rows(report)


def _rows(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rules of a report by id, with the evidence, and whether a scenario of the rule passed (`ran`)."""
    passed = {row["id"] for row in report["scenarios"] if row["status"] == "passed"}
    return {
        rule["id"]: {**rule, "reason": _evidence(rule, report), "ran": not passed.isdisjoint(rule["scenarios"])}
        for rule in report["rules"]
    }


def report_of(
    program: ThirdParty, *, bin_dir: Path, more: Sequence[str] = (), workers: int | None = None
) -> dict[str, Any] | str:
    """Run the suite against a program; return the report, or the reason why there is none.

    Args:
        program: the program; its options select what is run.
        bin_dir: the folder of built programs, `{bin}` in options.
        more: additional options.
        workers: number of worker processes, 0 for none; by default those of the program.
    """
    workers = program.workers if workers is None else workers
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="dra-third-party-"))
        out = Path(folder) / "report"
        if program.running:
            stack.enter_context(_running(program, Path(folder), bin_dir))
        before: dict[str, str] = {}
        kubeconfig = None
        if program.cluster:
            kubeconfig = stack.enter_context(existing_cluster(program.cluster, Path(folder) / "cluster", bin_dir))
            before = objects_of(kubeconfig)
        words = [word.replace("{bin}", str(bin_dir)).replace("{dir}", folder) for word in program.options]
        words += [*more, *(["--workers", str(workers)] if workers else [])]
        command = [sys.executable, "-m", "dra_conformance", "run", "--out", str(out), "--progress", "none", *words]
        result = subprocess.run(command, check=False, capture_output=True, text=True)
        if not (out / "report.json").is_file():
            return f"{program.name}: no report\n{_ends(result)}"
        report: dict[str, Any] = orjson.loads((out / "report.json").read_bytes())
        if result.returncode not in _WITH_VERDICT:  # nothing selected, objects left behind, or a harness error
            return f"{program.name}: exit code {result.returncode}\n{_errors(report)}{_ends(result)}"
        if kubeconfig is not None and (left := _left(before, objects_of(kubeconfig))):
            return f"{program.name}: objects left on the cluster: {left}"
        return report


def _left(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Return the objects that are on a cluster after a run and were not there before it, or the other way around."""
    changed = {**before, **after}
    return ", ".join(sorted(changed[uid] for uid in set(before) ^ set(after)))


def _errors(report: Mapping[str, Any]) -> str:
    """Return a line for each problem of the run, and for each scenario that ended with an error of the harness."""
    rows = [f"{row['id']}: {row['reason']}" for row in report["scenarios"] if row["status"] == "error"]
    return "".join(f"  {line}\n" for line in (*(problem["message"] for problem in report["problems"]), *rows))


_CRASH_REPORT = 60_000
"""Characters of the interpreter's report of a crash; the thread that crashed may be any of dozens."""


def _ends(result: subprocess.CompletedProcess[str]) -> str:
    """Return the last output; of an interpreter that crashed also what each of its threads was doing."""
    crash = result.stderr.find("Fatal Python error")
    report = f"{result.stderr[crash : crash + _CRASH_REPORT]}\n...\n" if crash >= 0 else ""
    return f"{result.stdout[-2000:]}{report}{result.stderr[-2000:]}"


def _evidence(rule: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """Return why a rule is broken, with the scenario's timeline: the run's folder is deleted."""
    if rule["status"] not in BROKEN:
        return str(rule["reason"])
    # Only the end of a timeline: the first steps are preparation.
    lines = [
        line
        for row in report["scenarios"]
        if row["id"] in rule["scenarios"] and row["status"] in BROKEN
        for line in (f"{row['id']}: {row['reason']}", *(row.get("timeline") or ())[-_TIMELINE_LINES:])
    ]
    return "\n    ".join(lines) or str(rule["reason"])


@contextmanager
def _running(program: ThirdParty, folder: Path, bin_dir: Path) -> Iterator[None]:
    """Serve a control plane in `folder` and run the program on it, outside the suite."""
    serve = [sys.executable, "-m", "dra_conformance", "control-plane", "serve", "--dir", str(folder)]
    with subprocess.Popen([*serve, *program.serve], stdout=subprocess.PIPE, text=True) as plane:
        try:
            # The line that `serve` prints when the control plane is ready.
            if not any(line.startswith("Ctrl-C") for line in plane.stdout or ()):
                raise StartError(f"{program.name}: the control plane is not served")
            words = [word.replace("{bin}", str(bin_dir)).replace("{dir}", str(folder)) for word in program.running]
            with (folder / "driver.log").open("wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as driver:
                try:
                    _wait_for(folder / program.socket, driver)
                    yield
                    if driver.poll() is not None:
                        raise StartError(f"{program.name} exited during the run, which never stops it")
                finally:
                    driver.terminate()
        finally:
            plane.terminate()


def _wait_for(socket: Path, driver: subprocess.Popen[bytes]) -> None:
    clock, never = RealClock(), threading.Event()
    deadline = clock.monotonic() + _START_SECONDS
    while clock.monotonic() < deadline and driver.poll() is None:
        if socket.exists():
            return
        clock.wait(never, 0.1)  # another program creates the socket: there is no event to wait for
    raise StartError(f"the driver created no {socket.name} (exit code {driver.poll()})")
