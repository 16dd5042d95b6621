"""`make explore MINUTES=30`: test with fresh seeds for a given time, and save what fails.

Everything random in CI has a pinned seed, so that CI cannot fail by chance. New cases are found here instead. A round
is a differential test of the allocator and CEL, mutated inputs for the parsers (verification/fuzz), the next part of
the matrix of device taints, then a run of the whole suite with a random watch lag. The report of a round that fails
stays in the output folder, and the output ends with the commands that repeat it. The output folder also keeps the
number of the next part, so that 157 rounds, of one call or of several, run all cells of the matrix.

Before the rounds, scheduler and binder are killed at their writes until there were 1,000 kills or half of the time is
over. `--target '--binder kai'` does only that, for the programs of these options.
"""

from __future__ import annotations

import argparse
import importlib.util
import secrets
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

from dra_api.clock import Clock, RealClock
from dra_conformance.core.events import KillsFinished, read
from dra_conformance.core.shard import Shard
from verification import campaign_shard
from verification.third_party.catalogue import BIN

MAX_LAG = 0.1
"""Seconds. A scenario waits up to 1.5 s for an expected result; ten watch events in a row must still fit."""
_CASES = 2000
_INPUTS = 5000
MATRIX_PARTS = 157
"""Parts of the matrix of device taints, each of more than a thousand cells.

A prime number: with a multiple of 5 or 4 all cells of a part would have the same second taint or toleration.
"""
_NEXT_PART = "taint-matrix-next"
"""The file with the number of the next part: parts run one after the other, also over several calls."""
_TAIL = 15
_KILLS = "^faults/kills"
"""The scenarios that kill components."""


def next_part(out: Path, shard: Shard = campaign_shard.WHOLE) -> int:
    """Return the number of the part of the matrix of device taints that is due, and count on.

    A shard begins with the part of its index. As the number of parts is prime, it comes to each of them in the end.
    """
    file = out / _NEXT_PART
    part = int(file.read_text()) if file.exists() else (shard.index - 1) % MATRIX_PARTS + 1
    out.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{(part + shard.count - 1) % MATRIX_PARTS + 1}\n")
    return part


def commands(seed: str, out: Path, *, part: int, differential: bool, fuzz: bool) -> Iterator[tuple[Path, list[str]]]:
    """Yield the commands of a round, each with the folder of its report."""
    module = [sys.executable, "-m"]
    if differential:
        folder = out / f"differential-{seed}"
        words = ["--cases", str(_CASES), "--seed", seed, "--out", str(folder)]
        yield folder, [*module, "verification.differential", *words]
    if fuzz:
        folder = out / f"fuzz-{seed}"
        words = ["--inputs", str(_INPUTS), "--seed", str(max(int(seed, 16), 1)), "--out", str(folder)]
        yield folder, [*module, "verification", "fuzz", *words]
    folder = out / f"taint-matrix-{seed}"
    cells = ["--all", "--part", f"{part}/{MATRIX_PARTS}", "--out", str(folder)]
    yield folder, [*module, "verification", "taint-matrix", *cells]
    folder = out / f"run-{seed}"
    yield folder, run_command(seed, folder)


def run_command(seed: str, folder: Path, *words: str) -> list[str]:
    """Return the command of a run; `words` are further options."""
    # The lag follows from the seed, so that the seed alone repeats a run.
    lag = round(int(seed, 16) / 16 ** len(seed) * MAX_LAG, 3)
    of_seed = ["-n", "2", "--seed", str(int(seed, 16)), "--watch-lag", str(lag), "--progress", "none"]
    return [sys.executable, "-m", "dra_conformance", "run", *of_seed, *words, "--out", str(folder)]


def kill(
    wanted: int,
    minutes: float,
    out: Path,
    *,
    run: Callable[[list[str]], subprocess.CompletedProcess[str]],
    clock: Clock,
    seeds: Iterator[str],
    target: Sequence[str] = (),
) -> tuple[int, list[list[str]]]:
    """Kill components at their writes until there were `wanted` kills, or `minutes` have passed.

    Return the number of kills and the commands that failed, whose reports stay. `target` are the options of a target.
    """
    kills, failed = 0, []
    deadline = clock.monotonic() + minutes * 60
    while kills < wanted and clock.monotonic() < deadline:
        seed = next(seeds)
        folder = out / f"kills-{seed}"
        chosen = ("--profile", "faults", "--profile", "fault-sweep", "--focus", _KILLS)
        command = run_command(seed, folder, *chosen, *target)
        result = run(command)
        made = kills_in(folder)
        kills += made
        print(f"kills {kills}: exit code {result.returncode}: {shlex.join(command)}", flush=True)
        if result.returncode == 0:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            failed.append(command)
            print("\n".join(result.stdout.splitlines()[-_TAIL:]), flush=True)
        if not made:
            break  # it would kill nothing the next time either
    return kills, failed


