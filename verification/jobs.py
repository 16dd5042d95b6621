"""Run verification jobs side by side, slow ones first, and report every outcome.

Jobs spend most of their time waiting, so two run at once. The load must not change a verdict: a rule with an unexpected
verdict is verified again alone, after all other jobs. The output ends with the jobs that failed.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from dra_api.clock import RealClock

PARALLEL = 2
"""Jobs at a time. Each may have several workers; more would slow third-party programs down on two cores."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a job.

    `lines` are printed. `unexpected` maps what must be verified again, alone, to a description: rule ids, or one key
    that the job itself understands.
    """

    exit_code: int = 0
    lines: tuple[str, ...] = ()
    unexpected: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """A unit of verification. `takes` is its measured duration in seconds, for the order only.

    `retry` verifies the unexpected parts of an outcome again.
    """

    name: str
    takes: float
    work: Callable[[], Outcome]
    retry: Callable[[Mapping[str, str]], Outcome] | None = None


def run(jobs: Iterable[Job], *, parallel: int = PARALLEL) -> int:
    """Run all jobs and print their outcomes; return the highest exit code."""
    clock = RealClock()
    retries: list[tuple[Job, Mapping[str, str]]] = []
    failed: list[tuple[Job, Outcome]] = []
    began = clock.monotonic()

    def timed(job: Job) -> tuple[Job, Outcome, float]:
        start = clock.monotonic()
        return job, job.work(), clock.monotonic() - start

    def finished(job: Job, outcome: Outcome, note: str = "") -> None:
        print("\n".join(outcome.lines) + note, flush=True)
        if outcome.exit_code:
            failed.append((job, outcome))

    with ThreadPoolExecutor(parallel, thread_name_prefix="verification") as pool:
        started = [pool.submit(timed, job) for job in sorted(jobs, key=lambda each: -each.takes)]
        for done in as_completed(started):
            job, outcome, seconds = done.result()
            finished(job, outcome, f" ({seconds:.0f} s)")
            if outcome.unexpected:
                retries.append((job, outcome.unexpected))
    for job, unexpected in retries:
        if job.retry is None:
            raise ValueError(f"{job.name} reports unexpected rules but cannot retry them")
        finished(job, job.retry(unexpected))
    print(f"verification: finished in {clock.monotonic() - began:.0f} s", flush=True)
    if failed:
        print(f"verification: failed: {', '.join(job.name for job, _ in failed)}; their output again:", flush=True)
        for job, outcome in failed:
            print("\n".join((f"== {job.name}", *outcome.lines)), flush=True)
    return max((outcome.exit_code for _, outcome in failed), default=0)


def of_command(name: str, takes: float, command: Sequence[str]) -> Job:
    """Return a job that runs a program and prints its output when it has ended."""

    def work() -> Outcome:
        result = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return Outcome(int(result.returncode != 0), (result.stdout.rstrip() or f"{name}: no output",))

    return Job(name, takes, work)
