"""Tests of the dead-target test: it finds a rule that passes, and covers every component that can be replaced."""

from __future__ import annotations

import pytest

from dra_conformance.core import assets, features
from dra_conformance.core.features import Scenario
from dra_conformance.core.rules.catalogue import COMPONENTS
from dra_conformance.core.status import Status
from verification.dead_target.judge import judge
from verification.dead_target.targets import TARGETS, DeadTarget


def scenario(name: str) -> list[Scenario]:
    """The scenario with this id."""
    return [one for one in features.read_all([assets.features()]) if one.id == name]


DELETED = scenario("bind_requests/binder#a-bindrequest-that-is-being-deleted-is-not-processed")


def test_every_component_that_can_be_replaced_has_a_dead_target() -> None:
    assert {one.component for one in TARGETS} == set(COMPONENTS) - {"control-plane", "nvml"}


def test_a_dead_binder_passes_no_rule() -> None:
    dead = next(one for one in TARGETS if one.name == "binder")
    (judged,) = judge([dead], jobs=1, scenarios=DELETED)
    assert {rule.id: rule.status for rule in judged.rules} == {"KAI-100": "failed", "KAI-135": "untestable"}
    assert not judged.problems()


@pytest.mark.parametrize(("met", "found"), [((), ["KAI-100", "KAI-135"]), (("KAI-100", "KAI-135"), [])])
def test_a_binder_that_acts_is_reported(met: tuple[str, ...], found: list[str]) -> None:
    alive = DeadTarget("alive", "binder", "acts", lambda patch: None, frozenset(met))
    (judged,) = judge([alive], jobs=1, scenarios=DELETED)
    assert [line.split()[1] for line in judged.problems()] == found
    assert judged.count(Status.PASSED) == 2


def test_a_rule_that_the_target_no_longer_meets_is_reported() -> None:
    dead = next(one for one in TARGETS if one.name == "binder")
    partly = DeadTarget("partly", "binder", "does little", dead.apply, frozenset({"KAI-100"}))
    (judged,) = judge([partly], jobs=1, scenarios=DELETED)
    assert judged.problems() == ["partly: KAI-100 failed, but is listed as met by this target"]
