"""The matrix of device taints: its cover, its judge, and the feature that is written from them."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest

from verification.explore import MATRIX_PARTS
from verification.taint_matrix import command, feature, reference
from verification.taint_matrix.cells import DIMENSIONS, EXTENDED, GROUP, GROUPS, SINGLE, Cell, cells, is_possible
from verification.taint_matrix.cover import cover, pairs_of, possible_pairs
from verification.taint_matrix.judge import Verdict, evicted_after, judge

PLAIN = Cell(
    source="slice",
    effect="NoExecute",
    value="bad",
    since="now",
    users="1",
    operator="Exists",
    key="health",
    tolerated_value="",
    tolerated_effect="NoExecute",
    seconds=None,
    beside="",
    other="",
)


def test_every_possible_pair_occurs_in_the_cover() -> None:
    chosen = cover()
    assert not set(possible_pairs(DIMENSIONS)) - set().union(*map(pairs_of, chosen))
    single = [cell for cell in chosen if not cell.beside and not cell.other]
    assert not set(possible_pairs({**DIMENSIONS, **SINGLE})) - set().union(*map(pairs_of, single))
    assert len(chosen) == len(set(chosen)) <= 200


def test_every_pair_of_the_cells_of_pod_groups_occurs_with_each_outcome() -> None:
    chosen = [cell for cell in cover() if cell.users == GROUP]
    assert not set(possible_pairs(GROUPS)) - set().union(*map(pairs_of, chosen))
    verdicts = [judge(cell) for cell in chosen]
    assert {"wait", "run", "evicted after 30 s"} <= {one.new.partition(" [")[0] for one in verdicts}
    assert {"evicted", "run", "evicted after 30 s"} <= {one.running.partition(" [")[0] for one in verdicts}


def test_the_scenario_of_pod_groups_runs_with_the_gates_of_the_suite() -> None:
    (group,) = (one for one in feature.GROUPS if one.has(replace(PLAIN, users=GROUP)))
    needed = {tag.partition(":")[2] for tag in group.tags.split() if tag.startswith("@gate:")}
    makefile = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")
    on = re.search(r"^GATES_ON := ((?:.*\\\n)*.*)", makefile, flags=re.MULTILINE)
    assert on is not None
    # DRADeviceTaintRules is on by default.
    assert needed - {"DRADeviceTaintRules"} == {"DRAWorkloadResourceClaims"}
    assert {"DRAWorkloadResourceClaims", "GenericWorkload"} <= set(on[1].replace("\\", " ").split())


def test_the_feature_is_that_of_the_cover() -> None:
    written = feature.feature(cover())
    assert command.FEATURE.read_text(encoding="utf-8") == written, "run: python -m verification taint-matrix --write"


def test_each_cell_belongs_to_one_scenario() -> None:
    for cell in itertools.islice(cells(), 0, None, 97):
        assert sum(group.has(cell) for group in feature.GROUPS) == 1


def test_parts_of_all_cells_have_two_taints_and_pod_groups_too() -> None:
    part = command.cells_of_part(f"5/{MATRIX_PARTS}", every=True)
    assert len(part) > 1000
    assert {cell.beside for cell in part} == set(DIMENSIONS["beside"])
    assert {cell.other for cell in part} == set(DIMENSIONS["other"])
    assert "PodGroup" in {cell.users for cell in part}


def test_parts_have_all_cells_once() -> None:
    parts = [command.cells_of_part(f"{number}/3") for number in (1, 2, 3)]
    assert sorted(map(str, itertools.chain(*parts))) == sorted(map(str, cells(only=SINGLE)))
    with pytest.raises(ValueError, match="not a part"):
        command.cells_of_part("4/3")


def test_what_the_api_refuses_is_no_cell() -> None:
    assert not is_possible({"operator": "Exists", "tolerated_value": "bad"})
    assert not is_possible({"users": EXTENDED, "operator": "Exists"})
    assert is_possible({"users": EXTENDED})


@pytest.mark.parametrize(
    ("changes", "new", "running"),
    [
        ({}, "run", "run"),
        ({"operator": "no toleration"}, "wait", "evicted"),
        ({"effect": "NoSchedule"}, "wait", "run"),
        ({"effect": "None", "operator": "no toleration"}, "run", "run"),
        ({"seconds": 30}, "evicted after 30 s", "evicted after 30 s"),
        ({"seconds": 30, "since": "2020"}, "evicted", "evicted"),
        ({"seconds": -5}, "evicted", "evicted"),
        ({"seconds": 3600}, "run", "run"),
        ({"tolerated_effect": ""}, "run or evicted", "run or evicted"),
        ({"tolerated_effect": "NoSchedule"}, "wait", "evicted"),
        ({"operator": "Equal", "tolerated_value": "fair"}, "wait", "evicted"),
        ({"operator": "Equal", "key": "", "tolerated_value": "bad"}, "run", "run"),
        ({"beside": "lease=bad:NoExecute"}, "wait", "evicted"),
        ({"beside": "lease=bad:NoExecute", "key": "", "seconds": 30, "since": "2020"}, "evicted", "evicted"),
        ({"source": "rule without selector", "operator": "no toleration"}, "run", "run"),
        ({"seconds": 30, "other": "{key: health, operator: Exists, effect: NoExecute}"}, "run", "run"),
    ],
)
def test_verdicts(changes: dict[str, object], new: str, running: str) -> None:
    verdict = judge(replace(PLAIN, **changes))  # type: ignore[arg-type]
    assert (verdict.new.partition(" [")[0], verdict.running.partition(" [")[0]) == (new, running)


def test_verdicts_name_their_rules() -> None:
    assert judge(PLAIN) == Verdict("run [DRA-217]", "run [DRA-222]")
    assert judge(replace(PLAIN, users=EXTENDED, operator="no toleration")).running == "evicted [DRA-214c]"


def test_the_reference_and_the_judge_agree_on_combinations() -> None:
    assert not list(reference.differences(itertools.islice(cells(), 0, None, 37)))


def test_a_difference_is_reported_with_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "evicts", lambda taint: False)
    (found,) = reference.differences([replace(PLAIN, seconds=30)])
    assert "slice" in found
    assert "expected 30, observed None" in found
    assert evicted_after(replace(PLAIN, seconds=30), effect_required=True) == 30
