"""A Go program on go-nvml and go-nvlib, as NVIDIA's DRA driver uses them, against every board.

`make third-party` builds it.

Without Go there is nothing to run: these tests then say so and are skipped; with CI=true that is a failure.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import fake_nvml
from fake_nvml.boards import load_board

Make = Callable[..., fake_nvml.Node]

PROGRAM = Path(fake_nvml.__file__).resolve().parent.parent / "verification" / "bin" / "nvml-go"


@pytest.fixture(autouse=True)
def _built() -> None:
    if PROGRAM.exists():
        return
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{PROGRAM} is not built (make third-party); CI requires it")
    pytest.skip(f"{PROGRAM.name} is not built: `make third-party` needs Go")


def go(node: fake_nvml.Node, *arguments: str, status: int = 0) -> str:
    result = subprocess.run(
        [str(PROGRAM), *arguments],
        env={**os.environ, **node.env()},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == status, result.stderr
    return result.stdout if status == 0 else result.stderr


@pytest.mark.parametrize("inventory", fake_nvml.inventory_names())
def test_go_nvlib_enumerates_every_board(make_node: Make, inventory: str) -> None:
    """NVML-083, and NVML-036: the profile names that go-nvlib computes from memory sizes are those of the board."""
    node = make_node(inventory)
    rows = json.loads(go(node, "list"))
    assert [(row["uuid"], row["name"]) for row in rows] == [(gpu.uuid, gpu.name) for gpu in node.gpus]
    for row, spec in zip(rows, fake_nvml.Inventory.load(inventory).gpus, strict=True):
        assert row["memory"] == spec.value("memory_total")
        assert row["pciBusID"] == f"{spec.domain:04x}:{spec.bus:02x}:{spec.device:02x}.0"
        board = load_board(spec.board.name)
        assert row["migCapable"] == bool(board.profiles)
        assert {profile.name for profile in board.profiles} <= set(row["profiles"])
        assert [mig["profile"] for mig in row["migs"]] == [instance.profile.name for instance in spec.mig]


def test_a_rack_has_one_cluster(make_node: Make) -> None:
    rows = json.loads(go(make_node("gb200-nvl72-node"), "list"))
    assert {(row["clusterUUID"], row["cliqueID"], row["fabricState"]) for row in rows} == {
        ("3a1b6f526e0f4c559c1d7d9a0c0b7201", 2, 3)
    }


def test_mig_lifecycle_through_go(make_node: Make) -> None:
    """A GPU instance whose compute instance lives is in use (19); afterwards nothing is left."""
    node = make_node("dgx-h100-mig")
    node.reset(0)
    uuid, busy = go(node, "mig", "0", "9").split()
    assert uuid.startswith("MIG-")
    assert busy == "19"
    assert not any(instance.used for instance in node.read().gpus[0].instances)
    node.set(0, "mig_mode_current", 0)
    assert "create GPU instance: Not Supported" in go(node, "mig", "0", "9", status=1)


def test_an_xid_reaches_a_go_program(make_node: Make) -> None:
    node = make_node("dgx-h200")
    process = subprocess.Popen(
        [str(PROGRAM), "wait", "20000"],
        env={**os.environ, **node.env()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    node.inject_xid(6, 48)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert out.split() == [node.gpus[6].uuid, "48", str(0xFFFFFFFF)]


@pytest.mark.parametrize("error", ["DRIVER_NOT_LOADED", "LIB_RM_VERSION_MISMATCH"])
def test_go_says_why_there_is_no_driver(make_node: Make, error: str) -> None:
    node = make_node("h200")
    node.fail_init(error)
    assert "init" in go(node, "list", status=1)
