"""The board files that ship with the package: known keys, possible values, sources, and placeable profiles."""

from __future__ import annotations

from typing import Any

import pytest

from fake_nvml import documents
from fake_nvml.boards import BOARDS_DIR, board_names, check_value, load_board
from fake_nvml.fields import SCALARS, STRINGS
from fake_nvml.layout import MAX_PROFILES

_PROFILE = {"enum", "id", "name", "slices", "instances", "memory_mib", "sm", "ce", "dec", "enc", "jpeg", "ofa", "size"}
_PROFILE |= {"starts"}


def _data(name: str) -> dict[str, Any]:
    data = documents.read(BOARDS_DIR / f"{name}.yaml").data
    assert isinstance(data, dict)
    return data


@pytest.mark.parametrize("name", sorted(path.stem for path in BOARDS_DIR.glob("*.yaml")))
def test_values_of_a_board_are_possible_and_have_a_source(name: str) -> None:
    data = _data(name)
    assert data.keys() <= {"extends", "pci", "groups", "mig", "nvlink"}
    for group in data["groups"]:
        assert group.keys() == {"source", "verified", "values"}
        assert isinstance(group["source"], str)
        assert isinstance(group["verified"], bool)
        for field, value in group["values"].items():
            assert field in {*SCALARS, *STRINGS} - {"uuid"}
            assert check_value(field, value) == value, field
    for key, keys in {"pci": {"device_id", "subsystem_id", "class"}, "nvlink": {"switches"}}.items():
        if key in data:
            assert data[key].keys() == keys | {"source", "verified"}


@pytest.mark.parametrize("name", board_names())
def test_profiles_of_a_board_can_be_placed(name: str) -> None:
    mig, total = _data(name).get("mig"), load_board(name).values["memory_total"].value
    if mig is None:
        return
    assert mig.keys() == {"source", "verified", "profiles"}
    for row in mig["profiles"]:
        assert _PROFILE <= row.keys() <= _PROFILE | {"verified", "note"}
        assert row["enum"] < MAX_PROFILES
        assert row["size"] >= 1
        assert all(0 <= start <= 8 - row["size"] for start in row["starts"])
        assert isinstance(total, int)
        assert row["memory_mib"] << 20 <= total
    for key in ("id", "enum", "name"):
        assert len({row[key] for row in mig["profiles"]}) == len(mig["profiles"])
