"""The fake node of a machine in a cluster: created once, kept, and replaced when its inventory changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from fake_nvml.cli import main
from fake_nvml.errors import FakeNvmlError
from fake_nvml.node import Node
from fake_nvml.provision import provision
from fake_nvml.removal import remove_node


@pytest.fixture
def inventories(tmp_path: Path) -> Path:
    folder = tmp_path / "inventories"
    folder.mkdir()
    (folder / "default.yaml").write_text("t4\n")
    return folder


def gpus(folder: Path) -> list[tuple[str, str]]:
    with Node.open(folder) as node:
        return [(str(node.get(gpu.index, "name")), str(node.get(gpu.index, "uuid"))) for gpu in node.gpus]


def test_a_node_is_made_once_and_keeps_its_state(tmp_path: Path, inventories: Path) -> None:
    folder = tmp_path / "node"
    assert provision(folder, machine="n1", inventories=inventories)
    with Node.open(folder) as node:
        node.set(0, "temperature_gpu", 88)
    assert not provision(folder, machine="n1", inventories=inventories)
    with Node.open(folder) as node:
        assert node.get(0, "temperature_gpu") == 88
    remove_node(folder)


def test_a_machine_has_an_inventory_of_its_own_and_gpus_of_its_own(tmp_path: Path, inventories: Path) -> None:
    (inventories / "n2.yaml").write_text('driver_version: "580.1"\ncuda_version: "13.0"\ngpus: [{board: l40s-pcie}]\n')
    try:
        provision(tmp_path / "a", machine="n1", inventories=inventories)
        provision(tmp_path / "b", machine="n3", inventories=inventories)
        one, other = gpus(tmp_path / "a"), gpus(tmp_path / "b")
        assert [name for name, _ in one] == [name for name, _ in other]
        assert {uuid for _, uuid in one}.isdisjoint(uuid for _, uuid in other)
    finally:
        for name in ("a", "b"):
            remove_node(tmp_path / name)


def test_a_changed_inventory_replaces_the_node(tmp_path: Path, inventories: Path) -> None:
    folder = tmp_path / "node"
    provision(folder, machine="n1", inventories=inventories)
    before = gpus(folder)
    (inventories / "default.yaml").write_text("l40s")
    assert provision(folder, machine="n1", inventories=inventories)
    assert len(gpus(folder)) == 4 != len(before)
    remove_node(folder)


def test_what_an_interrupted_start_left_is_replaced(tmp_path: Path, inventories: Path) -> None:
    folder = tmp_path / "node"
    (folder / "driver").mkdir(parents=True)
    assert provision(folder, machine="n1", inventories=inventories)
    assert gpus(folder)
    remove_node(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [("no-such-board", "no inventory is called 'no-such-board'"), ("gpus: [", "not valid YAML"), ("", "default.yaml")],
)
def test_a_wrong_inventory_is_reported(tmp_path: Path, inventories: Path, text: str, message: str) -> None:
    (inventories / "default.yaml").write_text(text)
    with pytest.raises(FakeNvmlError, match=message):
        provision(tmp_path / "node", machine="n1", inventories=inventories)


def test_a_machine_without_an_inventory_is_reported_by_the_command(tmp_path: Path, inventories: Path) -> None:
    (inventories / "default.yaml").unlink()
    words = ["provision", str(tmp_path / "node"), "--machine", "n1", "--inventories", str(inventories)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert "neither n1.yaml nor default.yaml" in done.output
