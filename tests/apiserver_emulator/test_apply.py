"""Server-side apply and field ownership."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator, field_sets, managed_fields
from dra_api.client import ApiError, Conflict, KubeClient
from dra_api.objects import CONFIG_MAPS, NODES, PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS

Obj = dict[str, Any]


def owners(obj: Obj) -> dict[tuple[str, str, str], Obj]:
    return {
        (e["manager"], e["operation"], e.get("subresource", "")): e["fieldsV1"]
        for e in obj["metadata"].get("managedFields", ())
    }


def apply(client: KubeClient, name: str, data: Obj | None, *, manager: str, force: bool = False) -> Obj:
    body: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
    if data is not None:
        body["data"] = data
    return client.patch(CONFIG_MAPS, name, body, "default", kind="apply", field_manager=manager, force=force)


def test_create_and_update_are_owned_by_their_writers(plane: ApiServerEmulator, client: KubeClient) -> None:
    body = {"metadata": {"name": "a", "namespace": "default", "labels": {"l": "1"}}, "data": {"x": "1", "y": "1"}}
    client.create(CONFIG_MAPS, body)
    other = KubeClient(plane.transport(), user_agent="other/2.0 (linux)")
    found = other.patch(CONFIG_MAPS, "a", {"data": {"x": "2"}}, "default")
    assert owners(found) == {
        ("tester", "Update", ""): {
            "f:data": {".": {}, "f:y": {}},
            "f:metadata": {"f:labels": {".": {}, "f:l": {}}},
        },
        ("other", "Update", ""): {"f:data": {"f:x": {}}},
    }


def test_list_items_are_named_by_their_keys(client: KubeClient, pod: Callable[..., Obj]) -> None:
    made = client.create(PODS, pod("p", tolerations=[{"operator": "Exists"}]))
    fields = owners(made)[("tester", "Update", "")]["f:spec"]
    assert fields["f:containers"] == {
        'k:{"name":"main"}': {
            ".": {},
            "f:image": {},
            "f:imagePullPolicy": {},
            "f:name": {},
            "f:resources": {},
            "f:terminationMessagePath": {},
            "f:terminationMessagePolicy": {},
        }
    }
    assert fields["f:tolerations"] == {}


def test_status_writes_are_owned_on_their_subresource(client: KubeClient) -> None:
    client.create(NODES, {"metadata": {"name": "n", "labels": {"a": "b"}}})  # updates record owners if there are any
    condition = {"type": "Ready", "status": "True"}
    times: Obj = {"f:lastHeartbeatTime": {}, "f:lastTransitionTime": {}}  # null, and written all the same
    found = client.patch(NODES, "n", {"status": {"conditions": [condition]}}, subresource="status")
    assert owners(found)[("tester", "Update", "status")] == {
        "f:status": {"f:conditions": {".": {}, 'k:{"type":"Ready"}': {".": {}, **times, "f:status": {}, "f:type": {}}}}
    }


def test_apply_creates_merges_and_prunes(client: KubeClient) -> None:
    made = apply(client, "a", {"x": "1", "y": "1"}, manager="one")
    assert owners(made) == {("one", "Apply", ""): {"f:data": {"f:x": {}, "f:y": {}}}}
    apply(client, "a", {"z": "1"}, manager="two")
    found = apply(client, "a", {"x": "1"}, manager="one")
    assert found["data"] == {"x": "1", "z": "1"}


def test_applying_the_same_again_changes_nothing(client: KubeClient) -> None:
    first = apply(client, "a", {"x": "1"}, manager="one")
    assert apply(client, "a", {"x": "1"}, manager="one") == first


def test_conflicts_name_the_manager_and_the_field(client: KubeClient) -> None:
    apply(client, "a", {"x": "1"}, manager="one")
    with pytest.raises(Conflict) as refused:
        apply(client, "a", {"x": "2"}, manager="two")
    assert refused.value.message == 'Apply failed with 1 conflict: conflict with "one": .data.x'
    assert refused.value.causes == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.x"}
    ]
    forced = apply(client, "a", {"x": "2"}, manager="two", force=True)
    assert forced["data"] == {"x": "2"}
    assert owners(forced) == {("two", "Apply", ""): {"f:data": {"f:x": {}}}}


def test_equal_values_are_shared(client: KubeClient) -> None:
    apply(client, "a", {"x": "1"}, manager="one")
    apply(client, "a", {"x": "1"}, manager="two")
    found = apply(client, "a", None, manager="one")
    assert found["data"] == {"x": "1"}
    assert set(owners(found)) == {("two", "Apply", "")}


def test_apply_removes_a_list_item_with_its_defaults(client: KubeClient) -> None:
    def body(*names: str) -> Obj:
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n"},
            "status": {"conditions": [{"type": name, "status": "True"} for name in names]},
        }

    client.create(NODES, {"metadata": {"name": "n"}})
    common: Obj = {"kind": "apply", "field_manager": "one", "subresource": "status"}
    client.patch(NODES, "n", body("A", "B"), **common)
    found = client.patch(NODES, "n", body("B"), **common)
    assert [c["type"] for c in found["status"]["conditions"]] == ["B"]


def test_apply_needs_a_manager_and_no_managed_fields(plane: ApiServerEmulator, client: KubeClient) -> None:
    path = "/api/v1/namespaces/default/configmaps/a"
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}'
    without_manager = plane.transport().request("PATCH", path, body=body, content_type="application/apply-patch+yaml")
    assert without_manager.status == 422
    with pytest.raises(ApiError) as refused:
        client.patch(
            CONFIG_MAPS,
            "a",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "managedFields": [{}]}},
            "default",
            kind="apply",
            field_manager="m",
        )
    assert refused.value.message == "metadata.managedFields must be nil"


def test_more_than_ten_update_managers_are_merged_into_ancient_changes(
    plane: ApiServerEmulator, client: KubeClient
) -> None:
    client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}, "data": {"k": "v"}})
    for at in range(14):
        writer = KubeClient(plane.transport(), user_agent=f"writer-{at:02}/1")
        found = writer.patch(CONFIG_MAPS, "a", {"data": {f"k{at}": "v"}}, "default")
    names = {manager for manager, _, _ in owners(found)}
    assert managed_fields.ANCIENT in names
    assert len(names) <= managed_fields.MAX_UPDATE_MANAGERS


def test_fields_v1_round_trip() -> None:
    fields = {"f:a": {".": {}, "f:b": {}}, "f:c": {'k:{"n":"x"}': {".": {}, "f:d": {}}}, "f:e": {}}
    assert field_sets.encode(field_sets.decode(fields)) == fields


def test_an_apply_that_changes_nothing_has_no_time(client: KubeClient) -> None:
    apply(client, "a", {"x": "1"}, manager="one")
    found = apply(client, "a", {"x": "1"}, manager="two")
    assert {e["manager"]: "time" in e for e in found["metadata"]["managedFields"]} == {"one": True, "two": False}
    found = apply(client, "a", {"x": "2"}, manager="two", force=True)
    assert {e["manager"]: "time" in e for e in found["metadata"]["managedFields"]} == {"two": True}


@pytest.mark.parametrize("nothing", [[], [{}]], ids=["empty", "one empty entry"])
def test_an_empty_managed_fields_removes_all_ownership(client: KubeClient, nothing: list[Obj]) -> None:
    apply(client, "a", {"x": "1"}, manager="one")
    found = client.patch(CONFIG_MAPS, "a", {"metadata": {"managedFields": nothing}}, "default")
    assert "managedFields" not in found["metadata"]


def test_structs_that_are_never_absent_have_no_owner(client: KubeClient) -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "c"}}
    spec = {"devices": {"requests": [request]}}
    claim = client.create(RESOURCE_CLAIMS, {"metadata": {"name": "c", "namespace": "default"}, "spec": spec})
    assert owners(claim) == {("tester", "Update", ""): {"f:spec": {"f:devices": {"f:requests": {}}}}}
    template = {"metadata": {"name": "t", "namespace": "default"}, "spec": {"spec": spec}}
    found = client.create(RESOURCE_CLAIM_TEMPLATES, template)
    assert owners(found) == {("tester", "Update", ""): {"f:spec": {"f:spec": {"f:devices": {"f:requests": {}}}}}}


def test_a_null_in_a_map_of_strings_is_an_empty_string(client: KubeClient) -> None:
    found = client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}, "data": {"x": None}})
    assert found["data"] == {"x": ""}
