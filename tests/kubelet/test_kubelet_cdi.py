"""CDI specifications: what a runtime accepts, how ids resolve, and what a container sees."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_conformance.kubelet import CDIError, CDIRegistry, Mount, read_spec, validate_spec
from dra_conformance.kubelet.container_view import build_view

KEYS = st.sampled_from(["cdiVersion", "kind", "devices", "containerEdits", "annotations", "name"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)
)
GOOD: dict[str, Any] = {
    "cdiVersion": "0.7.0",
    "kind": "vendor.com/gpu",
    "annotations": {"vendor.com/note": "x"},
    "devices": [
        {
            "name": "0",
            "containerEdits": {
                "env": ["GPU=0", "BOTH=device"],
                "deviceNodes": [{"path": "/dev/gpu0", "type": "c", "major": 195, "minor": 0, "permissions": "rw"}],
                "additionalGids": [44, 0, 44],
            },
        },
        {"name": "1", "containerEdits": {"env": ["GPU=1"], "deviceNodes": [{"path": "/dev/gpu0", "hostPath": "/h"}]}},
    ],
    "containerEdits": {
        "env": ["BOTH=common"],
        "mounts": [
            {"hostPath": "/a", "containerPath": "/deep/er/x", "options": ["ro", "bind"]},
            {"hostPath": "/b", "containerPath": "/top"},
        ],
        "hooks": [{"hookName": "createContainer", "path": "/bin/h", "args": ["h", "x"], "timeout": 5}],
    },
}


def changed(change: Any) -> dict[str, Any]:
    document = copy.deepcopy(GOOD)
    change(document)
    return document


def test_a_good_document_is_valid() -> None:
    assert validate_spec(GOOD) == []


def _set(*path: Any, value: Any) -> Any:
    def change(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_set("kind", value="gpu"), "kind:"),
        (_set("kind", value="vendor.com/gpu-"), "kind:"),
        (_set("cdiVersion", value="0.9.0"), "0.9.0 is no released version"),
        (_set("cdiVersion", value="0.6.0"), "must be at least 0.7.0"),
        (_set("extra", value=1), "extra"),
        (_set("devices", value=[]), "devices:"),
        (_set("devices", 0, "name", value="a b"), "devices.0.name"),
        (_set("devices", 1, "name", value="0"), "0 is declared twice"),
        (_set("devices", 0, "containerEdits", value={"env": []}), "0 has no edits"),
        (_set("devices", 0, "containerEdits", "env", value=["=x"]), "devices.0.containerEdits.env.0"),
        (_set("devices", 0, "containerEdits", "deviceNodes", 0, "path", value=""), "deviceNodes.0.path"),
        (_set("devices", 0, "containerEdits", "deviceNodes", 0, "type", value="z"), "deviceNodes.0.type"),
        (_set("devices", 0, "containerEdits", "deviceNodes", 0, "permissions", value="x"), "permissions"),
        (_set("containerEdits", "hooks", 0, "hookName", value="later"), "hookName"),
        (_set("containerEdits", "hooks", 0, "timeout", value="5"), "timeout"),
        (_set("containerEdits", "mounts", 0, "hostPath", value=""), "mounts.0.hostPath"),
        (_set("containerEdits", "netDevices", value=[{"hostInterfaceName": "a", "name": "b"}]), "at least 1.1.0"),
    ],
)
def test_a_bad_document_is_refused_with_the_place(change: Any, expected: str) -> None:
    (reason, *_) = validate_spec(changed(change))
    assert expected in reason


@pytest.mark.parametrize("document", [None, [], "text", 3, {}])
def test_what_is_no_specification_is_refused(document: object) -> None:
    assert validate_spec(document)


@given(ANYTHING)
def test_no_document_breaks_the_validator(document: object) -> None:
    assert isinstance(validate_spec(document), list)


def test_a_file_that_is_no_yaml_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(CDIError, match="is neither JSON nor YAML"):
        read_spec(tmp_path / "x.json")
    registry = CDIRegistry.read([tmp_path])
    with pytest.raises(CDIError, match=r"unresolvable CDI devices v.com/c=x; .* no device; not usable: .*x.json"):
        registry.resolve(["v.com/c=x"])


@pytest.mark.parametrize(
    "text",
    [
        "?",
        "? [a]\n: b",
        "{1: a}",
        "kind: 2026-01-01",
        "kind: !!binary eA==",
        "kind: !!set {a, b}",
        "kind: 18446744073709551616",
    ],
)
def test_yaml_that_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(CDIError):
        read_spec(tmp_path / "x.yaml")
    CDIRegistry.read([tmp_path])


def test_later_folders_win_and_one_folder_may_not_contradict_itself(tmp_path: Path) -> None:
    for folder, name in (("etc", "a"), ("run", "a"), ("run", "b")):
        (tmp_path / folder).mkdir(exist_ok=True)
        only = {"0"} if name == "a" else {"1"}
        document = changed(lambda d, only=only: d.update(devices=[x for x in d["devices"] if x["name"] in only]))
        (tmp_path / folder / f"{name}.yaml").write_text(json.dumps(document))
    registry = CDIRegistry.read([tmp_path / "etc", tmp_path / "run", tmp_path / "absent"])
    assert registry.devices["vendor.com/gpu=0"].spec.path == tmp_path / "run" / "a.yaml"
    (tmp_path / "run" / "c.json").write_text(json.dumps(GOOD))
    conflicted = CDIRegistry.read([tmp_path / "run"])
    assert dict(conflicted.devices) == {}
    assert "declared by several files" in str(conflicted.problems[0])
    (tmp_path / "run" / "ignored.txt").write_text("x")
    assert len(CDIRegistry.read([tmp_path / "run"]).problems) == len(conflicted.problems)


def test_a_later_folder_does_not_resolve_a_conflict_of_an_earlier_one(tmp_path: Path) -> None:
    for folder, name in (("etc", "a"), ("etc", "b"), ("run", "a")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{name}.json").write_text(json.dumps(GOOD))
    registry = CDIRegistry.read([tmp_path / "etc", tmp_path / "run"])
    assert dict(registry.devices) == {}
    assert {problem.path.parent.name for problem in registry.problems} == {"etc"}


def test_the_view_merges_as_a_runtime_does(tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps(GOOD))
    registry = CDIRegistry.read([tmp_path])
    container = {"name": "m", "env": [{"name": "OWN", "value": "1"}, {"name": "GPU", "value": "none"}]}
    ids = ["vendor.com/gpu=0", "vendor.com/gpu=1", "vendor.com/gpu=0"]
    view = build_view(container, ids, registry)
    assert view.cdi_devices == ("vendor.com/gpu=0", "vendor.com/gpu=1")
    assert view.env == {"OWN": "1", "GPU": "1", "BOTH": "device"}
    (node,) = view.device_nodes
    assert (node.path, node.permissions, node.major) == ("/dev/gpu0", "rwm", None)
    assert view.mounts == (Mount("/top", "/b", ()), Mount("/deep/er/x", "/a", ("ro", "bind")))


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("brackets", "is nested too deeply"),
        ("aliases", "its aliases expand to more than"),
        ("fifo", "not a regular file"),
        ("zero", "not a regular file"),
        ("large", "larger than 16777216 bytes"),
    ],
)
def test_a_hostile_specification_is_a_problem_of_its_file(tmp_path: Path, kind: str, reason: str) -> None:
    (tmp_path / "good.json").write_text(json.dumps(GOOD))
    path = tmp_path / "bad.yaml"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "large":
        path.touch()
        os.truncate(path, 90 << 20)
    elif kind == "brackets":
        path.write_text("[" * 200_000)
    else:
        levels = (f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20))
        path.write_text("\n".join(["a0: &a0 [x]", *levels]))
    registry = CDIRegistry.read([tmp_path])
    assert "vendor.com/gpu=0" in registry.devices
    (problem,) = registry.problems
    assert problem.path == path
    assert reason in str(problem)
