"""Lists of devices: what is refused, and by which words."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import orjson
import pytest

from dra_api.clock import RealClock
from reference_impl.errors import ComponentError
from reference_impl.inventory_plugin.inventory import Inventory
from reference_impl.inventory_plugin.prepare import InventoryPreparer, NotPreparedError
from reference_impl.kubelet_plugin.cdi import CdiFolder
from reference_impl.kubelet_plugin.checkpoint import Checkpoint
from reference_impl.kubelet_plugin.claims import AllocatedClaim, ClaimReader
from reference_impl.kubelet_plugin.metadata import MetadataFiles
from reference_impl.kubelet_plugin.node_service import ClaimStorage
from reference_impl.kubelet_plugin.nodelock import NodeLock

DRIVER = "nic.example.com"


@pytest.mark.parametrize("name", ["nic", "fpga"])
def test_shipped_inventories_fit_together(name: str) -> None:
    inventory = Inventory.load(name)
    assert len({device["name"] for device in inventory.devices}) == len(inventory.devices)
    assert all(inventory.edits[device["name"]] for device in inventory.devices)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("[]", "Expected `object`"),
        ("{device: []}", "unknown field `device`"),
        ("{devices: [{name: a, attribute: {}}]}", "unknown field `attribute`"),
        ("{devices: [{attributes: {}}]}", "missing required field `name`"),
        ("{devices: [{name: a, containerEdits: {hooks: []}}]}", "unknown field `hooks`"),
        ("devices: [", "while parsing"),
    ],
)
def test_slips_of_the_pen_are_named(document: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "devices.yaml"
    file.write_text(document)
    with pytest.raises(ComponentError, match=words):
        Inventory.load(str(file))


def test_a_file_that_does_not_exist_is_named() -> None:
    with pytest.raises(ComponentError, match="no-such-inventory"):
        Inventory.load("no-such-inventory")


def claim(uid: str, device: str) -> AllocatedClaim:
    results = [{"request": "nic", "driver": DRIVER, "pool": "n1", "device": device}]
    status = {"allocation": {"devices": {"results": results}}}
    return AllocatedClaim(uid=uid, name=uid, namespace="ns", status=status)


def preparer(folder: Path, *, metadata: bool = False) -> InventoryPreparer:
    (folder / "data").mkdir(exist_ok=True)
    made = InventoryPreparer(
        driver=DRIVER,
        inventory=Inventory.load("nic"),
        storage=ClaimStorage(
            claims=cast(ClaimReader, None),
            checkpoint=Checkpoint(folder / "data/checkpoint.json", boot_id="boot"),
            cdi=CdiFolder(folder / "cdi", vendor=f"k8s.{DRIVER}", cdi_class="claim"),
            metadata=MetadataFiles(
                driver=DRIVER, folder=folder / "data/metadata", cdi_root=folder / "cdi", enabled=metadata
            ),
            lock=NodeLock(folder / "data/lock", clock=RealClock(), timeout=60),
        ),
    )
    made.repair()
    return made


def test_a_device_is_had_once_and_comes_back(tmp_path: Path) -> None:
    first = preparer(tmp_path).prepare(claim("u1", "nic-0"))
    assert preparer(tmp_path).prepare(claim("u1", "nic-0")) == first
    with pytest.raises(NotPreparedError, match="different claim u1"):
        preparer(tmp_path).prepare(claim("u2", "nic-0"))
    preparer(tmp_path).unprepare("u1")
    preparer(tmp_path).unprepare("u1")
    assert preparer(tmp_path).prepare(claim("u2", "nic-0"))
    assert [path.name for path in (tmp_path / "cdi").iterdir()] == [f"k8s.{DRIVER}-claim_u2.yaml"]


def test_a_device_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotPreparedError, match="nic-7"):
        preparer(tmp_path).prepare(claim("u1", "nic-7"))


def test_devices_are_described_to_containers_if_that_is_enabled(tmp_path: Path) -> None:
    answer = preparer(tmp_path, metadata=True).prepare(claim("u1", "nic-0"))
    assert answer[0].cdi_device_ids == (f"k8s.{DRIVER}/claim=u1-nic-0", f"{DRIVER}/metadata=u1_nic")
    content = orjson.loads((tmp_path / "data/metadata/u1/nic.json").read_bytes().splitlines()[0])
    assert content["requests"][0]["devices"][0]["attributes"]["model"] == {"string": "Example CX-400"}
    # What an earlier start wrote is removed without the option as well.
    preparer(tmp_path).unprepare("u1")
    assert [*(tmp_path / "cdi").iterdir(), *(tmp_path / "data/metadata").iterdir()] == []


def test_metadata_that_no_claim_has_is_removed_at_the_start(tmp_path: Path) -> None:
    preparer(tmp_path, metadata=True).prepare(claim("u1", "nic-0"))
    (tmp_path / "data/checkpoint.json").unlink()
    preparer(tmp_path)
    assert [*(tmp_path / "cdi").iterdir(), *(tmp_path / "data/metadata").iterdir()] == []
