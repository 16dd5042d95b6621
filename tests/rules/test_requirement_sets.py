"""Frozen requirement sets: what changed in the catalogue since a set was frozen."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from dra_conformance.core import assets, documents
from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.rules import Catalogue, requirement_sets
from dra_conformance.core.rules.requirement_sets import Required, RequirementSet

CATALOGUE = Catalogue.load()


@pytest.mark.parametrize("release", requirement_sets.releases())
def test_the_catalogue_has_the_rules_of_a_frozen_set(release: str) -> None:
    frozen = requirement_sets.load(release)
    assert frozen is not None
    now = requirement_sets.current(CATALOGUE, release, date=frozen.frozen)
    changed = "\n".join(requirement_sets.differences(frozen, now))
    assert not changed, (
        f"the requirements of Kubernetes {release} were frozen on {frozen.frozen} and have changed:\n{changed}\n"
        f"If that is intended, run `python -m tools.freeze_requirements {release}` and list the rules in CHANGELOG.md."
    )


def test_the_default_release_has_a_set() -> None:
    found = requirement_sets.load("1.37")
    assert found is not None
    assert len(found.rules) > 400
    assert requirement_sets.load("1.99") is None
    # Optional gates that are not GA, and the proposal of driver conformance.
    assert found.rules["DRA-351"].provisional == "its source is a proposal that was closed without a merge"
    assert any(one.provisional.startswith("feature gate ") for one in found.rules.values())
    assert {name.partition("-")[0] for name in found.rules} == {"DP", "DRA", "NV"}


def a_set(**rules: Required) -> RequirementSet:
    return RequirementSet(release="1.37", frozen="2026-11-26", rules=rules)


OLD = Required(component="driver", text="It holds.")


def test_each_kind_of_change_is_reported() -> None:
    now = a_set(
        b=dataclasses.replace(OLD, component="kubelet"),
        c=dataclasses.replace(OLD, text="It often holds."),
        d=dataclasses.replace(OLD, provisional="feature gate X is Beta in 1.37"),
        e=OLD,
        f=OLD,
    )
    frozen = a_set(a=OLD, b=OLD, c=OLD, d=OLD, e=OLD)
    assert list(requirement_sets.differences(frozen, now)) == [
        "a is no longer a MUST rule of 1.37: It holds.",
        "b was a rule of the component driver and is one of kubelet",
        "c had the text 'It holds.' and has 'It often holds.'",
        "d was stable and is provisional (feature gate X is Beta in 1.37)",
    ]
    assert requirement_sets.added(frozen, now) == ["f"]


def test_rules_that_do_not_bind_every_implementation_are_left_out() -> None:
    rule = CATALOGUE["NV-064"]
    assert requirement_sets.is_required(rule, "1.37")
    for change in (
        {"level": "SHOULD"},
        {"driver": "gpu.nvidia.com"},
        {"until": "1.36"},
        {"id": "KAI-001"},
        {"component": "webhook"},
    ):
        assert not requirement_sets.is_required(dataclasses.replace(rule, **change), "1.37"), change


def test_a_gate_that_no_release_knows_is_provisional() -> None:
    rule = dataclasses.replace(CATALOGUE["NV-064"], gates=("NoSuchGate",))
    assert requirement_sets.provisional(rule, "1.37") == "feature gate NoSuchGate is unknown in 1.37"
    assert requirement_sets.provisional(rule, "9.9") == "feature gate NoSuchGate is unknown in 9.9"


@pytest.mark.parametrize(
    "text", ["[]", "release: '1.37'", "{release: '1.36', frozen: x, rules: {}}", "{rules: {a: b}}"]
)
def test_a_damaged_set_is_an_error_that_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "v1.37.yaml").write_text(text)
    monkeypatch.setattr(assets, "fixtures", lambda: tmp_path)
    with pytest.raises(SpecificationError, match=r"v1\.37\.yaml is "):
        requirement_sets.load("1.37")


def test_a_set_is_written_as_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = requirement_sets.current(CATALOGUE, "1.36", date="2026-11-26")
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "v1.36.yaml").write_text(documents.dump(requirement_sets.to_plain(now)))
    monkeypatch.setattr(assets, "fixtures", lambda: tmp_path)
    assert requirement_sets.load("1.36") == now
    assert requirement_sets.releases() == ("1.36",)
