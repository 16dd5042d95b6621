"""`python -m verification fuzz [NAME ...]`: fuzz the parsers, each in a process of its own.

The exit code is 1 if there is a finding. Its input is saved, and the output ends with the command that repeats it.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dra_conformance.core.errors import ExitCode
from verification.fuzz import page
from verification.fuzz.outcome import LARGEST_MB, SLOWEST_S, Fuzzed
from verification.fuzz.target import Target
from verification.fuzz.targets import PROGRAM, TARGETS

CORPUS = Path(__file__).parent / "corpus"
"""A file for each target: its inputs in base64, one on each line, the shortest first."""
_PARALLEL = 2
_DONE = re.compile(rb"Done (\d+) runs in (\d+) second")
_RAISED = re.compile(rb"=== Uncaught Python exception: ===\n(.*)")
_SAVED = re.compile(rb"Test unit written to (\S+)")
_SUMMARY = re.compile(rb"SUMMARY: (.*)")


def child(target: Target, *options: str) -> list[str]:
    """Return the command that runs a target with these options of libFuzzer."""
    return [sys.executable, "-m", "verification.fuzz.child", target.name, *options]


def fuzz(target: Target, *, inputs: int, seed: int, out: Path, grow: bool = False) -> Fuzzed:
    """Fuzz a target from its committed corpus.

    Args:
        target: the parser.
        inputs: how many it reads.
        seed: of libFuzzer; from 1 on, since 0 is a random one.
        out: an existing folder for the input of a finding.
        grow: replace the committed corpus by one that covers as much with as few and as short inputs as possible.
    """
    limits = [f"-timeout={SLOWEST_S}", f"-rss_limit_mb={LARGEST_MB}", f"-max_len={target.longest}"]
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - a private folder below it
    with tempfile.TemporaryDirectory(prefix="dra-fuzz-", dir=memory) as folder:
        new, kept, committed, temporary = (Path(folder, name) for name in ("new", "kept", "committed", "tmp"))
        for each in (new, kept, committed, temporary):
            each.mkdir()
        # libFuzzer ends the process without any cleanup.
        environment = {"TMPDIR": str(temporary)}
        for number, data in enumerate(corpus(target.name)):
            (committed / str(number)).write_bytes(data)
        words = child(target, f"-runs={inputs}", f"-seed={seed}", f"-artifact_prefix={out}/{target.name}-", *limits)
        output = _output([*words, str(new), str(committed)], environment)
        if found := _DONE.search(output):
            if grow:
                # libFuzzer starts itself again for this, by the name of the program.
                program = Path(folder, "program")
                program.write_text(f'#!/bin/sh\nexec {shlex.join(child(target))} "$@"\n')
                program.chmod(0o700)
                merge = child(target, "-merge=1", *limits, str(kept), str(new), str(committed))
                _output(merge, {**environment, PROGRAM: str(program)})
                _replace(target.name, kept)
            return Fuzzed(target.name, int(found[1]), int(found[2]))
    raised = _RAISED.search(output) or _SUMMARY.search(output)
    said = raised[1] if raised else b"no report of libFuzzer: " + b" ".join(output.splitlines()[-3:])
    saved = _SAVED.search(output)
    return Fuzzed(target.name, finding=said.decode(errors="replace")[:300], saved=saved[1].decode() if saved else "")


def _output(words: Sequence[str], more: Mapping[str, str]) -> bytes:
    environment = {**os.environ, **more}
    done = subprocess.run(words, check=False, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout


def corpus(name: str) -> list[bytes]:
    """Return the committed inputs of a target."""
    return [base64.b64decode(line) for line in _corpus_file(name).read_text().splitlines()]


def _corpus_file(name: str) -> Path:
    return CORPUS / f"{name}.txt"


def _replace(name: str, kept: Path) -> None:
    """Replace a committed corpus by the files of a folder, unless there are none."""
    inputs = sorted({path.read_bytes() for path in kept.iterdir()}, key=lambda each: (len(each), each))
    if inputs:
        _corpus_file(name).write_text("".join(f"{base64.b64encode(data).decode()}\n" for data in inputs))


def main(words: Sequence[str]) -> int:
    """Fuzz as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m verification fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(TARGETS)}")
    parser.add_argument("--inputs", type=int, default=20_000, help="inputs for each target (default: 20000)")
    parser.add_argument("--seed", type=int, default=1, help="from 1 on (default: 1)")
    parser.add_argument("--out", type=Path, default=Path("dra-report/fuzz"), help="folder for the inputs of findings")
    parser.add_argument("--grow", action="store_true", help="replace the committed corpora")
    parser.add_argument("--write", action="store_true", help="write the results to docs/")
    options = parser.parse_args(words)
    if unknown := set(options.names) - set(TARGETS):
        parser.error(f"unknown name {', '.join(sorted(unknown))} (choose from {', '.join(TARGETS)})")
    if options.inputs < 1 or options.seed < 1:
        parser.error("--inputs and --seed begin at 1")
    if importlib.util.find_spec("atheris") is None:
        print("fuzz: Atheris is not installed: pip install --require-hashes -r requirements/fuzz.txt", file=sys.stderr)
        return ExitCode.USAGE
    options.out.mkdir(parents=True, exist_ok=True)

    def one(target: Target) -> Fuzzed:
        done = fuzz(target, inputs=options.inputs, seed=options.seed, out=options.out, grow=options.grow)
        what = f"FINDING: {done.finding}" if done.finding else f"{done.inputs} inputs in {done.seconds} s"
        print(f"{done.target:<14} {what}", flush=True)
        return done

    chosen = [target for name, target in TARGETS.items() if not options.names or name in options.names]
    with ThreadPoolExecutor(_PARALLEL) as pool:
        ended = list(pool.map(one, chosen))
    if options.write:
        page.write(ended, seed=options.seed)
    findings = [each for each in ended if each.finding]
    for each in findings:
        print(f"repeat: {shlex.join([*child(TARGETS[each.target]), each.saved])}")
    print(f"fuzz: {sum(each.inputs for each in ended)} inputs, {len(findings)} findings")
    return ExitCode.FAILURES if findings else ExitCode.OK
