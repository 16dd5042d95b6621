"""Several fake nodes: their folders, identities and ends."""

from __future__ import annotations

import ctypes
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import fake_nvml
from dra_conformance.engine.vocabulary import given, then
from dra_conformance.engine.world import World
from dra_conformance.steps.nvml_refusals import refusal
from dra_conformance.steps.nvml_values import Gpu, value
from fake_nvml.layout import LAYOUT_VERSION, Header
from fake_nvml.state import FILE_SIZE


@dataclass(slots=True)
class Nodes:
    """The nodes that a scenario creates beside its first one, in order."""

    made: list[Any] = field(default_factory=list)


@given('nodes called {names} with the GPUs of "{inventory}"')
def _(world: World, names: str, inventory: str) -> None:
    """Create fake nodes, each in a folder of its own; `names` are separated by commas and may repeat."""
    world.run.components.work.mkdir(parents=True, exist_ok=True, mode=0o700)
    for number, name in enumerate(names.split(", ")):
        folder = world.run.components.work / f"nodes{world.suffix}" / str(number)
        node = fake_nvml.Node.create(inventory, folder, name=name)
        world.cleanup.callback(node.close)
        world.state(Nodes).made.append(node)


@then("nodes {one:d} and {two:d} have the same identities, and node {other:d} has others")
def _(world: World, one: int, two: int, other: int) -> None:
    """Compare UUID and serial number of all GPUs; nodes are numbered from 1."""
    made = world.state(Nodes).made
    first, second, third = (
        [str(node.get(index, name)) for index in range(len(node.gpus)) for name in ("uuid", "serial")]
        for node in (made[one - 1], made[two - 1], made[other - 1])
    )
    world.check(first == second, "identities of nodes of one name", expected=first, observed=second)
    world.check(
        len({*first, *third}) == len(first) + len(third),
        "different identities of nodes of two names",
        expected=len(first) + len(third),
        observed=len({*first, *third}),
    )


@then("no node can be made in the folder of another node, or below its files")
def _(world: World) -> None:
    """Try both; the error names the folder, and the files of the node stay as they are."""
    node = world.nvml().node
    before = sorted(node.directory.iterdir())
    for folder in (node.directory, node.state_path / "below"):
        observed = refusal(partial(_create, folder))
        expected = f"an error that names {folder}"
        world.check(str(folder) in observed, "a node in a folder in use", expected=expected, observed=observed)
    after = sorted(node.directory.iterdir())
    world.check(after == before, "files of the first node", expected=before, observed=after)


@then("node {number:d} has a folder for its user alone, until it ends")
def _(world: World, number: int) -> None:
    """Compare the mode of the folder; then end the node: its library returns DRIVER_NOT_LOADED, the folder is gone."""
    node, pool = world.state(Nodes).made[number - 1], world.run.pynvml_pool
    folder: Path = node.directory
    mode = stat.S_IMODE(folder.stat().st_mode)
    world.check(mode == stat.S_IRWXU, "mode of the folder", expected=f"{stat.S_IRWXU:o}", observed=f"{mode:o}")
    nvml = pool.load(node)
    world.cleanup.callback(pool.give_back, nvml)
    nvml.nvmlInit()
    node.close()
    observed = "a number"
    try:
        nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        observed = "DRIVER_NOT_LOADED" if error.value == nvml.NVML_ERROR_DRIVER_NOT_LOADED else str(error)
    world.check(observed == "DRIVER_NOT_LOADED", "number of GPUs", expected="DRIVER_NOT_LOADED", observed=observed)
    there = folder.exists()
    world.check(
        not there, f"folder {folder} of the node", expected="removed", observed="exists" if there else "removed"
    )


@then("the node shows GPU {index:d} as lost, and no other")
def _(world: World, index: int) -> None:
    """Compare the GPUs that the Python interface of the node shows as lost."""
    lost = [view.index for view in world.nvml().node.gpus if view.lost]
    world.check(lost == [index], "lost GPUs", expected=[index], observed=lost)


@value("view by the node")
def _(gpu: Gpu) -> object:
    """Return a GPU as the Python interface of the fake node shows it."""
    view = gpu.library.node.gpus[gpu.index]
    return [view.index, view.uuid, view.name, view.bus_id, view.minor, view.mig_enabled]


@value("view by NVML")
def _(gpu: Gpu) -> object:
    nvml = gpu.nvml
    mode = gpu.library.outcome(nvml.nvmlDeviceGetMigMode, gpu.handle)
    identity = [nvml.nvmlDeviceGetUUID(gpu.handle), nvml.nvmlDeviceGetName(gpu.handle)]
    places = [nvml.nvmlDeviceGetPciInfo(gpu.handle).busId, nvml.nvmlDeviceGetMinorNumber(gpu.handle)]
    return [gpu.index, *identity, *places, mode[0] == 1]


@then("a node that is missing, damaged, of another version or closed is refused with the reason")
def _(world: World) -> None:
    """Open folders whose state file is none of this version; the error names the file and the reason."""
    with world.nvml().node.state_path.open("rb") as file:
        header: bytes = file.read(ctypes.sizeof(Header))
    newer = Header.from_buffer_copy(header)
    newer.layout_version += 1
    cases = {
        "does not exist": None,
        "too short": b"",
        "no node's state": bytes(len(header)),
        f"version {newer.layout_version}, this fake_nvml reads version {LAYOUT_VERSION}": bytes(newer),
        f"damaged: {len(header)} bytes of {FILE_SIZE}": header,
    }
    for number, (reason, content) in enumerate(cases.items()):
        folder = world.run.components.work / f"opened{world.suffix}" / str(number)
        folder.mkdir(parents=True)
        if content is not None:
            (folder / "state").write_bytes(content)
        _refused(world, partial(fake_nvml.Node.open, folder), str(folder / "state"), reason)
    made = world.state(Nodes).made[0]
    with fake_nvml.Node.open(made.directory) as opened:
        names = [opened.name, *(view.uuid for view in opened.gpus)]
        expected = [made.directory.name, *(view.uuid for view in made.gpus)]
        world.check(names == expected, "a node that is opened again", expected=expected, observed=names)
    _refused(world, opened.read, str(opened.state_path), "closed")
    there = made.state_path.exists()
    observed = "exists" if there else "removed"
    world.check(there, "state file of a node that another program closed", expected="exists", observed=observed)


def _create(folder: Path) -> None:
    fake_nvml.Node.create("t4", folder).close()


def _refused(world: World, act: Callable[[], object], *words: str) -> None:
    observed = refusal(act)
    expected = f"an error: {' '.join(words)}"
    world.check(all(word in observed for word in words), "a node state", expected=expected, observed=observed)


@then("the call log lists {functions} on GPU {gpu:d}, from the start of the log to its end")
def _(world: World, functions: str, gpu: int) -> None:
    """Call the getters of a number once before, while and after calls are logged."""
    library, handle = world.nvml(), world.nvml().handle(gpu)
    for logged in (None, True, False):
        if logged is not None:
            library.node.log_calls(logged)
        for function in functions.split(", "):
            library.call(function, handle, ctypes.byref(ctypes.c_uint64(0)))
    observed = [(call.function, call.gpu) for call in library.node.calls()]
    expected = [(function, gpu) for function in functions.split(", ")]
    world.check(observed == expected, "call log", expected=expected, observed=observed)
