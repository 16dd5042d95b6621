"""The published verdicts of third-party programs: `reports/v<release>/<program>-<version>.yaml`, and their index.

They are written from the results that `verify --write` stores and from the descriptions in
`third_party/expected/*.yaml`, which have the reasons. `python -m verification reports` writes them again. A program is
published if the rules that its stored run broke are those that its description expects, besides rules that are newer
than the run; CI compares the programs that it runs with the same descriptions, so it verifies the published verdicts.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from dra_api.releases import DEFAULT_RELEASE
from dra_conformance.core.rules import Catalogue, Rule
from verification import results
from verification.third_party.catalogue import ThirdParty

FOLDER = Path(__file__).resolve().parents[1] / "reports"
INDEX = "README.md"
_OTHER_NAME = re.compile(r"[^a-z0-9.]+")
_SELECTS = frozenset({"--focus", "--skip", "--rule"})
_HEAD = "# Written by `python -m verification verify --write`; do not edit. README.md describes the fields.\n"
_ABOUT = """# Published verdicts of third-party programs

<!-- Written by `python -m verification verify --write` from verification/results.json; do not edit. -->

One file for each program, version and configuration that the suite has judged, by the Kubernetes release of the run.
Each program is pinned, built from source and unmodified.
[Third-party results](../docs/explanation/third-party-results.md) discusses the findings.

| Field | Content |
|---|---|
| `program`, `version`, `release` | what was judged, and the rules of which Kubernetes release |
| `profiles`, `options` | options of `dra-conformance run`; `{bin}` is the folder of built programs |
| `verdict` | not-conformant: `failed` has a MUST rule; partial: it has none, but scenarios are left out; conformant |
| `rules` | number of judged rules by status |
| `failed` | the rules that the program does not pass, each with its level, status and reason |
| `by_chance` | rules whose result depends on a race in the program: `verdict` counts them as failed |
| `newer` | rules that the program is known to fail and that are newer than this run: `verdict` counts them as failed |
| `date`, `commit` | when the run ended, and the commit of this repository that it judged with |
| `repeat` | commands that build the program, run the suite and compare the rules with `failed` |

CI runs the programs marked *all* completely and those marked *part* with a part of their scenarios
(`python -m verification verify --ci`). Any difference from `failed`, better or worse, fails CI.

Runs before 2026-11-27 stored a summary. Their counts are from it, and their failed rules are those that the description
of the program at that commit expected, since any other would have made the run fail.

| Program | Version | Release | Verdict | Passed | Failed | Date | Commit | CI |
|---|---|---|---|---:|---:|---|---|---|
"""
_UNPUBLISHED = """
Not published:

| Program | Reason |
|---|---|
"""


def files(
    rows: Iterable[results.Row], programs: Iterable[ThirdParty], *, rules: Mapping[str, Rule] | None = None
) -> dict[str, str]:
    """Return the content of the folder by path in it.

    Args:
        rows: the stored results.
        programs: the descriptions of all programs.
        rules: the rules by id, for their levels; by default those of the catalogue.
    """
    # A description of another release of the suite may have a rule that no longer exists.
    levels = {rule.id: str(rule.level) for rule in (Catalogue.load() if rules is None else rules).values()}
    stored = {row.name: row for row in rows}
    found: dict[str, str] = {}
    lines: list[str] = []
    unpublished: list[str] = []
    for program in sorted(programs, key=lambda one: one.name):
        # Runs on existing clusters verify the suite; the verdicts about the programs are those of their own runs.
        if program.verified_by != "suite" or program.cluster:
            continue
        row = stored.get(program.name)
        reason = "no run is stored" if row is None else _why_not(row, program)
        if row is None or reason:
            unpublished.append(f"| {program.name} | {reason} |\n")
            continue
        path = path_of(program)
        found[path] = _HEAD + yaml.safe_dump(_report(row, program, levels), sort_keys=False, width=120)
        lines.append(_line(row, program, path, levels))
    found[INDEX] = "".join((_ABOUT, *lines, *([_UNPUBLISHED, *unpublished] if unpublished else [])))
    return found


def write(rows: Iterable[results.Row], programs: Iterable[ThirdParty], *, folder: Path = FOLDER) -> None:
    """Replace the files of the folder."""
    wanted = files(rows, programs)
    for path in _existing(folder) - wanted.keys():
        (folder / path).unlink()
    for path, text in wanted.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def differences(rows: Iterable[results.Row], programs: Iterable[ThirdParty], *, folder: Path = FOLDER) -> list[str]:
    """Return the paths of files that `write` would change."""
    wanted = files(rows, programs)
    existing = _existing(folder)
    return sorted(
        path
        for path in existing | wanted.keys()
        if path not in wanted or path not in existing or (folder / path).read_text() != wanted[path]
    )


def _existing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def _why_not(row: results.Row, program: ThirdParty) -> str:
    """Return why a stored run is not published; empty if it is.

    It must have judged this version, and have broken what the description expects: any other run is a failed check.
    """
    if row.version and row.version != program.version:
        return f"the stored run is of {row.version}, the description of {program.version}"
    newer = _newer(row, program)
    expected = {
        rule: one.status
        for rule, one in program.broken_rules.items()
        if rule in row.broken or not (one.by_chance or rule in newer)
    }
    return "" if row.statuses and row.broken == expected else "the stored run does not fit the description"


def _newer(row: results.Row, program: ThirdParty) -> list[str]:
    """Return the rules that the description expects to be broken and that the stored run did not have."""
    return sorted(program.broken_rules.keys() - set(row.judged)) if row.judged else []


def path_of(program: ThirdParty) -> str:
    """Return the path of a program's file in the folder."""
    name = _OTHER_NAME.sub("-", program.name.lower())
    return f"v{_release(program)}/{name}{'' if name.endswith(program.version) else f'-{program.version}'}.yaml"


