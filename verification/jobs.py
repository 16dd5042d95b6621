"""Run verification jobs side by side, slow ones first, and report every outcome.

Jobs spend most of their time waiting, so two run at once. The load must not change a verdict: a rule with an unexpected
verdict is verified again alone, after all other jobs. The output ends with the jobs that failed.

Ctrl-C reaches the programs of the jobs as well; SIGTERM reaches this process alone, and is passed on to them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from dra_api.clock import RealClock

_LINES = 12
PARALLEL = 2
"""Jobs at a time. Each may have several workers; more would slow third-party programs down on two cores."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a job.

    `lines` are printed. `unexpected` maps what must be verified again, alone, to a description: rule ids, or one key
    that the job itself understands. `statuses` are those of the rules that a program was judged by.
    """

    exit_code: int = 0
    lines: tuple[str, ...] = ()
    unexpected: Mapping[str, str] = field(default_factory=dict)
    statuses: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finished:
    """A job that ended: `summary` is the line that stands for it in a table, `seconds` what it took.

    `statuses` are those of the rules that a program was judged by; a retry replaces those that it judged again.
    """

    name: str
    summary: str
    seconds: float
    exit_code: int
    statuses: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """A unit of verification. `takes` is its measured duration in seconds, for the order only.

    `retry` verifies the unexpected parts of an outcome again. `summary_line` is the index of the line of an outcome
    that stands for the job in a table: the first one by default.
    """

    name: str
    takes: float
    work: Callable[[], Outcome]
    retry: Callable[[Mapping[str, str]], Outcome] | None = None
    summary_line: int = 0


def run(
    jobs: Iterable[Job], *, parallel: int = PARALLEL, keep: Callable[[Finished], None] = lambda one: None
) -> list[Finished]:
    """Run all jobs and print their outcomes; return what became of each, sorted by name.

    Args:
        jobs: the jobs.
        parallel: how many run at a time.
        keep: called for each job as soon as its result is final. An interrupt then loses only the others.
    """
    clock = RealClock()
    retries: list[tuple[Job, Mapping[str, str]]] = []
    failed: list[tuple[Job, Outcome]] = []
    ended: dict[str, Finished] = {}
    began = clock.monotonic()

    def timed(job: Job) -> tuple[Job, Outcome, float]:
        start = clock.monotonic()
        return job, job.work(), clock.monotonic() - start

    def finished(job: Job, outcome: Outcome, seconds: float, note: str = "") -> None:
        print("\n".join(outcome.lines) + note, flush=True)
        before = ended.get(job.name)
        # The lines of a retry describe the retried rules only: the table keeps the summary of the whole run.
        summary = before.summary + ", some verified again alone" if before else outcome.lines[job.summary_line]
        exit_code = max(outcome.exit_code, before.exit_code if before else 0)
        seconds += before.seconds if before else 0.0
        statuses = {**(before.statuses if before else {}), **outcome.statuses}
        ended[job.name] = Finished(job.name, summary, seconds, exit_code, statuses)
        if outcome.exit_code:
            failed.append((job, outcome))
        if before or not outcome.unexpected:
            keep(ended[job.name])

    with _ended_together():
        with ThreadPoolExecutor(parallel, thread_name_prefix="verification") as pool:
            # The slowest first: started last, it would run on alone at the end.
            started = [pool.submit(timed, job) for job in sorted(jobs, key=lambda each: -each.takes)]
            try:
                for done in as_completed(started):
                    job, outcome, seconds = done.result()
                    finished(job, outcome, seconds, f" ({seconds:.0f} s)")
                    if outcome.unexpected:
                        retries.append((job, outcome.unexpected))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        # After the pool: a retry has the machine to itself.
        for job, unexpected in retries:
            if job.retry is None:
                raise ValueError(f"{job.name} reports unexpected rules but cannot retry them")
            start = clock.monotonic()
            finished(job, job.retry(unexpected), clock.monotonic() - start)
    print(f"verification: finished in {clock.monotonic() - began:.0f} s", flush=True)
    if failed:
        print(f"verification: failed: {', '.join(job.name for job, _ in failed)}; their output again:", flush=True)
        for job, outcome in failed:
            print("\n".join((f"== {job.name}", *outcome.lines)), flush=True)
    return [ended[name] for name in sorted(ended)]


@contextlib.contextmanager
def _ended_together() -> Iterator[None]:
    """Interrupt the programs of the jobs, and this process, on SIGTERM."""
    if threading.current_thread() is not threading.main_thread():  # where Python cannot set handlers
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        for child in Path("/proc/self/task").glob("*/children"):
            for process in child.read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGINT)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def worst(ended: Iterable[Finished]) -> int:
    """Return the highest exit code, 0 for no job."""
    return max((one.exit_code for one in ended), default=0)


def of_command(name: str, takes: float, command: Sequence[str]) -> Job:
    """Return a job that runs a program and prints its output when it has ended."""

    def work() -> Outcome:
        result = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = result.stdout.rstrip().splitlines() or [f"{name}: no output"]
        # A check that passed is described by its last lines; of a failed one, every line may be the cause.
        return Outcome(int(result.returncode != 0), tuple(lines if result.returncode else lines[-_LINES:]))

    return Job(name, takes, work, summary_line=-1)
