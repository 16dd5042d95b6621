"""Inventories that would crash the parser, fill the memory or block the reader are refused where they are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dra_api import regular_file
from fake_nvml.errors import FakeNvmlError, InventoryError
from fake_nvml.inventory import Inventory
from fake_nvml.provision import provision

# 20 levels of ten aliases each: 10^20 values in 1,000 bytes.
BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 20))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"gpus: " + b"[" * 200_000, "is nested too deeply"),
        (b"- " * 100_000, "is nested too deeply"),
        (BOMB.encode(), "its aliases expand to more than 1000000 values"),
        (b"gpus: &a [*a]", "an alias contains itself"),
        (b"gpus: 2020-13-45", "a value is not of its type"),
        (b"gpus: \xff", "cannot be read"),
        (b"#" * (regular_file.MAX_SIZE + 1), "larger than"),
    ],
    ids=["deep", "deep-lists", "aliases", "own-alias", "date", "bytes", "large"],
)
def test_a_hostile_inventory_is_refused(tmp_path: Path, text: bytes, reason: str) -> None:
    path = tmp_path / "default.yaml"
    path.write_bytes(text)
    with pytest.raises(InventoryError, match=rf"default\.yaml.*{reason}"):
        Inventory.load(path)
    with pytest.raises(FakeNvmlError, match=rf"default\.yaml.*{reason}"):
        provision(tmp_path / "node", machine="n1", inventories=tmp_path)
    assert not (tmp_path / "node").exists()


def test_an_inventory_that_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "default.yaml")
    with pytest.raises(InventoryError, match="not a regular file"):
        Inventory.load(tmp_path / "default.yaml")
    with pytest.raises(FakeNvmlError, match="has no inventory for n1"):
        provision(tmp_path / "node", machine="n1", inventories=tmp_path)
