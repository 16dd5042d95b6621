"""Protobuf: messages of Go's serializer are decoded, unknown fields are refused, and objects round-trip.

`data/protobuf_samples.json` has objects as k8s.io/api v0.36.2 encodes them, in protobuf (hex) and in JSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apiserver_emulator.protobuf import MAGIC, ProtobufError, decode, encode

SAMPLES = json.loads((Path(__file__).parent / "data/protobuf_samples.json").read_text())["samples"]
IDS = [sample["name"] for sample in SAMPLES]
BY_NAME = {sample["name"]: sample for sample in SAMPLES}


def varint(value: int) -> bytes:
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + varint(value >> 7)


def tag(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def delimited(number: int, value: bytes) -> bytes:
    return tag(number, 2) + varint(len(value)) + value


def essence(value: Any) -> Any:
    """Return JSON without the nulls and empty objects that Go writes for unset structs and lists."""
    if isinstance(value, dict):
        found = {name: essence(sub) for name, sub in value.items()}
        return {name: sub for name, sub in found.items() if sub is not None and sub != {}}
    if isinstance(value, list):
        return [essence(sub) for sub in value]
    return value


@pytest.mark.parametrize("sample", SAMPLES, ids=IDS)
def test_decodes_messages_of_go(sample: dict[str, Any]) -> None:
    assert essence(decode(bytes.fromhex(sample["hex"]))) == essence(sample["object"])


@pytest.mark.parametrize("sample", SAMPLES, ids=IDS)
def test_round_trip(sample: dict[str, Any]) -> None:
    obj = decode(bytes.fromhex(sample["hex"]))
    assert decode(encode(obj)) == obj


def test_opaque_parameters_keep_an_empty_object() -> None:
    claim = decode(bytes.fromhex(BY_NAME["resourceclaim-v1"]["hex"]))
    config = claim["status"]["allocation"]["devices"]["config"][0]["opaque"]
    assert config == {"driver": "gpu.example.com", "parameters": {}}


def test_pointers_to_zero_survive_and_unset_scalars_do_not_appear() -> None:
    device = decode(bytes.fromhex(BY_NAME["resourceslice-v1"]["hex"]))["spec"]["devices"][0]
    assert device["attributes"]["z"] == {"int": 0}
    assert device["attributes"]["b"] == {"bool": False}
    assert device["attributes"]["s"] == {"string": ""}
    pod = decode(bytes.fromhex(BY_NAME["pod"]["hex"]))
    assert pod["spec"]["terminationGracePeriodSeconds"] == 0
    assert "nodeName" not in pod["spec"]
    assert "hostNetwork" not in pod["spec"]


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    meta = delimited(1, api_version.encode()) + delimited(2, kind.encode())
    return MAGIC + delimited(1, meta) + delimited(2, raw)


CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


def schema_in_schema(depth: int) -> bytes:
    """Return a CustomResourceDefinition with a schema of `not` in `not`."""
    schema = b""
    for _ in range(depth):
        schema = delimited(28, schema)
    return delimited(2, delimited(7, delimited(4, delimited(1, schema))))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{}", "does not appear to be a protobuf message"),
        (envelope("v1", "Pod", delimited(99, b"x")), r"message k8s\.io\.api\.core\.v1\.Pod has no field 99"),
        (
            envelope("resource.k8s.io/v1", "ResourceSlice", delimited(2, delimited(6, tag(77, 0) + b"\x01"))),
            r"message k8s\.io\.api\.resource\.v1\.Device has no field 77",
        ),
        (envelope("example.com/v1", "Gadget", b""), r"kind Gadget in example\.com/v1 has no protobuf form here"),
        (envelope("v1", "Pod", b"\x0a\xff"), "unexpected end of data"),
        (envelope("v1", "Pod", b"\x0a\x7fx"), "unexpected end of data"),
        (envelope("v1", "Pod", b"\x0b"), "wire type 3"),
        (envelope("v1", "Pod", tag(1, 0) + b"\x01"), "wire type 0, not bytes"),
        (envelope("v1", "Namespace", delimited(1, delimited(1, b"\xff"))), "is not UTF-8"),
        (envelope("v1", "Pod", b"") + delimited(3, b"gzip"), "content encoding gzip is not supported"),
        (envelope("v1", "Pod", b"") + delimited(9, b""), "Unknown has no field 9"),
        (MAGIC + varint(0), "field number 0"),
        (envelope("v1", "Pod", delimited(1, delimited(11, delimited(3, b"")))), "LabelsEntry has no field 3"),
        (envelope("v1", "Namespace", delimited(1, delimited(8, tag(3, 0) + b"\x01"))), r"v1\.Time has no field 3"),
        (envelope(*CRD, schema_in_schema(120)), "is nested more than 100 deep"),
    ],
)
def test_errors_give_the_reason(body: bytes, message: str) -> None:
    with pytest.raises(ProtobufError, match=message):
        decode(body)


def test_json_inside_the_envelope() -> None:
    body = envelope("v1", "ConfigMap", b'{"data":{"a":"b"}}') + delimited(4, b"application/json")
    assert decode(body) == {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}


def test_an_unknown_field_cannot_be_encoded() -> None:
    with pytest.raises(ProtobufError, match=r"message k8s\.io\.api\.core\.v1\.PodSpec has no field named nope"):
        encode({"apiVersion": "v1", "kind": "Pod", "spec": {"nope": 1}})


def test_custom_resource_definitions_with_unions() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"type": "string"}},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},
            "f": {"additionalProperties": True, "default": {"x": 1}, "enum": ["a", 1, None]},
        },
        "x-kubernetes-preserve-unknown-fields": True,
    }
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    back = decode(encode(crd))
    found = back["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    assert found["a"]["items"] == {"type": "string"}
    assert found["m"]["additionalProperties"] == {"type": "integer"}
    assert found["f"]["additionalProperties"] is True
    assert found["f"]["default"] == {"x": 1}
