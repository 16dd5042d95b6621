"""Fake nodes of the machines of a cluster: made from a folder of inventories, kept, and replaced."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from pathlib import Path

from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import World
from fake_nvml import provision
from fake_nvml.errors import FakeNvmlError
from fake_nvml.node import Node

_SET = 88
"""A temperature that no board has."""


@dataclass(slots=True)
class Machines:
    """The folder of inventories, and the identities of the GPUs of each made node by folder and machine."""

    inventories: Path = Path()
    identities: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    owned: set[Path] = field(default_factory=set)


@when("the inventories of the machines are")
def _(world: World, datatable: list[list[str]]) -> None:
    """Write the folder of inventories anew; columns: file, text."""
    machines = world.state(Machines)
    machines.inventories = world.run.components.work / f"inventories{world.suffix}"
    world.run.components.work.mkdir(parents=True, exist_ok=True, mode=0o700)
    machines.inventories.mkdir(exist_ok=True, mode=0o700)
    for file in machines.inventories.iterdir():
        file.unlink()
    for name, text in datatable[1:]:
        (machines.inventories / name).write_text(f"{text}\n", encoding="utf-8")


@when('an interrupted start has left files in the folder "{name}"')
def _(world: World, name: str) -> None:
    """Make a folder with a part of a node and no state."""
    (_folder(world, name) / "driver").mkdir(parents=True)


@then("the fake nodes of the machines are made or kept as the table shows")
def _(world: World, datatable: list[list[str]]) -> None:
    """Provide nodes, one row after the other; columns: folder, machine, result, GPUs, identities.

    A node that is kept has the temperature that was set after the row before; one that is made has that of its board.
    Identities: `new`, or those of an earlier row (`a n1`), which a machine of the same name and index has.
    """
    machines = world.state(Machines)
    for name, machine, wanted, gpus, like in datatable[1:]:
        folder = _folder(world, name)
        made = provision.provision(folder, machine=machine, inventories=machines.inventories)
        what = f"node of machine {machine} in folder {name}"
        with Node.open(folder) as node:
            if folder not in machines.owned:
                machines.owned.add(folder)
                world.cleanup.callback(_remove, folder)
            hot = [node.get(gpu.index, "temperature_gpu") == _SET for gpu in node.gpus]
            result = ("made" if made else "kept") + ("" if any(hot) is not made else ", with other values")
            world.check(result == wanted, what, expected=wanted, observed=result)
            names = ", ".join(gpu.name for gpu in node.gpus)
            world.check(names == gpus, f"GPUs of the {what}", expected=gpus, observed=names)
            found = [str(node.get(gpu.index, one)) for gpu in node.gpus for one in ("uuid", "serial")]
            for gpu in node.gpus:
                node.set(gpu.index, "temperature_gpu", _SET)
            mode = stat.S_IMODE(node.state_path.stat().st_mode)
        world.check(mode == 0o644, f"mode of the state of the {what}", expected="644", observed=f"{mode:o}")
        same = sorted(" ".join(key) for key, other in machines.identities.items() if set(other) & set(found))
        exact = like in same and machines.identities[_key(like)] == found
        observed = "new" if not same else like if exact else ", ".join(same)
        world.check(observed == like, f"identities of the {what}", expected=like, observed=observed)
        machines.identities[name, machine] = found


@then('the fake node of machine "{machine}" is refused with "{text}"')
def _(world: World, machine: str, text: str) -> None:
    """Provide a node in a folder of its own; the error has the text, and no node is made."""
    folder = _folder(world, f"refused-{machine}")
    observed = "accepted"
    try:
        provision.provision(folder, machine=machine, inventories=world.state(Machines).inventories)
    except FakeNvmlError as error:
        observed = str(error)
    world.check(text in observed, f"node of machine {machine}", expected=f"an error: {text}", observed=observed)
    there = (folder / "state").exists()
    world.check(not there, f"state of a refused node of machine {machine}", expected=False, observed=there)


def _key(words: str) -> tuple[str, str]:
    folder, _, machine = words.partition(" ")
    return folder, machine


def _folder(world: World, name: str) -> Path:
    return world.run.components.work / f"machines{world.suffix}" / name


def _remove(folder: Path) -> None:
    node = Node.open(folder)
    node.own()
    node.close()
