"""The fidelity report: probes are well formed, differences are found, known ones are matched, tables hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from verification.fidelity import command, known, masks, targets
from verification.fidelity.compare import Difference, differences
from verification.fidelity.known import Known
from verification.fidelity.probe import Probe
from verification.fidelity.prober import Prober
from verification.fidelity.probes import all_probes
from verification.fidelity.report import page

_ROW = Difference("a/b", "GET /x", "0.body.items[0].name", "x", "y")


def test_there_are_at_least_300_probes_with_slugs_that_are_dns_labels() -> None:
    probes = all_probes()
    assert len(probes) >= 300
    assert all(len(probe.slug) <= 63 and probe.slug == probe.slug.lower() for probe in probes)


def test_values_that_always_differ_are_masked() -> None:
    found = masks.value(
        {"uid": "0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11", "resourceVersion": "17", "time": "2026-01-02T03:04:05Z"}
    )
    assert found == {"uid": "UID", "resourceVersion": "RV", "time": "TIME"}


def test_a_difference_is_named_by_its_path() -> None:
    ours = [{"request": "GET /x", "code": 200, "body": {"items": [{"name": "x"}]}}]
    theirs = [{"request": "GET /x", "code": 200, "body": {"items": [{"name": "y"}]}}]
    assert differences("a/b", ours, theirs) == [_ROW]
    assert differences("a/b", ours, ours) == []


def test_known_differences_are_matched_by_probe_and_path() -> None:
    row = Known("k", ("a/*",), "0.body.items[0].*", "because")
    assert row.covers(_ROW)
    assert not Known("k", ("b/*",), "*", "because").covers(_ROW)


def test_rows_without_a_difference_are_stale_except_those_of_chance() -> None:
    rows = [
        Known("seen", ("a/*",), "*", "so"),
        Known("gone", ("c/*",), "*", "so"),
        Known("race", ("d/*",), "*", "so", chance=True),
    ]
    assert known.stale(rows, [_ROW]) == ["gone"]


def test_every_known_difference_has_a_reason_and_matches_a_probe() -> None:
    names = [probe.id for probe in all_probes()]
    for row in known.load():
        shown = Difference
        assert any(row.covers(shown(name, "", row.where.replace("*", "0"), None, None)) for name in names), row.id


def test_no_known_difference_is_visible_to_a_component() -> None:
    rows = known.load()
    assert [row.id for row in rows if row.visible] == []
    for row in rows:
        touched = Difference(row.probes[0], "", "0.code", 200, 404)
        if row.covers(touched):  # programs act on codes, so such a row gives the reason why none is affected
            assert row.unaffected, row.id


@pytest.mark.parametrize(
    ("why", "where", "seen"),
    [
        (None, "0.status.message", True),
        (Known("k", ("a/b",), "*", "because", visible=True), "0.status.message", True),
        (Known("k", ("a/b",), "*", "because", visible=False), "0.status.message", False),
        (Known("k", ("a/b",), "*", "because", visible=False), "0.code", True),
        (Known("k", ("a/b",), "*", "because", visible=False), "0.status.reason", True),
        (Known("k", ("a/b",), "*", "because", visible=False, unaffected="only people"), "0.code", False),
    ],
)
def test_visible_differences_are_counted(why: Known | None, where: str, seen: bool) -> None:
    row = Difference("a/b", "GET /x", where, "x", "y")
    assert known.is_visible(row, why) is seen
    text = page([Probe("a/b", ())], [(row, why)], version="v1.36.2", gates={"Gate": True})
    assert f"**{'1' if seen else 'none'} can be observed by a driver" in text


def test_a_row_without_visible_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "known.yaml"
    path.write_text("- {id: x, probes: ['*'], where: '*', reason: so}\n")
    with pytest.raises(ValueError, match="x: add visible: true or false"):
        known.load(path)


def test_a_row_without_reason_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "known.yaml"
    path.write_text("- {id: x, probes: ['*'], where: '*'}\n")
    with pytest.raises(ValueError, match="no reason for x"):
        known.load(path)


def test_the_page_has_a_row_for_each_difference() -> None:
    text = page([Probe("a/b", ())], [(_ROW, None)], version="v1.36.2", gates={"Gate": True})
    assert "**1 probes, 0 equal, 1 differ.**" in text
    assert "| `a/b` | `0.body.items[0].name` | x | y | **not explained** |" in text


def test_missing_programs_are_reported_on_one_line(tmp_path: Path) -> None:
    reported: list[str] = []

    def absent(reason: str) -> int:
        reported.append(reason)
        return 7

    assert command.main([], bin_dir=tmp_path, absent=absent) == 7
    assert len(reported) == 1
    assert "kube-apiserver" in reported[0]


def test_the_emulator_gives_the_same_responses_in_two_runs(tmp_path: Path) -> None:
    some = [probe for probe in all_probes() if probe.id.startswith(("verbs/claim", "apply/", "versions/"))]
    answers = []
    for turn in ("one", "two"):
        with targets.embedded(tmp_path / turn) as target:
            answers.append(Prober(target).run_all(some, workers=1))
    assert answers[0] == answers[1]
