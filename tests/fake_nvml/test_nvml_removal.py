"""Unreadable states are rejected with the reason, and the suggested fix works."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import fake_nvml
from fake_nvml.cli import main
from fake_nvml.layout import Header

Damage = Callable[[Path], object]


def _layout(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(Header.layout_version.offset)
        file.write((77).to_bytes(4, "little"))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: os.truncate(path, 9000), r"it is damaged: 9000 bytes of \d+"),
        (lambda path: os.truncate(path, 0), "it is damaged: too short"),
        (lambda path: path.write_bytes(b"hello" * 2000), "it is damaged, or no node's state"),
        (_layout, "its layout is version 77, this fake_nvml reads version 3"),
    ],
    ids=["cut", "empty", "foreign", "version"],
)
def test_an_unreadable_state_can_be_removed(tmp_path: Path, damage: Damage, reason: str) -> None:
    folder = tmp_path / "node"
    run = CliRunner().invoke
    assert run(main, ["create", str(folder), "-i", "t4"]).exit_code == 0
    damage(folder / "state")
    with pytest.raises(fake_nvml.FakeNvmlError, match=reason):
        fake_nvml.Node.open(folder)
    refused = run(main, ["smi", "--node", str(folder)])
    assert refused.exit_code == 2
    assert f"`fake-nvml remove {folder}` takes it away; then create the node again" in refused.output
    assert run(main, ["remove", str(folder)]).exit_code == 0
    assert not folder.exists()
    assert run(main, ["create", str(folder), "-i", "t4"]).exit_code == 0


def test_a_rack_goes_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "rack"
    made = CliRunner().invoke(main, ["create", str(folder), "-i", "gb200-nvl72-node", "--nodes", "2"])
    node = fake_nvml.Node.open(folder / "node-02")
    nvml = fake_nvml.load_pynvml(node)
    nvml.nvmlInit()
    assert len(fake_nvml.remove_node(folder)) == len(made.output.split()) == 2
    with pytest.raises(nvml.NVMLError_DriverNotLoaded):
        nvml.nvmlDeviceGetCount()
    node.close()
    assert not folder.exists()


def test_what_is_no_node_stays(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "state").write_text("of something else")
    for folder in (tmp_path / "mine", tmp_path, tmp_path / "mine" / "state"):
        refused = CliRunner().invoke(main, ["remove", str(folder)])
        assert refused.exit_code == 2
    assert (tmp_path / "mine" / "state").read_text() == "of something else"
