"""`python -m verification taint-matrix`: every cell of the matrix of device taints.

First the functions of the reference are compared with the judge for all combinations. Then the cells with one taint
and at most one toleration run on the embedded control plane with virtual time, many side by side, as scenarios like
those of features/taints/scheduler_and_eviction.feature. With `--all` every cell runs, also those with two of either and
those of PodGroups; `make explore` runs one part of them after the other. The feature has a pairwise cover of both, and
`make suite` runs the cells of PodGroups with their gates on.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from verification.taint_matrix import cells, cover, feature, reference

FEATURE = Path(__file__).parents[2] / "features" / "taints" / "scheduler_and_eviction.feature"
_CHAPTER = "taint_matrix"
_ROWS = 60
"""Rows of a scenario: its node has room for 250 pods."""
_SHOWN = 10
_GROUP_GATES = "GenericWorkload=true,DRAWorkloadResourceClaims=true"
"""What the cells of PodGroups need."""


def cells_of_part(part: str, *, every: bool = False) -> list[cells.Cell]:
    """Return every Nth of the cells that run on a control plane, for a part K/N. Raises ValueError for other text.

    `every`: of all cells, not only of those with one taint and at most one toleration.
    """
    number, count = map(int, part.split("/"))
    if not 1 <= number <= count:
        raise ValueError(f"{part!r} is not a part such as 1/8")
    found = [*cells.cells(), *cells.cells(only=cells.GROUPS)] if every else cells.cells(only=cells.SINGLE)
    return list(found)[number - 1 :: count]


def run(part: str, out: Path, *, every: bool = False) -> int:
    """Write a part of the cells as a feature below `out`, and run it; return the exit code of the run."""
    folder = out / "features"
    chosen = cells_of_part(part, every=every)
    path = folder / _CHAPTER / "cells.feature"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(feature.feature(chosen, most=_ROWS), encoding="utf-8")
    print(f"taint-matrix: {len(chosen)} cells of part {part} run", flush=True)
    words = ["--features", str(folder), "--focus", f"^{_CHAPTER}/", "-n", "2", "--progress", "none"]
    if every:
        words += ["--feature-gates", _GROUP_GATES]
    command = [sys.executable, "-m", "dra_conformance", "run", *words, "--out", str(out / "report")]
    return subprocess.run(command, check=False).returncode


def main(words: Sequence[str]) -> int:
    """Run or write the matrix as the command line says; return the exit code, 1 if a cell differs."""
    parser = argparse.ArgumentParser(
        prog="python -m verification taint-matrix", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--part", default="1/1", metavar="K/N", help="run part K of N equal parts (default: 1/1)")
    parser.add_argument("--all", action="store_true", help="run the cells with two taints or two tolerations as well")
    parser.add_argument("--out", type=Path, default=Path("dra-report/taint-matrix"), help="folder for the report")
    parser.add_argument("--write", action="store_true", help="write the feature of the pairwise cover, and run nothing")
    options = parser.parse_args(words)
    if options.write:
        FEATURE.write_text(feature.feature(cover.cover()), encoding="utf-8")
        return 0
    found = list(reference.differences(cells.cells()))
    for text in found[:_SHOWN]:
        print(text)
    print(f"taint-matrix: {len(found)} combinations differ", flush=True)
    failed = run(options.part, options.out, every=options.all)
    return 1 if found or failed else 0
