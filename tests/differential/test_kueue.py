"""The comparison with Kueue's charge of quota; with the program itself if `dra-kueue-quota` is built."""

from __future__ import annotations

from typing import Any, cast

import pytest

from dra_api.objects import Obj
from verification.differential import kueue
from verification.differential.rng import Dice
from verification.differential.upstream import Upstream


class Program:
    """Answers as the checker does, apart from a change."""

    def __init__(self, change: Obj, *, only_lists: bool = False) -> None:
        self.change = change
        self.only_lists = only_lists

    def call(self, case: Obj) -> Obj:
        lists = [
            value
            for one in case["slices"]
            for device in one["spec"].get("devices") or ()
            for value in (device.get("attributes") or {}).values()
            if any(key.endswith("s") for key in value)
        ]
        return {**kueue.answer_of(case), **({} if self.only_lists and not lists else self.change)}


def compared(program: Any, count: int = 40) -> kueue.Result:
    return kueue.compare(cast(Upstream, program), range(count), "seed")


def test_equal_answers_are_no_difference_and_others_are() -> None:
    same = compared(Program({}))
    assert not same.differences
    assert sum(same.outcomes.values()) == 40
    assert {"charged", "refused"} <= same.outcomes.keys()
    assert len(compared(Program({"charges": {"quota/0": "-1"}})).differences) == 40


def test_list_attributes_explain_a_difference() -> None:
    result = compared(Program({"outcome": "refused", "message": "unsupported attribute value"}, only_lists=True), 200)
    assert not result.differences
    assert list(+result.explained) == ["its CEL fails for a device with a list attribute"]


def test_cases_are_repeatable() -> None:
    assert kueue.case_of(Dice("a")) == kueue.case_of(Dice("a"))


@pytest.mark.skipif(not kueue.PROGRAM.exists(), reason="dra-kueue-quota is not built (make third-party-all)")
def test_the_program_agrees() -> None:
    with Upstream(kueue.PROGRAM) as program:
        assert not kueue.compare(program, range(500), "unit").differences
