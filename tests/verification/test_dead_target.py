"""Tests of the dead-target test: it finds a rule that passes, and covers every component that can be replaced."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

import pytest

from dra_conformance.core import assets, features
from dra_conformance.core.features import Scenario
from dra_conformance.core.rules.catalogue import COMPONENTS
from dra_conformance.core.status import Status
from verification.dead_target.judge import judge
from verification.dead_target.targets import TARGETS, DeadTarget

R = TypeVar("R")


def scenario(name: str) -> list[Scenario]:
    """The scenario with this id."""
    return [one for one in features.read_all([assets.features()]) if one.id == name]


def in_fresh_process(function: Callable[..., R], *arguments: object) -> R:
    """Call a function of this module in a new interpreter.

    A trial forks its process, so it must not have the modules and pytest state of the tests that ran before.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


DELETED = scenario("bind_requests/binder#a-bindrequest-that-is-being-deleted-is-not-processed")


def test_every_component_that_can_be_replaced_has_a_dead_target() -> None:
    assert {one.component for one in TARGETS} == set(COMPONENTS) - {"control-plane", "nvml"}


def judge_dead() -> tuple[dict[str, str], list[str]]:
    """Return the statuses of rules, and the problems, of the dead binder."""
    dead = next(one for one in TARGETS if one.name == "binder")
    (judged,) = judge([dead], jobs=1, scenarios=DELETED)
    return {rule.id: str(rule.status) for rule in judged.rules}, judged.problems()


def judge_alive(met: tuple[str, ...]) -> tuple[list[str], int]:
    """Return the problems and the number of passed rules of a binder that acts; it may pass the rules `met`."""
    alive = DeadTarget("alive", "binder", "acts", lambda patch: None, frozenset(met))
    (judged,) = judge([alive], jobs=1, scenarios=DELETED)
    return judged.problems(), judged.count(Status.PASSED)


def judge_partly() -> list[str]:
    """Return the problems of a dead binder that is said to meet KAI-100."""
    dead = next(one for one in TARGETS if one.name == "binder")
    partly = DeadTarget("partly", "binder", "does little", dead.apply, frozenset({"KAI-100"}))
    (judged,) = judge([partly], jobs=1, scenarios=DELETED)
    return judged.problems()


def test_a_dead_binder_passes_no_rule() -> None:
    statuses, problems = in_fresh_process(judge_dead)
    assert statuses == {"KAI-100": "failed", "KAI-135": "untestable"}
    assert not problems


@pytest.mark.parametrize(("met", "found"), [((), ["KAI-100", "KAI-135"]), (("KAI-100", "KAI-135"), [])])
def test_a_binder_that_acts_is_reported(met: tuple[str, ...], found: list[str]) -> None:
    problems, passed = in_fresh_process(judge_alive, met)
    assert [line.split()[1] for line in problems] == found
    assert passed == 2


def test_a_rule_that_the_target_no_longer_meets_is_reported() -> None:
    assert in_fresh_process(judge_partly) == ["partly: KAI-100 failed, but is listed as met by this target"]
