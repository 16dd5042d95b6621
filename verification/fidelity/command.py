"""`python -m verification fidelity [--write]`: run every probe at both targets and judge the differences."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import orjson

from dra_conformance.core.errors import TargetUnreachable
from verification.fidelity import known, targets
from verification.fidelity.compare import Difference, differences
from verification.fidelity.probe import Probe
from verification.fidelity.prober import Prober, Record
from verification.fidelity.probes import all_probes
from verification.fidelity.report import page, short

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "fidelity.md"
_REPEATS = 3
"""How often probes with an unexplained difference run again, until there is none. A real difference stays."""
USAGE = "usage: python -m verification fidelity [--write] [--only PATTERN] [--answers FILE]"


def main(words: Sequence[str], *, bin_dir: Path, absent: Callable[[str], int]) -> int:
    """Run the command and return its exit code. `absent` reports on one line that the real programs are missing."""
    options = list(words)
    write = "--write" in options
    if write:
        options.remove("--write")
    given = dict(zip(options[::2], options[1::2], strict=False))
    if len(options) % 2 or given.keys() - {"--only", "--answers"}:
        print(USAGE)
        return 4
    if not (bin_dir / "kube-apiserver").exists():
        return absent(
            f"there is no kube-apiserver in {bin_dir.name}/, so nothing is compared with a real control plane"
        )
    only = given.get("--only", "")
    probes = [probe for probe in all_probes() if not only or fnmatchcase(probe.id, only)]
    try:
        answers, version = _run_twice_if_unreachable(probes, bin_dir)
    except TargetUnreachable as error:
        return absent(f"the real control plane does not start: {error}")
    if path := given.get("--answers"):
        Path(path).write_bytes(orjson.dumps(answers, option=orjson.OPT_INDENT_2))
    ours, theirs = answers["embedded"], answers["real"]
    found = [row for probe in probes for row in differences(probe.id, ours[probe.id], theirs[probe.id])]
    # A difference that does not appear again comes from the load of the machine.
    rows = known.load()
    for _ in range(_REPEATS):
        unexplained = {row.probe for row in found if known.explain(row, rows) is None}
        if not unexplained:
            break
        found = _repeat([probe for probe in probes if probe.id in unexplained], found, bin_dir)
    # Some probes alone cannot fill the page, and do not show every known difference.
    return _judge(probes, found, version=version, write=write and not only, whole=not only)


def _run_twice_if_unreachable(probes: Sequence[Probe], bin_dir: Path) -> tuple[dict[str, dict[str, Record]], str]:
    """As `_run`; a busy machine may need longer than the time limit to start kube-apiserver once."""
    try:
        return _run(probes, bin_dir)
    except TargetUnreachable as error:
        print(f"  once more: {error}")
        return _run(probes, bin_dir)


def _run(probes: Sequence[Probe], bin_dir: Path) -> tuple[dict[str, dict[str, Record]], str]:
    """Run probes at both targets, one after the other; return the responses and the release of the real one."""
    with tempfile.TemporaryDirectory(prefix="dra-fidelity-") as folder:
        # One control plane at a time: two at once would make each other miss deadlines.
        with targets.embedded(Path(folder)) as target:
            ours = Prober(target).run_all(probes)
        with targets.real(Path(folder), bin_dir) as target:
            theirs = Prober(target).run_all(probes)
            return {"embedded": ours, "real": theirs}, target.version


def _repeat(probes: Sequence[Probe], found: list[Difference], bin_dir: Path) -> list[Difference]:
    """Run some probes again on new control planes; return all differences. A busy machine may serve a CRD late."""
    answers, _ = _run_twice_if_unreachable(probes, bin_dir)
    names = {probe.id for probe in probes}
    again = [
        row for each in probes for row in differences(each.id, answers["embedded"][each.id], answers["real"][each.id])
    ]
    unstable = [
        row
        for row in found
        if row.probe in names and (row.probe, row.where) not in {(other.probe, other.where) for other in again}
    ]
    for row in unstable:
        print(f"  unstable: {row.probe} {row.where}: {short(row.real)} in the first run only")
    return [row for row in found if row.probe not in names] + again


def _judge(probes: Sequence[Probe], found: list[Difference], *, version: str, write: bool, whole: bool) -> int:
    rows = known.load()
    explained = [(row, known.explain(row, rows)) for row in found]
    text = page(probes, explained, version=version, gates=targets.GATES)
    if write:
        PAGE.write_text(text)
    new = [row for row, reason in explained if reason is None]
    for row in new:
        print(f"  {row.probe} {row.where} ({row.request})")
        print(f"    embedded: {short(row.embedded)}\n    real:     {short(row.real)}")
    stale = known.stale(rows, found) if whole else []
    for name in stale:
        print(f"  stale: {name} in known.yaml explains no difference; remove it")
    differing = {row.probe for row in found}
    seen = sorted({row.probe for row, reason in explained if known.is_visible(row, reason)})
    for name in seen:
        print(f"  visible: {name} differs in a way that a driver, scheduler or controller can observe")
    print(
        f"fidelity: {len(probes)} probes at embedded and {version}: {len(probes) - len(differing)} equal, "
        f"{len(differing)} differ, {len({row.probe for row in new})} of them unexplained, {len(seen)} of them visible"
    )
    return 1 if new or stale or seen else 0
