"""What the suite says of every peer, compared with what is known of it.

Peers are judged beside each other, the slow ones first: most of what they do is to wait. That must not cost anybody a
verdict, so a rule whose verdict is not the known one is judged again when all others are done, and alone; so is a peer
that could not be judged at all. What did not come to a good end is told once more at the end of everything. Every run
has a control plane and folders of its own, which end with it; nothing is left here but the verdicts.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from dra_api.clock import RealClock

Peer = Mapping[str, Any]
BESIDE = 2
"""Jobs at a time. Each may have several workers; more would let two cores make third-party look slow."""
EVERYTHING = "*"
"""Instead of rules to be judged again: all of them, because there is no verdict at all."""
_JUDGED = (0, 1)
_TOLD = 25
"""Lines of a scenario's timeline that are told with a verdict that nobody knew."""
_BROKEN = ("failed", "error", "untestable", "flaky")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job came to: its exit code, what is to be told, and what is to be judged again alone, each in words.

    `differing` has rule ids as its keys, or `EVERYTHING` alone.
    """

    code: int = 0
    told: tuple[str, ...] = ()
    differing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """Something to be done beside others. `takes` is in seconds, as measured once: the slow ones start first."""

    name: str
    takes: float
    work: Callable[[], Outcome]
    again: Callable[[Mapping[str, str]], Outcome] | None = None


def run(jobs: Iterable[Job], *, beside: int = BESIDE) -> int:
    """Do all jobs, `beside` at a time, and print what each came to; the worst exit code."""
    clock, open_cases = RealClock(), list[tuple[Job, Mapping[str, str]]]()
    bad: list[tuple[Job, Outcome]] = []
    began = clock.monotonic()

    def timed(job: Job) -> tuple[Job, Outcome, float]:
        start = clock.monotonic()
        return job, job.work(), clock.monotonic() - start

    def ended(job: Job, outcome: Outcome, note: str = "") -> None:
        print("\n".join(outcome.told) + note, flush=True)
        if outcome.code:
            bad.append((job, outcome))

    with ThreadPoolExecutor(beside, thread_name_prefix="peers") as pool:
        started = [pool.submit(timed, job) for job in sorted(jobs, key=lambda each: -each.takes)]
        for done in as_completed(started):
            job, outcome, seconds = done.result()
            ended(job, outcome, f" ({seconds:.0f} s)")
            if outcome.differing:
                open_cases.append((job, outcome.differing))
    for job, differing in open_cases:
        if job.again is None:
            raise ValueError(f"{job.name} has rules to be judged again and no way to do so")
        ended(job, job.again(differing))
    print(f"peers: all in {clock.monotonic() - began:.0f} s", flush=True)
    if bad:
        print(f"peers: not as it should be: {', '.join(job.name for job, _ in bad)}; once more:", flush=True)
        for job, outcome in bad:
            print("\n".join((f"== {job.name}", *outcome.told)), flush=True)
    return max((outcome.code for _, outcome in bad), default=0)


def of_command(name: str, takes: float, command: Sequence[str]) -> Job:
    """A job that is a program of its own; what it prints is told when it has ended."""

    def work() -> Outcome:
        result = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return Outcome(int(result.returncode != 0), (result.stdout.rstrip() or f"{name}: nothing was said",))

    return Job(name, takes, work)


def of_peer(peer: Peer, *, bin_dir: Path) -> Job:
    """A job that runs the suite against a peer."""

    def work() -> Outcome:
        rules = verdicts(peer, bin_dir=bin_dir)
        if isinstance(rules, str):
            return Outcome(0, (rules,), {EVERYTHING: rules})
        return Outcome(0, (_counted(peer, rules),), differences(rules, _known(peer)))

    def again(differing: Mapping[str, str]) -> Outcome:
        everything = EVERYTHING in differing
        rules = verdicts(peer, bin_dir=bin_dir, only=() if everything else sorted(differing))
        if isinstance(rules, str):
            return Outcome(1, (rules, *(f"  {told}" for told in differing.values())))
        still = differences(rules, _known(peer), among=None if everything else differing)
        told = [
            f"  {still[rule]}" if rule in still else f"  unstable: {told}; not so when it was judged again alone"
            for rule, told in sorted({**still, **differing}.items())
        ]
        told += [f"  {_counted(peer, rules)}"] if everything else []
        return Outcome(1 if still else 0, (f"peers: {peer['name']}, judged again alone:", *told))

    return Job(str(peer["name"]), float(peer.get("takes", 0)), work, again)


def _counted(peer: Peer, rules: Mapping[str, Any]) -> str:
    passed = sum(row["status"] == "passed" for row in rules.values())
    broken = sum(row["status"] in _BROKEN for row in rules.values())
    return f"peers: {peer['name']} {peer['version']}: {passed} rules kept, {broken} broken"


def _known(peer: Peer) -> dict[str, Any]:
    return {row["rule"]: row for row in peer.get("breaks") or ()}


def differences(
    rules: Mapping[str, Any], known: Mapping[str, Any], *, among: Iterable[str] | None = None
) -> dict[str, str]:
    """Rules whose verdict is not what is known of the peer, each with what is different, in words."""
    found: dict[str, str] = {}
    for rule in set(known) | set(rules) if among is None else set(among):
        row = rules.get(rule) or {"status": "not judged", "reason": ""}
        expected = known[rule].get("status", "failed") if rule in known else None
        if expected is None and row["status"] in (*_BROKEN, "not judged"):
            found[rule] = f"new: {rule} {row['status']}: {row['reason']}"
        elif expected is not None and row["status"] not in _BROKEN:
            found[rule] = f"gone: {rule} is no longer broken ({known[rule]['reason']})"
        elif expected is not None and row["status"] != expected:
            found[rule] = f"changed: {rule} is {row['status']}, known as {expected}"
    return found


def verdicts(peer: Peer, *, bin_dir: Path, only: Sequence[str] = ()) -> dict[str, Any] | str:
    """Run the suite against a peer: the rules of the report by id, or why there are none.

    `only` names the rules to be judged, by one worker then; without it all that the peer's options select are.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="dra-peer-"))
        out = Path(folder) / "report"
        if "running" in peer:
            stack.enter_context(_running(peer, Path(folder), bin_dir))
        words = [word.replace("{bin}", str(bin_dir)).replace("{dir}", folder) for word in peer["options"]]
        words += [word for rule in only for word in ("--rule", rule)]
        words += [] if only else ["--workers", str(peer.get("workers", 1))]
        command = [sys.executable, "-m", "dra_conformance", "run", "--out", str(out), "--progress", "none", *words]
        result = subprocess.run(command, check=False, capture_output=True, text=True)
        if not (out / "report.json").is_file():
            return f"peers: {peer['name']}: no report\n{result.stdout[-2000:]}{result.stderr[-2000:]}"
        if result.returncode not in _JUDGED:  # nothing selected, something left behind, the harness broken
            return (
                f"peers: {peer['name']}: exit code {result.returncode}\n{result.stdout[-2000:]}{result.stderr[-2000:]}"
            )
        report = orjson.loads((out / "report.json").read_bytes())
    return {rule["id"]: {**rule, "reason": _evidence(rule, report)} for rule in report["rules"]}


