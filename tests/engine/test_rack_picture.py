"""The picture of a ComputeDomain over a rack: what it reads from a log, and that the committed one is current."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import orjson
import pytest

from tools.gen_rack_picture import PICTURE, Row, draw, read_log, read_picture

CREATED = {"kind": "object", "t": 1.0, "resource": "computedomains", "type": "ADDED", "name": "ns/job", "scenario": "s"}
READY = {**CREATED, "t": 1.5, "type": "MODIFIED", "summary": {"status": "Ready"}}
JOINED = {
    "kind": "api",
    "t": 1.1,
    "method": "PATCH",
    "path": "/api/v1/nodes/node-1-abc",
    "body": '{"metadata":{"labels":{"resource.nvidia.com/computeDomain":"uid"}}}',
}
DAEMON = {
    "kind": "object",
    "t": 1.2,
    "resource": "pods",
    "type": "MODIFIED",
    "name": "dra-driver-nvidia-gpu/daemon",
    "summary": {"node": "node-1-abc", "phase": "Running"},
}
PREPARED = {
    "kind": "kubelet-call",
    "t": 1.3,
    "method": "NodePrepareResources",
    "node": "node-1-abc",
    "code": "OK",
    "seconds": 0.25,
    "response": {"claims": {"uid": {"error": ""}}},
}


def _log(*events: dict[str, Any]) -> list[bytes]:
    return [orjson.dumps(event) for event in events]


def test_times_count_from_the_creation_of_the_domain() -> None:
    early = {**JOINED, "t": 0.5}
    again = {**DAEMON, "t": 1.4}
    left = {**JOINED, "t": 1.6, "body": '{"metadata":{"labels":{"resource.nvidia.com/computeDomain":null}}}'}
    found = read_log(_log(early, CREATED, JOINED, DAEMON, PREPARED, again, READY, left))
    assert found.ready == 500.0
    assert found.rows == {"node-1-abc": Row(called=50.0, label=100.0, daemon=200.0, prepared=300.0)}


def test_a_claim_that_was_refused_is_not_drawn_as_prepared() -> None:
    refused = {**PREPARED, "response": {"claims": {"uid": {"error": "not ready"}}}}
    assert read_log(_log(CREATED, refused, JOINED, READY)).rows["node-1-abc"].prepared is None


def test_a_log_without_a_ready_domain_is_refused() -> None:
    with pytest.raises(ValueError, match="became Ready"):
        read_log(_log(CREATED, JOINED))


def test_a_picture_is_drawn_again_from_its_own_times() -> None:
    svg = draw(read_log(_log(CREATED, JOINED, DAEMON, PREPARED, READY)))
    assert draw(read_picture(svg)) == svg
    assert ElementTree.fromstring(svg).tag.endswith("svg")  # noqa: S314, it is our own


def test_the_committed_picture_is_current_and_has_a_whole_rack() -> None:
    svg = PICTURE.read_text(encoding="utf-8")
    found = read_picture(svg)
    assert draw(found) == svg
    assert len(found.rows) == 18
    for row in found.rows.values():
        assert None not in (row.called, row.label, row.daemon, row.prepared)
        assert row.label <= row.daemon  # type: ignore[operator]
