"""Tests of the steps that change a checkpoint of NVIDIA's driver: its checksums are right afterwards."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from dra_api.objects import Obj
from dra_conformance.core.errors import Untestable
from dra_conformance.steps.nvidia_checkpoint import kubelet_checksum, nvidia_sums, reference_sums, rewrite, stored_sums


def test_the_checksum_is_that_of_the_kubelets_checkpoint_manager() -> None:
    # Computed with go-spew and hash/fnv of Go.
    assert kubelet_checksum(b'{"a":1}') == 1187653614


@pytest.mark.parametrize("sums", [nvidia_sums, reference_sums])
def test_a_changed_file_has_right_checksums_of_its_own_kind(tmp_path: Path, sums: object) -> None:
    assert callable(sums)
    path = tmp_path / "checkpoint.json"
    document: Obj = {"checksum": 0, "v1": {"a": "<&>"}, "v2": {"checksum": 0, "nodeBootID": "b"}}
    document["checksum"], document["v2"]["checksum"] = sums(document)
    path.write_bytes(orjson.dumps(document))
    rewrite(path, lambda found: found["v2"].pop("nodeBootID"))
    changed = orjson.loads(path.read_bytes())
    assert "nodeBootID" not in changed["v2"]
    assert stored_sums(changed) == sums(changed)


def test_a_file_of_unknown_checksums_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.json"
    path.write_bytes(b'{"checksum": 1, "v1": {}}')
    with pytest.raises(Untestable, match="unknown kind"):
        rewrite(path, lambda found: found.pop("v1"))
    assert b'"v1"' in path.read_bytes()
