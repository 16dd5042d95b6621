"""The value of `--feature-gates`, as component-base's featuregate.Set parses it."""

from __future__ import annotations

import pytest

from dra_api.feature_gate_table import DRA_GATES
from dra_api.feature_gates import ALLOCATOR_FEATURES, GATES, FeatureGateError, effective_gates, known_gates, parse_gates
from dra_conformance.core.option_table import CHECKED_RELEASES
from tools.gen_feature_gates import entry_for


@pytest.mark.parametrize(
    ("text", "gates"),
    [
        ("", {}),
        ("A=true,B=false", {"A": True, "B": False}),
        (" A = True ,, B=0,", {"A": True, "B": False}),
        ("A=true,A=F", {"A": False}),
    ],
)
def test_gates_are_parsed(text: str, gates: dict[str, bool]) -> None:
    assert parse_gates(text) == gates


@pytest.mark.parametrize("text", ["A", "A=", "A=yes", "A=tRUE", "=true", "A=true=false"])
def test_other_values_are_refused(text: str) -> None:
    with pytest.raises(FeatureGateError, match=f"'{text}': must be NAME=true or NAME=false"):
        parse_gates(text)


def test_an_unknown_gate_is_refused() -> None:
    assert parse_gates("A=true", known={"A"}) == {"A": True}
    with pytest.raises(FeatureGateError, match="unrecognized feature gate: B; known gates: A"):
        parse_gates("B=true", known={"A"})


def test_features_of_the_allocator_need_known_gates() -> None:
    assert {gate for gates in ALLOCATOR_FEATURES.values() for gate in gates} <= GATES


@pytest.mark.parametrize("name", ["DRATypo", "DynamicResourceAllocations", "ResourceHealthStatuses"])
@pytest.mark.parametrize("release", DRA_GATES)
def test_a_misspelled_gate_of_dra_is_refused(release: str, name: str) -> None:
    with pytest.raises(FeatureGateError, match=f"unrecognized feature gate: {name}"):
        effective_gates(release, {name: True})


def test_a_gate_of_another_feature_is_accepted() -> None:
    assert effective_gates("1.36", {"SidecarContainers": False})["SidecarContainers"] is False


@pytest.mark.parametrize(
    ("release", "overrides", "message"),
    [
        ("1.36", {"DRADerivedAttributes": True}, "unrecognized feature gate: DRADerivedAttributes"),
        ("1.34", {"GenericWorkload": True}, "unrecognized feature gate: GenericWorkload"),
        ("1.37", {"DRAExtendedResource": False}, "cannot set feature gate DRAExtendedResource to false"),
        ("1.37", {"NodeDeclaredFeatures": False}, "cannot set feature gate NodeDeclaredFeatures to false"),
        ("1.37", {"DRAPartitionableDevicesType": True}, "disabled: .DRAResourcePoolStatus."),
        ("1.36", {"DRAWorkloadResourceClaims": True}, "disabled: .GenericWorkload."),
        ("1.35", {"ResourceHealthStatus": True, "DRADeviceTaintRules": True}, "disabled: .DRADeviceTaints."),
    ],
)
def test_gates_that_a_server_refuses(release: str, overrides: dict[str, bool], message: str) -> None:
    with pytest.raises(FeatureGateError, match=message):
        effective_gates(release, overrides)


def test_a_release_without_checks_of_dependencies() -> None:
    assert effective_gates("1.34", {"DRAResourceClaimDeviceStatus": False, "DRADeviceBindingConditions": True})


def test_the_table_has_the_releases_that_the_suite_covers() -> None:
    assert tuple(DRA_GATES) == CHECKED_RELEASES


def test_releases_outside_the_table_are_refused() -> None:
    with pytest.raises(FeatureGateError, match=r"have 1\.34 to 1\.37"):
        known_gates("1.33")
    assert known_gates("v1.36.2") is DRA_GATES["1.36"]


def test_an_entry_for_a_later_compatibility_version_is_not_the_default() -> None:
    assert not known_gates("1.37")["DRAFractionalCapacityRange"].default
    entries = [
        {"version": "1.36", "min_compatibility": "", "default": False},
        {"version": "1.37", "min_compatibility": "1.37", "default": True},
    ]
    assert entry_for(entries, "1.35.4") is None
    assert entry_for(entries, "1.37.2") is entries[0]
    assert entry_for(entries, "1.38.0") is entries[1]
