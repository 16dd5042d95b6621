"""A rack of fake nodes whose GPUs are one NVLink domain, seen through the NVML of each node."""

from __future__ import annotations

import ctypes
import uuid
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import fake_nvml
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then
from dra_conformance.engine.world import World, in_words
from dra_conformance.steps.nvml_refusals import refusal
from dra_conformance.steps.nvml_values import platform_information

_COMPLETED = 3


@dataclass(frozen=True, slots=True)
class RackGpu:
    """A GPU of a rack: fabric information and where it is."""

    node: int
    uuid: str
    state: int
    cluster: str
    clique: int
    slot: int
    tray: int
    chassis: str


@dataclass(slots=True)
class Rack:
    """The GPUs of the scenario's rack."""

    gpus: list[RackGpu] = field(default_factory=list)


@given("a rack of {count:d} nodes")
def _(world: World, count: int) -> None:
    """Create a rack of fake nodes and read its GPUs, each through the NVML of its own node."""
    if world.run.options.nvml == "real":
        raise Untestable("this machine is one node")
    world.run.components.work.mkdir(parents=True, exist_ok=True, mode=0o700)
    pool = world.run.pynvml_pool
    for number, node in enumerate(fake_nvml.create_rack(world.run.components.work / world.suffix, nodes=count)):
        world.cleanup.callback(node.close)
        nvml = pool.load(node)
        world.cleanup.callback(pool.give_back, nvml)
        nvml.nvmlInit()
        for index in range(nvml.nvmlDeviceGetCount()):
            world.state(Rack).gpus.append(_read(nvml, nvml.nvmlDeviceGetHandleByIndex(index), number + 1))


def _read(nvml: Any, handle: Any, node: int) -> RackGpu:
    fabric = nvml.c_nvmlGpuFabricInfo_v2_t()
    nvml.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(fabric))
    platform = platform_information(nvml, handle)
    return RackGpu(
        node=node,
        uuid=str(nvml.nvmlDeviceGetUUID(handle)),
        state=fabric.state,
        cluster=str(uuid.UUID(bytes=bytes(fabric.clusterUuid))),
        clique=fabric.cliqueId,
        # pynvml declares the numbers as single characters.
        slot=ord(platform.slotNumber),
        tray=ord(platform.trayIndex),
        chassis=str(platform.chassisSerialNumber),
    )


@then("all {count:d} GPUs of the rack are in one cluster and one clique, and no two have one UUID")
def _(world: World, count: int) -> None:
    """Compare the fabric information of all GPUs, and count their UUIDs."""
    gpus = world.state(Rack).gpus
    fabrics = {(gpu.state, gpu.cluster, gpu.clique) for gpu in gpus}
    zero = str(uuid.UUID(int=0))
    one = len(fabrics) == 1 and all(state == _COMPLETED and cluster != zero for state, cluster, _ in fabrics)
    seen = "; ".join(f"state {state}, cluster {cluster}, clique {clique}" for state, cluster, clique in sorted(fabrics))
    world.check(one, "fabric of the rack", expected=f"state {_COMPLETED}, one cluster, one clique", observed=seen)
    uuids = len({gpu.uuid for gpu in gpus})
    world.check(uuids == count, f"different UUIDs of {len(gpus)} GPUs", expected=count, observed=uuids)


@then("the GPUs of its nodes are in these places of one chassis")
def _(world: World, datatable: list[list[str]]) -> None:
    """Compare the place of each node's GPUs; columns: node, slot, tray."""
    gpus = world.state(Rack).gpus
    found = [list(place) for place in sorted({(str(gpu.node), str(gpu.slot), str(gpu.tray)) for gpu in gpus})]
    world.check(found == datatable[1:], "slots and trays", expected=datatable[1:], observed=found)
    chassis = {gpu.chassis for gpu in gpus}
    ok = len(chassis) == 1 and "" not in chassis
    world.check(ok, "serial numbers of the chassis", expected="one", observed=in_words(sorted(chassis)))


@then("another rack has another cluster and chassis and other GPUs, and no rack has 0 nodes")
def _(world: World) -> None:
    """Create a second rack of one node and compare; a rack without nodes, or in folders in use, is refused."""
    first, folder = world.state(Rack).gpus[0], world.run.components.work / f"{world.suffix}-other"
    uuids = {gpu.uuid for gpu in world.state(Rack).gpus}
    for node in fake_nvml.create_rack(folder, nodes=1):
        world.cleanup.callback(node.close)
        nvml = world.run.pynvml_pool.load(node)
        world.cleanup.callback(world.run.pynvml_pool.give_back, nvml)
        nvml.nvmlInit()
        other = _read(nvml, nvml.nvmlDeviceGetHandleByIndex(0), 1)
        same = {first.cluster, first.chassis} & {other.cluster, other.chassis}
        world.check(not same, "cluster or chassis that two racks share", expected=[], observed=sorted(same))
        shared = uuids & {other.uuid}
        world.check(not shared, "UUIDs of GPUs that two racks share", expected=[], observed=sorted(shared))
    for nodes, word in ((0, "not 0"), (2, str(folder))):
        observed = refusal(partial(fake_nvml.create_rack, folder, nodes=nodes))
        world.check(word in observed, f"a rack of {nodes} nodes", expected=f"an error: {word}", observed=observed)
