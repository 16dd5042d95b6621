"""Conversion at the client's edge: nothing is lost, by the published definitions, and nothing is changed in place."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from scripted import Feed, Scripted, answer, refusal

from apiserver_emulator.schemas import GVK, MINORS, Schemas, load
from dra_api import versions
from dra_api.client import KubeClient
from dra_api.objects import (
    EVENTS,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Obj,
)

KINDS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
ONLY_V1BETA1 = answer({"versions": [{"version": "v1beta1"}]})


def full(schemas: Schemas, schema: Obj) -> Any:
    """A value with every field that a definition has."""
    while "$ref" in schema or "allOf" in schema:
        schema = schemas.definitions[(schema.get("$ref") or schema["allOf"][0]["$ref"]).rpartition("/")[2]]
    if "properties" in schema:
        return {name: full(schemas, inner) for name, inner in schema["properties"].items()}
    if "items" in schema:
        return [full(schemas, schema["items"])]
    if "additionalProperties" in schema:
        return {"key": full(schemas, schema["additionalProperties"])}
    if schema.get("format") == "date-time":
        return "2026-01-01T00:00:00Z"
    return {"integer": 7, "number": 7, "boolean": True, "object": {"any": "thing"}}.get(str(schema.get("type")), "7")


def of_kind(schemas: Schemas, kind: str) -> Iterator[Obj]:
    """Whole objects: one with exact requests, one with alternatives."""
    whole = full(schemas, schemas.definition(GVK(versions.GROUP, "v1", kind))) | {
        "apiVersion": f"{versions.GROUP}/v1",
        "kind": kind,
        "metadata": {"name": "whole"},
    }
    for dropped in ("firstAvailable", "exactly") if "Claim" in kind else ("",):
        found = copy.deepcopy(whole)
        spec = found["spec"]["spec"] if kind.endswith("Template") else found["spec"]
        for request in spec["devices"]["requests"] if dropped else ():
            del request[dropped]
        yield found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_every_field_of_v1_has_its_place_and_comes_back(minor: str, kind: str, version: str) -> None:
    schemas = load(minor)
    for whole in of_kind(schemas, kind):
        before = copy.deepcopy(whole)
        sent = versions.from_v1(kind, whole, version)
        assert schemas.unknown_fields(GVK(versions.GROUP, version, kind), sent) == []
        assert sent["apiVersion"] == f"{versions.GROUP}/{version}"
        assert versions.to_v1(kind, sent, version) == before == whole == versions.in_v1(sent)


def test_a_stray_field_is_known_to_the_definitions() -> None:
    """The test above can fail: content beside `basic` is what it would see."""
    schemas = load("1.36")
    stray = {"apiVersion": "resource.k8s.io/v1beta1", "spec": {"devices": [{"name": "a", "attributes": {}}]}}
    assert schemas.unknown_fields(GVK(versions.GROUP, "v1beta1", "ResourceSlice"), stray) == [
        "spec.devices[0].attributes"
    ]


def test_unknown_fields_are_preserved_in_both_directions() -> None:
    device = {"name": "a", "attributes": {"x": {"int": 1}}, "future": [1]}
    wire = versions.from_v1("ResourceSlice", {"spec": {"devices": [device], "future": {}}}, "v1beta1")
    assert wire["spec"]["devices"] == [{"name": "a", "basic": {"attributes": {"x": {"int": 1}}, "future": [1]}}]
    assert versions.to_v1("ResourceSlice", wire, "v1beta1")["spec"] == {"devices": [device], "future": {}}


def test_alternatives_have_no_exact_request_whatever_zero_values_stand_beside_them() -> None:
    request = {"name": "r", "deviceClassName": "", "count": 0, "firstAvailable": [{"name": "s", "count": 2}]}
    found = versions.to_v1("ResourceClaim", {"spec": {"devices": {"requests": [request]}}}, "v1beta1")
    assert found["spec"]["devices"]["requests"] == [{"name": "r", "firstAvailable": [{"name": "s", "count": 2}]}]


@pytest.mark.parametrize("garbage", [None, "x", 3, [], ["x", None], {"devices": "x"}, {"devices": [None]}])
@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_shape_passes_through(kind: str, garbage: Any) -> None:
    for convert in (versions.from_v1, versions.to_v1):
        assert convert(kind, {"spec": garbage}, "v1beta1")["spec"] == garbage


# -- patches -----------------------------------------------------------------------------------------------------------

REQUESTS = "/spec/devices/requests"


@pytest.mark.parametrize(
    ("kind", "operation", "sent"),
    [
        ("ResourceSlice", {"path": "/spec/devices/0/taints/0"}, {"path": "/spec/devices/0/basic/taints/0"}),
        ("ResourceSlice", {"path": "/spec/devices/0/name"}, {"path": "/spec/devices/0/name"}),
        (
            "ResourceSlice",
            {"op": "add", "path": "/spec/devices/-", "value": {"name": "b", "taints": []}},
            {"op": "add", "path": "/spec/devices/-", "value": {"name": "b", "basic": {"taints": []}}},
        ),
        (
            "ResourceSlice",
            {"path": "/spec", "value": {"devices": [{"name": "b"}]}},
            {"path": "/spec", "value": {"devices": [{"name": "b", "basic": {}}]}},
        ),
        (
            "ResourceSlice",
            {"op": "move", "from": "/spec/devices/0/taints", "path": "/spec/devices/1/taints"},
            {"op": "move", "from": "/spec/devices/0/basic/taints", "path": "/spec/devices/1/basic/taints"},
        ),
        (
            "ResourceClaim",
            {"path": f"{REQUESTS}/0/exactly/count", "value": 2},
            {"path": f"{REQUESTS}/0/count", "value": 2},
        ),
        ("ResourceClaim", {"path": f"{REQUESTS}/0/name"}, {"path": f"{REQUESTS}/0/name"}),
        (
            "ResourceClaimTemplate",
            {"path": f"/spec{REQUESTS}", "value": [{"name": "r", "exactly": {"count": 1}}]},
            {"path": f"/spec{REQUESTS}", "value": [{"name": "r", "count": 1}]},
        ),
        ("ResourceClaim", {"path": "/status/reservedFor/0"}, {"path": "/status/reservedFor/0"}),
        (
            "DeviceClass",
            {"path": "/apiVersion", "value": "resource.k8s.io/v1"},
            {"path": "/apiVersion", "value": "resource.k8s.io/v1beta1"},
        ),
    ],
)
def test_json_patches_point_to_where_the_field_is(kind: str, operation: Obj, sent: Obj) -> None:
    assert versions.patch_from_v1(kind, [operation], "v1beta1") == [sent]


def test_the_patch_without_counterpart_says_why() -> None:
    with pytest.raises(versions.ConversionError, match="a request has no `exactly`"):
        versions.patch_from_v1("ResourceClaim", [{"op": "remove", "path": f"{REQUESTS}/0/exactly"}], "v1beta1")


def test_a_merge_patch_stays_as_small_as_it_is() -> None:
    patch = {"metadata": {"labels": {"a": None}}, "spec": {"nodeName": None, "devices": [{"name": "a", "taints": []}]}}
    assert versions.patch_from_v1("ResourceSlice", patch, "v1beta1") == {
        "metadata": {"labels": {"a": None}},
        "spec": {"nodeName": None, "devices": [{"name": "a", "basic": {"taints": []}}]},
    }


# -- the client --------------------------------------------------------------------------------------------------------

FLAT = {"name": "r", "deviceClassName": "gpu", "count": 1}
LIFTED = {"name": "r", "exactly": {"deviceClassName": "gpu", "count": 1}}


def claim(api_version: str, request: Obj, **metadata: Any) -> Obj:
    return {
        "apiVersion": f"resource.k8s.io/{api_version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "ns", **metadata},
        "spec": {"devices": {"requests": [request]}},
    }


def test_the_client_speaks_v1_and_the_wire_what_is_served() -> None:
    transport = Scripted([ONLY_V1BETA1, answer(claim("v1beta1", FLAT))])
    client = KubeClient(transport)
    mine = claim("v1", LIFTED)
    assert client.create(RESOURCE_CLAIMS, mine) == client.get(RESOURCE_CLAIMS, "c", "ns") == mine
    assert client.update(RESOURCE_CLAIMS, mine) == client.apply(RESOURCE_CLAIMS, mine) == mine
    assert client.delete(RESOURCE_CLAIMS, "c", "ns") == mine
    assert {path.split("/")[3] for _, path, _ in transport.asked[1:]} == {"v1beta1"}
    sent = [orjson.loads(body) for _, body, _ in transport.bodies if body]
    assert sent[:3] == [claim("v1beta1", FLAT)] * 3
    assert [path for _, path, _ in transport.asked].count("/apis/resource.k8s.io") == 1


def test_lists_and_watches_are_converted_and_bookmarks_too() -> None:
    bare = {key: value for key, value in claim("v1beta1", FLAT).items() if key not in ("apiVersion", "kind")}
    bookmark = {"kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1beta1", "metadata": {"resourceVersion": "9"}}
    added = claim("v1beta1", FLAT)
    added["metadata"] = {**added["metadata"], "resourceVersion": "8"}
    feed = Feed().say("ADDED", added).say("BOOKMARK", bookmark).end()
    transport = Scripted([ONLY_V1BETA1, answer({"metadata": {"resourceVersion": "8"}, "items": [bare]})], [feed])
    client = KubeClient(transport)
    assert client.list(RESOURCE_CLAIMS).items == [claim("v1", LIFTED)]
    events = list(client.watch(RESOURCE_CLAIMS, resource_version="8"))
    assert events[0].object["spec"] == claim("v1", LIFTED)["spec"]
    assert events[1].object["metadata"]["resourceVersion"] == "9"
    assert transport.asked[-1][1] == "/apis/resource.k8s.io/v1beta1/resourceclaims"


def test_a_named_version_is_returned_unconverted() -> None:
    transport = Scripted([answer(claim("v1beta1", FLAT))])
    assert KubeClient(transport).create(RESOURCE_CLAIMS.at("v1beta1"), claim("v1beta1", FLAT)) == claim("v1beta1", FLAT)
    assert len(transport.asked) == 1, "nobody asked what is served"


def test_references_name_a_version_that_is_served() -> None:
    owner = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "name": "c", "uid": "u"}
    other = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u"}
    transport = Scripted([ONLY_V1BETA1, answer({})])
    client = KubeClient(transport)
    client.create(PODS, {"metadata": {"name": "p", "namespace": "ns", "ownerReferences": [other, owner]}})
    client.create(EVENTS, {"metadata": {"name": "e", "namespace": "ns"}, "involvedObject": owner})
    client.patch(PODS, "p", {"metadata": {"ownerReferences": [owner]}}, "ns")
    pod, event, patch = [orjson.loads(body) for _, body, _ in transport.bodies if body]
    served = "resource.k8s.io/v1beta1"
    assert [each["apiVersion"] for each in pod["metadata"]["ownerReferences"]] == ["apps/v1", served]
    assert event["involvedObject"]["apiVersion"] == patch["metadata"]["ownerReferences"][0]["apiVersion"] == served
    assert owner["apiVersion"] == "resource.k8s.io/v1", "the caller's object is the caller's"


def test_a_missing_api_group_is_reported_in_one_sentence() -> None:
    client = KubeClient(Scripted([refusal(404, "NotFound")]))
    assert not client.carries(RESOURCE_SLICES)
    with pytest.raises(LookupError, match=r"serves resource.k8s.io in no version; need one of v1, v1beta2, v1beta1"):
        client.require(RESOURCE_CLAIM_TEMPLATES)


def test_a_client_that_may_not_discover_versions_uses_v1() -> None:
    transport = Scripted([refusal(403, "Forbidden"), answer(claim("v1", LIFTED))])
    assert KubeClient(transport).get(RESOURCE_CLAIMS, "c", "ns") == claim("v1", LIFTED)
    assert transport.asked[1][1].startswith("/apis/resource.k8s.io/v1/")


def test_clients_of_one_connection_share_discovery() -> None:
    transport = Scripted([ONLY_V1BETA1, answer(claim("v1beta1", FLAT))])
    client = KubeClient(transport)
    client.as_agent("one").get(RESOURCE_CLAIMS, "c", "ns")
    client.as_agent("two").get(RESOURCE_CLAIMS, "c", "ns")
    assert [path for _, path, _ in transport.asked].count("/apis/resource.k8s.io") == 1