def kills_in(report: Path) -> int:
    """Return the number of kills of a run."""
    log = report / "events.jsonl"
    if not log.exists():
        return 0
    return sum(len(event.writes) for event in read(log) if isinstance(event, KillsFinished))


def explore(
    minutes: float,
    out: Path,
    *,
    run: Callable[[list[str]], subprocess.CompletedProcess[str]],
    clock: Clock,
    seeds: Iterator[str],
    differential: bool,
    fuzz: bool,
    shard: Shard = campaign_shard.WHOLE,
) -> list[list[str]]:
    """Run rounds until `minutes` have passed; return the commands that failed.

    Args:
        minutes: no round begins later than this.
        out: the folder for the reports of what failed; reports of what passed are removed.
        run: runs a command, and returns its exit code and output.
        clock: the clock.
        seeds: one hexadecimal seed for each round.
        differential: include the differential test, which needs dra-allocator.
        fuzz: include the mutated inputs, which need Atheris.
        shard: the part of the campaign. Only the matrix of device taints is divided; seeds are fresh in every shard.
    """
    failed = []
    deadline = clock.monotonic() + minutes * 60
    for number in count(1):
        if clock.monotonic() >= deadline:
            break
        seed = next(seeds)
        for folder, command in commands(seed, out, part=next_part(out, shard), differential=differential, fuzz=fuzz):
            result = run(command)
            print(f"round {number}: exit code {result.returncode}: {shlex.join(command)}", flush=True)
            # A report of a passed round shows nothing, and hours of rounds would fill the disk.
            if result.returncode == 0:
                shutil.rmtree(folder, ignore_errors=True)
                continue
            failed.append(command)
            print("\n".join(result.stdout.splitlines()[-_TAIL:]), flush=True)
    return failed


def main(words: Sequence[str]) -> int:
    """Explore as the command line says; return the exit code, 1 if something failed."""
    parser = argparse.ArgumentParser(
        prog="python -m verification explore", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="begin no round later than this (default: 30)")
    parser.add_argument("--out", type=Path, default=Path("dra-report/explore"), help="folder for what fails")
    parser.add_argument("--kills", type=int, default=1000, help="kill components so often (default: 1000; 0: never)")
    parser.add_argument("--target", default="", help="only kill, with these options of a run, such as '--binder kai'")
    campaign_shard.add_to(parser, what="the matrix of device taints; seeds are fresh in each part")
    options = parser.parse_args(words)
    clock = RealClock()
    seeds = iter(lambda: secrets.token_hex(4), "")
    start = clock.monotonic()
    time_for_kills = options.minutes if options.target else options.minutes / 2
    target = shlex.split(options.target)
    kills, failed = kill(options.kills, time_for_kills, options.out, run=_run, clock=clock, seeds=seeds, target=target)
    print(f"explore: {kills} kills in {clock.monotonic() - start:.0f} s")
    if options.target:
        return _report(failed, options.out)
    differential = (BIN / "dra-allocator").exists()
    if not differential:
        print("explore: no differential tests: dra-allocator is not built (make third-party)")
    fuzz = importlib.util.find_spec("atheris") is not None
    if not fuzz:
        print("explore: no mutated inputs: Atheris is not installed (make fuzz installs it)")
    failed += explore(
        options.minutes - (clock.monotonic() - start) / 60,
        options.out,
        run=_run,
        clock=clock,
        seeds=seeds,
        differential=differential,
        fuzz=fuzz,
        shard=options.shard,
    )
    return _report(failed, options.out)


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _report(failed: list[list[str]], out: Path) -> int:
    for command in failed:
        print(f"failed: {shlex.join(command)}")
    print(f"explore: {len(failed)} failed; reports are in {out}" if failed else "explore: nothing failed")
    return 1 if failed else 0
