"""The table of partial writes is complete and correct, and differences are reported."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from dra_conformance.core import assets, features
from dra_conformance.core.events import ApiWrite, EventLog, FaultInjected
from dra_conformance.faults import partial_writes
from dra_conformance.faults.page import page
from dra_conformance.faults.partial_writes import COMPONENTS, Row, Write
from dra_conformance.rbac.table import permissions

ROOT = Path(__file__).resolve().parents[2]
CHANGES = ("create", "update", "patch", "delete")
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/n/resourceclaims"


def test_every_permitted_write_is_in_the_table() -> None:
    """The permission table has exactly the components' writes; DRA-096 also needs `binding`."""
    listed = {row.write for row in partial_writes.stored().writes}
    unlisted = [
        str(write)
        for permission in permissions()
        for verb in permission.verbs
        if permission.role in COMPONENTS
        and verb in CHANGES
        and not permission.resource.endswith("/binding")
        and not permission.only
        if (write := Write.of(permission.role, verb, permission.resource)) not in listed
    ]
    assert not unlisted


def test_every_write_is_explained_and_made_to_fail_by_a_scenario_that_exists() -> None:
    known = {scenario.id.partition("[")[0] for scenario in features.read_all([assets.features()])}
    for row in partial_writes.stored().writes:
        assert row.leaves, row
        assert row.fails_in, row
        assert set(row.fails_in) <= known, row.write


def test_the_page_shows_the_list() -> None:
    assert (ROOT / "docs" / "reference" / "partial-writes.md").read_text() == page(partial_writes.stored())


@pytest.mark.parametrize("part", ["scheduler", "binder", "claim_controller", "taint_eviction"])
def test_only_the_driver_writes_files(part: str) -> None:
    for path in (ROOT / "reference_impl" / part).rglob("*.py"):
        tree = ast.parse(path.read_text())
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert not {name.partition(".")[0] for name in imported} & {"pathlib", "shutil", "tempfile", "io"}, path
        assert "open" not in named, path


def written(log: EventLog, agent: str, method: str, path: str, status: int = 200) -> None:
    log.emit(ApiWrite(agent=agent, method=method, path=path, status=status))


def fault(resource: str) -> FaultInjected:
    return FaultInjected(component="binder", verb="update", resource=resource, name="n/c", what="answered 409")


def log_of(path: Path) -> EventLog:
    log = EventLog(path)
    log.begin_scenario("chapter/file#story[example]")
    written(log, "reference-binder", "PUT", f"{CLAIMS}/c")
    written(log, "reference-binder", "PUT", f"{CLAIMS}/c/status")
    written(log, "reference-binder", "POST", "/api/v1/namespaces/n/pods/p/binding", 403)
    written(log, "reference-binder", "GET", f"{CLAIMS}/c")
    written(log, "dra-conformance", "POST", CLAIMS)
    log.emit(fault("resourceclaims"))
    return log


def test_writes_without_a_fault_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log_of(path).close()
    found = partial_writes.of_logs([path])
    assert found.order["binder"] == [
        Write("binder", "update", "resourceclaims"),
        Write("binder", "update", "resourceclaims/status"),
    ]
    rows = partial_writes.rows_of(found)
    assert rows[0].fails_in == {"chapter/file#story": ["answered 409"]}
    (told,) = partial_writes.differences(found, rows)
    assert told.startswith("binder: update resourceclaims/status: no scenario makes this fail")


def test_unlisted_and_unused_writes_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = log_of(path)
    log.emit(fault("resourceclaims/status"))
    log.close()
    old = Row(component="binder", verb="delete", resource="resourceclaims", leaves="x", fails_in={"a": ["b"]})
    told = partial_writes.differences(partial_writes.of_logs([path]), [old])
    assert [text.partition(" (")[0] for text in told] == [
        "binder: update resourceclaims: not in the table",
        "binder: update resourceclaims/status: not in the table",
        "binder: delete resourceclaims: in the table, but no component made it",
    ]
