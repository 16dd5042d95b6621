"""Requests that would crash the server, fill its memory or keep its connections are refused."""

from __future__ import annotations

import json

import pytest

from apiserver_emulator.emulator import ApiServerEmulator
from dra_api.transport import Transport

MAPS = "/api/v1/namespaces/default/configmaps"
YAML, JSON = "application/yaml", "application/json"
BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 20))
DEEP = {
    "brackets": (YAML, "[" * 200_000),
    "dashes": (YAML, "- " * 100_000 + "x"),
    "question marks": (YAML, "? " * 100_000 + "x"),
    "aliases": (YAML, BOMB),
    "yaml as json": (JSON, "- " * 100_000),
    "json": (JSON, '{"a":' * 100_000),
    "json that the parser accepts": (JSON, '{"data":' + "[" * 900 + "]" * 900 + "}"),
}


@pytest.mark.parametrize("case", DEEP)
def test_a_body_over_a_limit_is_a_bad_request(plane: ApiServerEmulator, transport: Transport, case: str) -> None:
    content_type, body = DEEP[case]
    answer = transport.request("POST", MAPS, body=body.encode(), content_type=content_type)
    assert answer.status == 400, answer.body
    assert plane.take_failures() == []


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    ],
)
def test_a_patch_over_a_limit_is_a_bad_request(
    plane: ApiServerEmulator, transport: Transport, content_type: str
) -> None:
    transport.request("POST", MAPS, body=b'{"metadata": {"name": "deep"}}')
    for body in ('{"data":' + "[" * 900 + "]" * 900 + "}", "[" * 100_000):
        query = [("fieldManager", "m")]
        answer = transport.request("PATCH", f"{MAPS}/deep", body=body.encode(), content_type=content_type, query=query)
        assert answer.status == 400, answer.body
    transport.request("DELETE", f"{MAPS}/deep")
    assert plane.take_failures() == []


def test_copies_of_copies_in_a_json_patch_are_limited(plane: ApiServerEmulator, transport: Transport) -> None:
    made = {"metadata": {"name": "copied", "annotations": {"a": "x" * 100_000}}, "data": {"a": "y" * 1000}}
    assert transport.request("POST", MAPS, body=json.dumps(made).encode()).status == 201
    doubling = [{"op": "copy", "from": "/metadata", "path": f"/metadata/x{n}"} for n in range(40)]
    nesting = [{"op": "add", "path": "/data" + "/a" * n, "value": {}} for n in range(1, 400)]
    for operations in (doubling, nesting):
        body = json.dumps(operations).encode()
        answer = transport.request("PATCH", f"{MAPS}/copied", body=body, content_type="application/json-patch+json")
        assert answer.status == 422, answer.body
    once = json.dumps([{"op": "copy", "from": "/data/a", "path": "/data/b"}]).encode()
    answer = transport.request("PATCH", f"{MAPS}/copied", body=once, content_type="application/json-patch+json")
    assert answer.status == 200, answer.body
    transport.request("DELETE", f"{MAPS}/copied")
    assert plane.take_failures() == []
