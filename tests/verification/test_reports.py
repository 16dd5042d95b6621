"""The published verdicts of third-party programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from dra_conformance.core.rules import Catalogue, Rule
from dra_conformance.core.status import Status, Verdict
from verification import reports, results
from verification.third_party.catalogue import Breaks, ThirdParty, load

_FIELDS = ["program", "version", "release", "profiles", "options", "verdict", "rules", "failed", "date", "commit"]


def _program(*options: str, breaks: tuple[str, ...] = ()) -> ThirdParty:
    broken = tuple(Breaks(rule=rule, reason=f"reason of {rule}") for rule in breaks)
    return ThirdParty(name="a, gates on", version="v1.2.3", program="a", options=options, breaks=broken)


def _row(*broken: str, version: str = "v1.2.3") -> results.Row:
    return results.Row(
        name="a, gates on",
        summary="",
        seconds=1,
        date="2026-11-26",
        commit="abc",
        exit_code=0,
        version=version,
        statuses={"passed": 5},
        broken=dict.fromkeys(broken, "failed"),
    )


def _report(row: results.Row, program: ThirdParty) -> dict[str, Any]:
    found = reports.files([row], [program])
    report = yaml.safe_load(found["v1.36/a-gates-on-v1.2.3.yaml"])
    assert isinstance(report, dict)
    return report


_OLD = ("--kubernetes-version", "1.36")


def test_a_program_is_published_with_its_failed_rules_and_reasons() -> None:
    report = _report(_row("DRA-126"), _program(*_OLD, "--profile", "api", breaks=("DRA-126",)))
    assert report["profiles"] == ["api"]
    assert report["failed"] == [{"rule": "DRA-126", "level": "MUST", "status": "failed", "reason": "reason of DRA-126"}]
    assert report["repeat"][-1] == "python -m verification verify 'a, gates on'"


@pytest.mark.parametrize(
    ("options", "breaks", "verdict"),
    [
        ((), (), "conformant"),
        ((), ("DRA-128b",), "conformant"),  # a SHOULD rule
        (("--skip", "faults"), (), "partial"),
        ((), ("DRA-126",), "not-conformant"),
        ((), ("DRA-0",), "not-conformant"),  # of unknown level
    ],
)
def test_the_verdict_is_that_of_the_must_rules(options: tuple[str, ...], breaks: tuple[str, ...], verdict: str) -> None:
    assert _report(_row(*breaks), _program(*_OLD, *options, breaks=breaks))["verdict"] == verdict


def test_a_rule_that_is_newer_than_the_run_is_named_and_counts() -> None:
    row = msgspec.structs.replace(_row(), judged=["DRA-1"])
    program = _program(*_OLD, breaks=("DRA-126",))
    report = _report(row, program)
    assert report["verdict"] == "not-conformant"
    assert report["failed"] == []
    assert [one["rule"] for one in report["newer"]] == ["DRA-126"]
    had = msgspec.structs.replace(_row(), judged=["DRA-126"])  # and kept it
    assert "does not fit" in reports.files([had], [program])[reports.INDEX]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "no run is stored"),
        ([_row()], "the stored run does not fit the description"),
        ([_row("DRA-126", "DRA-127")], "the stored run does not fit the description"),
        ([_row("DRA-126", version="v1.2.2")], "the stored run is of v1.2.2, the description of v1.2.3"),
    ],
)
def test_a_run_that_is_not_as_described_is_not_published(rows: list[results.Row], reason: str) -> None:
    found = reports.files(rows, [_program(breaks=("DRA-126",))])
    assert list(found) == [reports.INDEX]
    assert found[reports.INDEX].endswith(f"\n| a, gates on | {reason} |\n")


@pytest.mark.parametrize("broken", [(), ("DRA-126",)])
def test_a_rule_that_a_program_breaks_by_chance_is_published_with_either_result(broken: tuple[str, ...]) -> None:
    race = Breaks(rule="DRA-126", reason="a race", by_chance=True)
    program = msgspec.structs.replace(_program(*_OLD), breaks=(race,))
    report = _report(_row(*broken), program)
    assert [row["rule"] for row in report["failed"]] == [*broken]
    assert report["by_chance"] == [{"rule": "DRA-126", "level": "MUST", "reason": "a race"}]
    assert report["verdict"] == "not-conformant", "the verdict does not depend on chance"


def test_writing_replaces_the_folder(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text("")
    assert reports.differences([_row()], [_program()], folder=tmp_path) == [
        "README.md",
        "old.yaml",
        "v1.37/a-gates-on-v1.2.3.yaml",
    ]
    reports.write([_row()], [_program()], folder=tmp_path)
    assert not (tmp_path / "old.yaml").exists()
    assert reports.differences([_row()], [_program()], folder=tmp_path) == []


def test_the_published_files_are_those_of_the_stored_results() -> None:
    assert reports.differences(results.stored(), load()) == []


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Rule]:
    return Catalogue.load()


_PUBLISHED = sorted(reports.FOLDER.rglob("*.yaml"))


@pytest.mark.parametrize("path", _PUBLISHED, ids=lambda path: path.stem)
def test_every_published_file_has_the_format(path: Path, rules: Mapping[str, Rule]) -> None:
    report = yaml.safe_load(path.read_text())
    (program,) = (one for one in load() if one.name == report["program"])
    by_chance = {one.rule for one in program.breaks if one.by_chance}
    fields = [name for name in report if name != "by_chance"]
    assert fields == [*_FIELDS, "repeat"]
    assert {row["rule"] for row in report.get("by_chance", ())} == by_chance
    assert path.parent.name == f"v{report['release']}"
    assert report["version"] == program.version
    assert report["verdict"] in {Verdict.CONFORMANT, Verdict.PARTIAL, Verdict.NOT_CONFORMANT}
    assert report["rules"].keys() <= {str(status) for status in Status}
    failed = {row["rule"]: row["status"] for row in report["failed"]}
    assert failed == {
        rule: one.status for rule, one in program.broken_rules.items() if rule in failed or not one.by_chance
    }, "CI compares with the description"
    assert all(row["reason"] and row["level"] == rules[row["rule"]].level for row in report["failed"])
    assert not report["commit"].endswith("-dirty")


def test_no_two_programs_share_a_file() -> None:
    paths = [reports.path_of(one) for one in load() if one.verified_by == "suite"]
    assert len(set(paths)) == len(paths)
