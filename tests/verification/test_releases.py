"""The verdicts of one program in several releases."""

from __future__ import annotations

from pathlib import Path

from dra_conformance.core.rules import Catalogue
from verification import releases
from verification.jobs import Finished
from verification.third_party.catalogue import ThirdParty


def _program(name: str, version: str, compares: str = "kube-scheduler") -> ThirdParty:
    return ThirdParty(name=name, version=version, program=name, compares=compares)


_PROGRAMS = (_program("new", "v1.37.2"), _program("old", "v1.9.4"), _program("other", "v1.0.0", compares=""))


def _write(folder: Path, *ended: Finished, programs: tuple[ThirdParty, ...] = _PROGRAMS) -> str:
    store, page = folder / "verdicts.json", folder / "page.md"
    releases.write(ended, programs=programs, commit="abc", store=store, page=page)
    return page.read_text()


def _ended(name: str, **statuses: str) -> Finished:
    return Finished(name, "", 1.0, 0, {rule.replace("_", "-"): status for rule, status in statuses.items()})


def test_releases_are_columns_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    page = _write(tmp_path, _ended("new", DRA_126="passed"), _ended("old", DRA_126="failed"))
    assert "| Rule | Level | 1.9 | 1.37 |" in page
    assert "| DRA-126 | MUST | broken | kept |" in page


def test_a_rule_that_does_not_bind_a_release_has_no_verdict_there(tmp_path: Path) -> None:
    page = _write(tmp_path, _ended("new", DRA_126="failed"), _ended("old", DRA_126="not-supported", DRA_157b="passed"))
    assert "| DRA-126 | MUST | – | broken |" in page
    assert "| DRA-157b |" not in page


def test_each_release_has_its_counts(tmp_path: Path) -> None:
    page = _write(tmp_path, _ended("new", DRA_126="failed", DRA_157b="passed", DRA_128b="untestable"))
    assert "| 1.37.2 | 1 | 1 | 0 | 1 |" in page


def test_a_job_replaces_its_column_and_keeps_the_others(tmp_path: Path) -> None:
    _write(tmp_path, _ended("new", DRA_126="passed"), _ended("old", DRA_126="failed"))
    assert "| DRA-126 | MUST | broken | broken |" in _write(tmp_path, _ended("new", DRA_126="failed"))


def test_a_job_without_verdicts_replaces_nothing(tmp_path: Path) -> None:
    _write(tmp_path, _ended("new", DRA_126="failed"))
    assert "| DRA-126 | MUST | broken |" in _write(tmp_path, _ended("new"))


def test_verdicts_of_programs_that_are_not_compared_are_dropped(tmp_path: Path) -> None:
    _write(tmp_path, _ended("new", DRA_126="failed"))
    assert "DRA-126" not in _write(tmp_path, _ended("other", DRA_126="failed"), programs=_PROGRAMS[1:])


def test_the_page_is_the_stored_one() -> None:
    assert releases.PAGE.read_text() == releases.render(releases.stored(), rules=Catalogue.load())
