"""Served versions, conversions, gates, selectors, and differences of other releases."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from dra_harness import NOW, Obj, from_storage, resource_of, table, to_storage, write
from hypothesis import given
from hypothesis import strategies as st

from apiserver_emulator.dra import served_versions
from apiserver_emulator.dra.registration import claim_state
from dra_api.feature_gates import FeatureGateError, effective_gates
from verification.fidelity.dra_cases import (
    ALL_ON,
    TIME,
    attribute,
    capacity,
    claim,
    consumes,
    consumption,
    counter_set,
    device,
    first,
    klass,
    many,
    named,
    request,
    rule,
    selector,
    slice_of,
    sub,
    taint,
    template,
    valid_range,
)

NOW_TEXT = "2026-05-06T07:08:09Z"


# --- served versions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plural", "minor", "config", "expected"),
    [
        ("resourceclaims", "1.34", {}, ("v1",)),
        ("resourceclaims", "1.36", {"api/all": "true"}, ("v1", "v1beta2", "v1beta1")),
        ("resourceclaims", "1.36", {"resource.k8s.io/v1beta1": "true"}, ("v1", "v1beta1")),
        (
            "resourceslices",
            "1.36",
            {"api/beta": True, "resource.k8s.io/v1beta1/resourceslices": False},
            ("v1", "v1beta2"),
        ),
        ("resourceclaims", "1.36", {"resource.k8s.io/v1": "false"}, ()),
        ("devicetaintrules", "1.34", {"api/all": "true"}, ("v1alpha3",)),
        ("devicetaintrules", "1.35", {"api/all": "true"}, ("v1alpha3",)),
        ("devicetaintrules", "1.36", {}, ()),
        ("devicetaintrules", "1.36", {"api/all": "true"}, ("v1beta2", "v1alpha3")),
        ("devicetaintrules", "1.36", {"resource.k8s.io/v1beta2": "true"}, ("v1beta2",)),
        ("devicetaintrules", "1.37", {}, ("v1",)),
        ("resourcepoolstatusrequests", "1.35", {"api/all": "true"}, ()),
        ("resourcepoolstatusrequests", "1.36", {"api/alpha": "true"}, ("v1alpha3",)),
    ],
)
def test_served_versions(plural: str, minor: str, config: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert served_versions(plural, minor, config) == expected


def test_the_group_in_the_table() -> None:
    served = {resource.plural: resource for resource in table("1.36").all()}
    assert served.keys() == {
        "deviceclasses",
        "resourceclaims",
        "resourceclaimtemplates",
        "resourceslices",
        "devicetaintrules",
        "resourcepoolstatusrequests",
    }
    assert served["resourceslices"].storage_version == "v1"
    assert served["devicetaintrules"].storage_version == "v1beta2"
    assert [resource.plural for resource in served.values() if not resource.namespaced] == [
        "deviceclasses",
        "resourceslices",
        "devicetaintrules",
        "resourcepoolstatusrequests",
    ]
    assert "devicetaintrules" not in {r.plural for r in table("1.34").all() if "status" in r.subresources}


@pytest.mark.parametrize(("minor", "supported"), [("1.36", False), ("1.37", True)])
def test_slice_field_selectors(minor: str, supported: bool) -> None:
    resource = resource_of("ResourceSlice", minor)
    assert {"spec.nodeName", "spec.driver"} <= set(resource.field_names)
    assert ("spec.pool.name" in resource.field_names) is supported
    assert resource.fields(slice_of()) == {
        "spec.nodeName": "node-a",
        "spec.driver": "gpu.example.com",
        "spec.pool.name": "pool",
    }
    assert resource.fields(slice_of(drop=("nodeName",), allNodes=True))["spec.nodeName"] == ""


@pytest.mark.parametrize(
    ("status", "deleted", "state"),
    [
        ({}, False, "pending"),
        ({"allocation": {}}, False, "allocated"),
        ({"allocation": {}, "reservedFor": [{}]}, False, "allocated,reserved"),
        ({"allocation": {}, "reservedFor": [{}]}, True, "deleted,allocated,reserved"),
        ({}, True, "deleted"),
    ],
)
def test_claim_state_column(status: Obj, deleted: bool, state: str) -> None:
    meta = {"deletionTimestamp": TIME} if deleted else {}
    assert claim_state({"metadata": meta, "status": status}) == state


# --- gates ------------------------------------------------------------------------------------------------------------


def test_gate_defaults() -> None:
    assert effective_gates("1.34")["DRADeviceTaints"] is False
    assert effective_gates("1.36")["DRADeviceTaints"] is True
    assert "DRAListTypeAttributes" not in effective_gates("1.35")
    assert effective_gates("1.36", {"DRAListTypeAttributes": True, "SomethingElse": True})["SomethingElse"] is True


@pytest.mark.parametrize(
    ("version", "overrides", "message"),
    [
        ("1.36", {"DRAAdminAccess": False}, "feature is locked to true"),
        ("1.35", {"DRAListTypeAttributes": True}, "unrecognized feature gate: DRAListTypeAttributes"),
        ("1.36", {"DRAResourceClaimDeviceStatus": False}, r"depends on features that are disabled: \[DRAResource"),
        ("1.36", {"DRADeviceTaintRules": True, "DRADeviceTaints": False}, "DRADeviceTaintRules is enabled"),
        ("1.33", {}, "no feature gate table for Kubernetes 1.33"),
    ],
)
def test_gate_errors(version: str, overrides: dict[str, bool], message: str) -> None:
    with pytest.raises(FeatureGateError, match=message):
        effective_gates(version, overrides)


# --- conversions ------------------------------------------------------------------------------------------------------

EXACT: Obj = {
    "deviceClassName": "gpu",
    "selectors": [selector()],
    "allocationMode": "ExactCount",
    "count": 2,
    "adminAccess": False,
    "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 0}],
    "capacity": {"requests": {"memory": "1Gi"}},
}
DEVICE: Obj = {
    "attributes": {"a": {"int": 0}, "l": {"strings": ["x"]}},
    "capacity": {"memory": {"value": "1Gi"}},
    "consumesCounters": [consumption()],
    "taints": [taint()],
    "bindsToNode": False,
    "bindingConditions": ["a"],
    "bindingFailureConditions": ["b"],
    "allowMultipleAllocations": True,
    "nodeName": "node-a",
}
names = st.sampled_from(["a", "b", "c"])
exact_fields = st.lists(st.sampled_from(sorted(EXACT)), unique=True).map(
    lambda keys: {"deviceClassName": "gpu", "allocationMode": "All", **{key: EXACT[key] for key in keys}}
)
requests = st.lists(
    st.one_of(
        st.builds(lambda name, fields: {"name": name, "exactly": fields}, names, exact_fields),
        st.builds(lambda name: first(sub(allocationMode="All"), name=name), names),
    ),
    max_size=4,
)
device_fields = st.lists(st.sampled_from(sorted(DEVICE)), unique=True).map(
    lambda keys: {key: DEVICE[key] for key in keys}
)
devices = st.lists(
    st.builds(lambda name, fields: {"name": name, **fields}, names, device_fields), min_size=1, max_size=4
)


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@given(found=requests)
def test_claims_round_trip_through_every_version(version: str, found: list[Obj]) -> None:
    for stored in (claim(*found), template(*found)):
        resource = resource_of(stored["kind"])
        shown = from_storage(resource, stored, version)
        assert shown["apiVersion"] == f"resource.k8s.io/{version}"
        back = to_storage(resource, shown)
        assert back == stored


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@given(found=devices)
def test_slices_round_trip_through_every_version(version: str, found: list[Obj]) -> None:
    resource = resource_of("ResourceSlice")
    stored = slice_of(*found)
    shown = from_storage(resource, stored, version)
    if version == "v1beta1":
        assert all(entry.keys() == {"name", "basic"} for entry in shown["spec"]["devices"])
    assert to_storage(resource, shown) == stored


def test_an_update_through_v1beta1_without_a_change_changes_nothing() -> None:
    stored = write(claim(request(**EXACT)), gates=ALL_ON).stored
    shown = from_storage(resource_of("ResourceClaim"), stored, "v1beta1")
    answer = write(shown, op="update", old=stored, gates=ALL_ON)
    assert answer.errors == []
    assert answer.stored["spec"] == stored["spec"]


# --- clocks, generations, canonical forms ----------------------------------------------------------------------------


def test_taints_without_a_time_get_now_on_every_write() -> None:
    bare = slice_of(device(taints=[{"key": "k", "effect": "NoSchedule"}]))
    created = write(bare, gates=ALL_ON)
    assert created.stored["spec"]["devices"][0]["taints"][0]["timeAdded"] == NOW_TEXT
    later = datetime(2026, 5, 6, 8, 0, 0, 999999, tzinfo=UTC)
    updated = write(bare, op="update", old=created.stored, gates=ALL_ON, now=later)
    assert updated.stored["spec"]["devices"][0]["taints"][0]["timeAdded"] == "2026-05-06T08:00:00Z"
    assert updated.stored["metadata"]["generation"] == 2


@pytest.mark.parametrize(("minor", "moved"), [("1.35", False), ("1.36", True)])
def test_a_changed_effect_restarts_a_rules_clock(minor: str, moved: bool) -> None:
    old, new = rule("v1alpha3"), rule("v1alpha3", effect="NoExecute")
    answer = write(new, op="update", old=old, gates=ALL_ON, kubernetes_version=minor)
    assert answer.stored["spec"]["taint"]["timeAdded"] == (NOW_TEXT if moved else TIME)
    assert answer.stored["metadata"]["generation"] == 2
    assert NOW.tzinfo is UTC


def test_a_dropped_change_counts_for_slices_and_not_for_classes() -> None:
    off = {**ALL_ON, "DRAExtendedResource": False, "DRADeviceTaints": False}
    shaded = write(slice_of(device(taints=[taint()])), op="update", old=slice_of(device()), gates=off)
    assert shaded.stored["metadata"]["generation"] == 2
    named_class = write(klass(extendedResourceName="example.com/x"), op="update", old=klass(), gates=off)
    assert named_class.stored["metadata"]["generation"] == 1


def test_claims_have_no_generation() -> None:
    assert "generation" not in write(claim(request()), gates=ALL_ON).stored["metadata"]


def test_times_are_stored_in_canonical_form() -> None:
    sent = slice_of(device(taints=[taint(timeAdded="2020-01-02T05:04:05.5+02:00")]))
    stored = write(sent, gates=ALL_ON).stored["spec"]["devices"][0]
    assert stored["taints"][0]["timeAdded"] == "2020-01-02T03:04:05Z"


@pytest.mark.parametrize("minor", ["1.36", "1.37"])
@pytest.mark.parametrize("step", ["0", "18446744073709551616"])
def test_steps_by_which_a_real_server_cannot_divide_are_refused(minor: str, step: str) -> None:
    answer = write(valid_range(default="1", min="1", step=step), gates=ALL_ON, kubernetes_version=minor)
    assert {error.field for error in answer.errors} == {f"{D0}.capacity[m].requestPolicy.validRange.step"}


def test_strategies_leave_the_stored_object_alone() -> None:
    old = write(slice_of(device(**DEVICE)), gates=ALL_ON).stored
    before = copy.deepcopy(old)
    write(slice_of(device()), op="update", old=old, gates=ALL_ON)
    assert old == before


# --- other releases --------------------------------------------------------------------------------


def fields(obj: Obj, minor: str, **more: Any) -> list[tuple[str, str]]:
    answer = write(obj, gates={**ALL_ON, **more.pop("gates", {})}, kubernetes_version=minor, **more)
    return [(error.reason.removeprefix("FieldValue"), error.field) for error in answer.errors]


D0 = "spec.devices[0]"
RESOURCE = "spec.extendedResourceName"


@pytest.mark.parametrize(
    ("obj", "path", "old_path"),
    [
        (claim(request("a"), request("a")), "spec.devices.requests[1]", ".name"),
        (slice_of(device(), device()), "spec.devices[1]", ".name"),
        (slice_of(sharedCounters=[counter_set(), counter_set()]), "spec.sharedCounters[1]", ".name"),
    ],
)
def test_1_34_reports_duplicates_at_the_key(obj: Obj, path: str, old_path: str) -> None:
    assert fields(obj, "1.35") == [("Duplicate", path)]
    assert fields(obj, "1.34") == [("Duplicate", path + old_path)]


def test_map_keys_are_reported_at_the_entry_before_1_36() -> None:
    assert fields(named("1a"), "1.36") == [("Invalid", f"{D0}.attributes")]
    assert fields(named("1a"), "1.35") == [("Invalid", f"{D0}.attributes[1a]")]


def test_1_34_limits_of_taints_and_devices() -> None:
    assert fields(slice_of(device(taints=[taint()] * 5)), "1.34") == [("TooMany", f"{D0}.taints")]
    assert fields(slice_of(device(taints=[taint()] * 5)), "1.35") == []
    crowded = slice_of(*many(65, lambda at: device(f"d{at}", taints=[taint()])))
    assert fields(crowded, "1.34") == []
    assert fields(crowded, "1.35") == [("TooMany", "spec.devices")]


def test_1_34_checks_counter_references_and_totals() -> None:
    assert fields(consumes(consumption("nowhere")), "1.34") == [("Invalid", f"{D0}.consumesCounters[0].counterSet")]
    assert fields(consumes(consumption("nowhere")), "1.35") == []
    declared = slice_of(device(consumesCounters=[consumption("cs", 2)]), sharedCounters=[counter_set()])
    assert fields(declared, "1.34") == [("Invalid", f"{D0}.consumesCounters[0].counters")]
    assert fields(declared, "1.35") == [("Invalid", "spec")]
    many_counters = slice_of(sharedCounters=[counter_set("a", 20), counter_set("b", 20)])
    assert fields(many_counters, "1.34") == [("Invalid", "spec.sharedCounters")]
    assert fields(many_counters, "1.35") == []


def test_1_34_validates_an_immutable_spec_again() -> None:
    assert fields(claim(request(count=-1)), "1.35", op="update", old=claim(request())) == [("Invalid", "spec")]
    assert fields(claim(request(count=-1)), "1.34", op="update", old=claim(request())) == [
        ("Invalid", "spec"),
        ("Invalid", "spec.devices.requests[0].exactly.count"),
    ]


def test_1_34_validates_both_parts_of_a_request() -> None:
    both = claim({**request(deviceClassName=""), **first(sub(deviceClassName=""))})
    assert fields(both, "1.36") == [("Invalid", "spec.devices.requests[0]")]
    assert [field for _, field in fields(both, "1.34")] == [
        "spec.devices.requests[0].firstAvailable[0].deviceClassName",
        "spec.devices.requests[0].exactly.deviceClassName",
        "spec.devices.requests[0]",
    ]


def test_upper_case_drivers_warn_since_1_35() -> None:
    shouted = slice_of(driver="GPU.example.com")
    assert write(shouted, gates=ALL_ON, kubernetes_version="1.34").warnings == []
    assert write(shouted, gates=ALL_ON, kubernetes_version="1.35").warnings == [
        'spec.driver: driver names should be lowercase; "GPU.example.com" contains uppercase characters'
    ]


def test_taint_rule_selectors_of_1_34() -> None:
    picky = rule("v1alpha3", selector={"deviceClassName": "A_", "selectors": [selector("nosuchvar")]})
    assert fields(picky, "1.34") == [
        ("Invalid", "spec.deviceSelector.deviceClassName"),
        ("Invalid", "spec.deviceSelector.selectors[0].cel.expression"),
    ]
    assert fields(picky, "1.36") == []


@pytest.mark.parametrize(
    ("obj", "before", "since"),
    [
        (
            claim(request("a"), request("a")),
            {"Duplicate": 'spec.devices.requests[1]: Duplicate value: "a"'},
            {
                "Duplicate": "spec.devices.requests[1]: Duplicate value: "
                '{"name":"a","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":1}}'
            },
        ),
        (
            attribute(),
            {"Invalid": f'{D0}.attributes[a]: Invalid value: "": exactly one value must be specified'},
            {
                "Invalid": f'{D0}.attributes[a]: Invalid value: "": must specify one of: `int`, `bool`, `string`, '
                "`version`, `ints`, `bools`, `strings`, `versions`"
            },
        ),
        (
            attribute(int=1, bool=True),
            None,
            {
                "Invalid": f'{D0}.attributes[a]: Invalid value: "{{int, bool}}": must specify exactly one of: `int`, '
                "`bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"
            },
        ),
        (
            klass(extendedResourceName="kubernetes.io/x"),
            {"Invalid": f'{RESOURCE}: Invalid value: "kubernetes.io/x": must be a valid extended resource name'},
            {"Invalid": f'{RESOURCE}: Invalid value: "kubernetes.io/x": must not have "kubernetes.io/" domain'},
        ),
        (
            klass(extendedResourceName="requests.example.com/x"),
            None,
            {"Invalid": f'{RESOURCE}: Invalid value: "requests.example.com/x": must not have "requests." prefix'},
        ),
    ],
)
def test_texts_of_errors_changed_in_1_37(obj: Obj, before: dict[str, str] | None, since: dict[str, str]) -> None:
    """As observed on kube-apiserver 1.36.2 and 1.37.2."""
    for minor, expected in (("1.36", before), ("1.37", since)):
        errors = write(obj, gates=ALL_ON, kubernetes_version=minor).errors
        if expected is not None:
            assert {error.reason.removeprefix("FieldValue"): str(error) for error in errors} == expected


def test_1_37_looks_at_both_attributes_of_a_constraint() -> None:
    both = claim(request(), constraints=[{"matchAttribute": "a.example.com/b", "distinctAttribute": "unqualified"}])
    assert fields(both, "1.36") == []
    assert fields(both, "1.37") == [("Invalid", "spec.devices.constraints[0].distinctAttribute")]


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        (["NodePrepareResources"], [("Invalid", "spec.skipNodeOperations")]),
        (["NodeUnprepareResources"], []),
        (["*"], []),
        (["NodePrepareResources", "NodeUnprepareResources"], []),
        (["NodePrepareResources", "*"], []),
        (["Other"], [("NotSupported", "spec.skipNodeOperations[0]")]),
        (["*", "*"], [("Duplicate", "spec.skipNodeOperations[1]")]),
    ],
)
def test_skipped_node_operations_of_1_37(operations: list[str], expected: list[tuple[str, str]]) -> None:
    on = {"DRAOptionalNodeOperations": True}
    assert fields(slice_of(skipNodeOperations=operations), "1.37", gates=on) == expected
    dropped = write(slice_of(skipNodeOperations=operations), gates=ALL_ON, kubernetes_version="1.37")
    assert dropped.errors == []
    assert "skipNodeOperations" not in dropped.stored["spec"]


def test_compatibility_groups_of_1_37() -> None:
    on = {"DRADeviceCompatibilityGroups": True}
    here = f"{D0}.consumesCounters[0].compatibilityGroups"
    three = consumes({**consumption(), "compatibilityGroups": ["a", "b", "c"]})
    assert fields(three, "1.37", gates=on) == [("TooMany", here)]
    assert fields(consumes({**consumption(), "compatibilityGroups": ["A"]}), "1.37", gates=on) == [
        ("Invalid", f"{here}[0]")
    ]
    assert fields(three, "1.37") == []


def test_a_request_policy_and_a_list_value_are_kept_if_in_use() -> None:
    off = {**ALL_ON, "DRAConsumableCapacity": False, "DRAListTypeAttributes": False}
    for used in (capacity(default="1"), attribute(ints=[1])):
        answer = write(used, op="update", old=used, gates=off)
        assert answer.errors == []
        assert answer.stored["spec"] == write(used, gates=ALL_ON).stored["spec"]
