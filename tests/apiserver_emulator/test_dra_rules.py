"""resource.k8s.io writes get the answers that kube-apiserver 1.36.2 gave: same causes, same texts, same stored object.

The cases are in `dra_cases.py`. `data/dra_answers.json` holds, per case, the full messages and the object
after defaulting and field dropping, as the validation packages of k8s.io/kubernetes v1.36.2 produced them.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from dra_harness import Answer, write

from verification.fidelity.dra_cases import ALL_ON, CASES, REASONS, Case, Obj

ANSWERS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "data/dra_answers.json").read_text())[
    "answers"
]
# Shown values that are Go structs of the API server's internal types: only the text after them is compared.
_STRUCT = "Invalid value: {"


def answer(case: Case) -> Answer:
    return write(
        case.obj,
        op=case.op,
        old=case.old,
        gates={**ALL_ON, **case.gates},
        namespace_labels=case.labels,
    )


def by_detail(field: str, message: str) -> tuple[str, str]:
    if message.startswith(_STRUCT) and message.endswith("field is immutable"):
        return field, "field is immutable"
    return field, message


def test_case_names_are_unique() -> None:
    assert [name for name, count in Counter(case.id for case in CASES).items() if count > 1] == []
    assert {case.id for case in CASES} == ANSWERS.keys()


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_causes(case: Case) -> None:
    found = answer(case)
    expected = Counter((REASONS[letter], field) for letter, field in case.causes)
    assert Counter((error.reason, error.field) for error in found.errors) == expected


@pytest.mark.parametrize("case", [case for case in CASES if case.causes], ids=[c.id for c in CASES if c.causes])
def test_messages(case: Case) -> None:
    found = answer(case)
    expected = [by_detail(cause["field"], cause["message"]) for cause in ANSWERS[case.id]["causes"]]
    assert sorted(by_detail(error.field, error.body) for error in found.errors) == sorted(expected)


def essence(value: Any) -> Any:
    if isinstance(value, dict):
        found = {name: essence(sub) for name, sub in value.items()}
        return {name: sub for name, sub in found.items() if sub not in ({}, [], None)}
    if isinstance(value, list):
        return [essence(sub) for sub in value]
    return value


@pytest.mark.parametrize("case", [c for c in CASES if not c.causes], ids=[c.id for c in CASES if not c.causes])
def test_accepted_objects_are_stored_as_upstream_stores_them(case: Case) -> None:
    found = answer(case)
    assert found.errors == []
    shown = copy.deepcopy(ANSWERS[case.id]["object"])
    stored: Obj = copy.deepcopy(found.shown)
    for obj in (shown, stored):
        obj["metadata"] = {name: obj["metadata"].get(name) for name in ("name", "generation", "labels")}
    assert essence(stored) == essence(shown)
    assert found.warnings == ANSWERS[case.id].get("warnings", [])