def _evidence(rule: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """Why a rule is broken, with what happened in the scenario: the run's folder goes, and it may not come again."""
    if rule["status"] not in _BROKEN:
        return str(rule["reason"])
    lines = [
        line
        for row in report["scenarios"]
        if row["id"] in rule["scenarios"] and row["status"] in _BROKEN
        for line in (f"{row['id']}: {row['reason']}", *(row.get("timeline") or ())[-_TOLD:])
    ]
    return "\n    ".join(lines) or str(rule["reason"])


@contextmanager
def _running(peer: Peer, folder: Path, bin_dir: Path) -> Iterator[None]:
    """A served control plane in `folder` and the peer running on it, started by us and not by the suite."""
    serve = [sys.executable, "-m", "dra_conformance", "control-plane", "serve", "--dir", str(folder)]
    with subprocess.Popen([*serve, *peer["serve"]], stdout=subprocess.PIPE, text=True) as plane:
        try:
            if not any(line.startswith("Ctrl-C") for line in plane.stdout or ()):
                raise RuntimeError(f"peers: {peer['name']}: the control plane is not served")
            words = [word.replace("{bin}", str(bin_dir)).replace("{dir}", str(folder)) for word in peer["running"]]
            with (folder / "driver.log").open("wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as driver:
                try:
                    _wait_for(folder / peer["socket"], driver)
                    yield
                    if driver.poll() is not None:
                        raise RuntimeError(f"peers: {peer['name']} ended in the run; it was to be left alone")
                finally:
                    driver.terminate()
        finally:
            plane.terminate()


def _wait_for(socket: Path, driver: subprocess.Popen[bytes]) -> None:
    clock, never = RealClock(), threading.Event()
    for _ in range(300):
        if socket.exists():
            return
        if driver.poll() is not None:
            break
        clock.wait(never, 0.1)  # another program's socket: there is no event to wait for
    raise RuntimeError(f"peers: the driver made no {socket.name} (exit code {driver.poll()})")