def _release(program: ThirdParty) -> str:
    return next(iter(_values(program, "--kubernetes-version")), DEFAULT_RELEASE)


def _values(program: ThirdParty, option: str) -> list[str]:
    return [value for name, value in itertools.pairwise(program.options) if name == option]


def _verdict(row: results.Row, program: ThirdParty, levels: Mapping[str, str]) -> str:
    # A rule that the program breaks by chance counts as broken, or the verdict would be chance.
    by_chance = (one.rule for one in program.broken_by_chance)
    if any(levels.get(rule, "MUST") == "MUST" for rule in (*row.broken, *_newer(row, program), *by_chance)):
        return "not-conformant"
    return "partial" if _SELECTS & set(program.options) else "conformant"


def _report(row: results.Row, program: ThirdParty, levels: Mapping[str, str]) -> dict[str, object]:
    by_chance = [
        {"rule": one.rule, "level": levels.get(one.rule, ""), "reason": one.reason} for one in program.broken_by_chance
    ]
    newer = _newer(row, program)
    return {
        "program": program.name,
        "version": program.version,
        "release": _release(program),
        "profiles": _values(program, "--profile"),
        "options": list(program.options),
        "verdict": _verdict(row, program, levels),
        "rules": dict(sorted(row.statuses.items())),
        "failed": [_failed(rule, program, levels) for rule in sorted(row.broken)],
        **({"by_chance": by_chance} if by_chance else {}),
        **({"newer": [_failed(rule, program, levels) for rule in newer]} if newer else {}),
        "date": row.date,
        "commit": row.commit,
        "repeat": [
            "make third-party-all",
            shlex.join(["python", "-m", "verification", "verify", program.name]),
        ],
    }


def _failed(rule: str, program: ThirdParty, levels: Mapping[str, str]) -> dict[str, object]:
    expected = program.broken_rules[rule]
    return {"rule": rule, "level": levels.get(rule, ""), "status": expected.status, "reason": expected.reason}


def _line(row: results.Row, program: ThirdParty, path: str, levels: Mapping[str, str]) -> str:
    ci = program.ci if isinstance(program.ci, str) else "part"
    cells = (
        f"[{program.name}]({path})",
        program.version,
        _release(program),
        _verdict(row, program, levels),
        str(row.statuses.get("passed", 0)),
        str(len(row.broken)),
        row.date,
        f"`{row.commit}`",
        "–" if ci == "none" else ci,
    )
    return f"| {' | '.join(cells)} |\n"


def report_differences(programs: Iterable[ThirdParty]) -> int:
    """Print the published files that are not those of the stored results; return the exit code."""
    changed = differences(results.stored(), programs)
    for path in changed:
        print(f"reports/{path} is not that of the stored results: run `python -m verification reports`")
    return int(bool(changed))
