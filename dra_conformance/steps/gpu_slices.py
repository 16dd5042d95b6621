"""Containers with a share of a GPU, as HAMi-core reads their limits (feature memory-and-cores).

HAMi-core itself does not run: the steps compute from the variables and mounts of a container what it would do.

Source: README.md, src/multiprocess and src/utils.c of Project-HAMi/HAMi-core at 8f3a89c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dra_api.objects import Obj
from dra_api.quantity import Quantity
from dra_conformance.components.node import ScenarioNode
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import World, in_words
from dra_conformance.kubelet.container_view import ContainerView
from dra_conformance.steps.containers import can_be_mounted, host_path, mount_of, view_of_claim, views
from dra_conformance.steps.driver_calls import own_results, start_again
from dra_conformance.steps.nodes import run_driver

MAX_GPUS = 16
"""The GPUs that HAMi-core knows (CUDA_DEVICE_MAX_COUNT)."""

_MEBI = 1 << 20
_CACHE = "CUDA_DEVICE_MEMORY_SHARED_CACHE"
_LOCK = "/tmp/vgpulock"  # noqa: S108 - the path that is compiled into HAMi-core
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_ALL_CORES = 100

Limits = tuple[int | None, int | None]
"""Memory in bytes and cores in percent of one GPU; None: no limit."""


@dataclass(slots=True)
class CacheFiles:
    """The cache files that containers of the scenario's claims have written, by the name of the claim."""

    written: dict[str, Path] = field(default_factory=dict)


@given('node "{node}" running the driver with slices of memory and cores')
def _(world: World, node: str) -> None:
    """Start a node with the driver in the mode in which it shares GPUs by memory and cores.

    The reference is started with flags for it. A driver of the feature memory-and-cores is in that mode by itself.
    """
    run_driver(world, node, flags=slicing_flags(world, world.node(node)))


@when('the driver with slices of memory and cores is started on "{node}"')
def _(world: World, node: str) -> None:
    """Start the driver in that mode on a node with a kubelet; nothing is waited for."""
    component = world.node(node)
    component.flags = tuple(slicing_flags(world, component).split())
    start_again(world, component)


def slicing_flags(world: World, node: ScenarioNode) -> str:
    """Return the reference's flags for the mode; none for another driver."""
    if world.run.components.spec("driver").kind != "reference":
        return ""
    mode = "--feature-gates=ConsumableShares=true --consumable-shares=memory-and-cores"
    return f"{mode} --limiter-path={node.root / 'vgpu'}"


def amount(text: str) -> int:
    """Return a limit as HAMi-core reads it: a number with the unit k, m or g; 0 if it is none."""
    unit = _UNITS.get(text[-1:].lower(), 1)
    digits = text[:-1] if unit > 1 else text
    return int(digits) * unit if digits.isdecimal() else 0


def limits_of(view: ContainerView, gpu: int) -> Limits:
    """Return the limits that HAMi-core enforces on the GPU with this number in the container."""

    def read(name: str) -> int | None:
        # A variable without a number holds for the GPUs that have none of their own; 0 is no limit.
        return amount(view.env.get(f"{name}_{gpu}", "")) or amount(view.env.get(name, "")) or None

    cores = read("CUDA_DEVICE_SM_LIMIT")
    return read("CUDA_DEVICE_MEMORY_LIMIT"), None if cores is not None and cores >= _ALL_CORES else cores


def show(limits: Sequence[Limits]) -> list[str]:
    """Return limits as reports show them."""
    return [
        f"{'all' if memory is None else f'{memory / _MEBI:g}Mi'} and {'all' if cores is None else cores} cores"
        for memory, cores in limits
    ]


def read_table(table: list[list[str]]) -> list[Limits]:
    """Return the limits of a table with the columns memory and cores; `all` is no limit."""
    return [
        (
            None if memory == "all" else int(Quantity.parse(memory).value),
            None if cores == "all" else int(cores),
        )
        for memory, cores in table[1:]
    ]


def check_limits(world: World, view: ContainerView, wanted: Sequence[Limits]) -> None:
    """Check the limits of the GPUs of a container, in the order of its GPUs."""
    found = [limits_of(view, number) for number in range(len(wanted))]
    world.check(found == list(wanted), "limits of the container", expected=show(wanted), observed=show(found))


@then('a container with claim "{claim}" on "{node}" is limited to:')
def _(world: World, claim: str, node: str, datatable: list[list[str]]) -> None:
    """HAMi-core limits GPU 0, 1 … of the container to the memory and cores of each row; `all` is no limit."""
    check_limits(world, view_of_claim(world, node, claim), read_table(datatable))


@then('container "{container}" of pod "{pod}" on "{node}" is limited to:')
def _(world: World, container: str, pod: str, node: str, datatable: list[list[str]]) -> None:
    """HAMi-core limits GPU 0, 1 … of the running container to the memory and cores of each row."""
    check_limits(world, views(world, node, pod)[container], read_table(datatable))


@then('a container with claim "{claim}" on "{node}" is limited, in any order, to:')
def _(world: World, claim: str, node: str, datatable: list[list[str]]) -> None:
    """HAMi-core limits the first GPUs of the container to the memory and cores of the rows, one row for each GPU."""
    wanted, view = read_table(datatable), view_of_claim(world, node, claim)
    found = [limits_of(view, number) for number in range(len(wanted))]
    same = sorted(map(str, found)) == sorted(map(str, wanted))
    expected, observed = show(sorted(wanted, key=str)), show(sorted(found, key=str))
    world.check(same, "limits of the container", expected=expected, observed=observed)


@then('the limits of a container with claim "{claim}" on "{node}" are in the order of its GPUs')
def _(world: World, claim: str, node: str) -> None:
    """The n-th limits are what the claim consumes of its n-th GPU in the order of NVML."""
    order = nvml_order(world.node(node))
    results = own_results(world, claim)
    uuids = {str(device["name"]): uuid_of(device) for device in world.node(node).devices()}
    if any(uuids.get(result["device"]) not in order for result in results):
        raise Untestable(f"the devices of claim {claim} have no uuid of NVML: {uuids}")
    results.sort(key=lambda result: order.index(uuids[result["device"]]))
    wanted = [consumed_limits(result.get("consumedCapacity") or {}) for result in results]
    check_limits(world, view_of_claim(world, node, claim), wanted)


def nvml_order(node: ScenarioNode) -> list[str]:
    """Return the uuids of the node's GPUs in the order of NVML, which is that of their PCI addresses."""
    with node.nvml_session() as nvml:
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        return [str(nvml.nvmlDeviceGetUUID(handle)) for handle in handles]


def uuid_of(device: Obj) -> str:
    """Return the attribute `uuid` of a published device."""
    return str(((device.get("attributes") or {}).get("uuid") or {}).get("string"))


def consumed_limits(consumed: Obj) -> Limits:
    """Return consumed capacity as limits: 100 cores and more are no limit."""
    memory, cores = (int(Quantity.parse(str(consumed.get(name, 0))).value) for name in ("memory", "cores"))
    return memory // _MEBI * _MEBI or None, cores if 0 < cores < _ALL_CORES else None


@then('a container with claim "{claim}" on "{node}" may use its whole GPU')
def _(world: World, claim: str, node: str) -> None:
    """HAMi-core limits GPU 0 neither below 100 cores nor below the memory that the driver publishes for it."""
    device = own_results(world, claim)[0]["device"]
    published = next(one for one in world.node(node).devices() if one["name"] == device)
    whole = Quantity.parse(str(published["capacity"]["memory"]["value"])).value
    memory, cores = limits_of(view_of_claim(world, node, claim), 0)
    ok = cores is None and (memory is None or memory >= whole // _MEBI * _MEBI)
    observed = f"cores {'no limit' if cores is None else cores}, memory {'no limit' if memory is None else memory}"
    expected = f"cores no limit, memory no limit or {whole // _MEBI * _MEBI} or more"
    world.check(ok, "limits of the container", expected=expected, observed=observed)


@then('HAMi-core is loaded in a container with claim "{claim}" on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """A read-only mount has libvgpu.so, and /etc/ld.so.preload is mounted read-only or LD_PRELOAD names the library."""
    view = view_of_claim(world, node, claim)
    mounts = [one for one in view.mounts if "ro" in one.options and can_be_mounted(one)]
    libraries = [one.container_path for one in mounts if Path(one.container_path).name == "libvgpu.so"]
    variable = view.env.get("LD_PRELOAD", "").replace(":", " ").split()
    preloaded = any(one.container_path == "/etc/ld.so.preload" for one in mounts) or bool({*variable} & {*libraries})
    observed = [f"{one.container_path} {','.join(one.options)}" for one in view.mounts]
    seen = f"mounts {in_words(observed)}, {'preloaded' if preloaded else 'not preloaded'}"
    expected = "mounts with libvgpu.so, ro, preloaded"
    world.check(bool(libraries) and preloaded, "the library", expected=expected, observed=seen)


def writable_host_path(world: World, view: ContainerView, path: str) -> Path | None:
    """Return where a path of the container lies on this machine; None if no writable mount has it."""
    mount = mount_of(view, path)
    if mount is None or not can_be_mounted(mount) or "ro" in mount.options:
        return None
    found = host_path(view, path)
    return None if found is None else on_this_machine(world, found)


def on_this_machine(world: World, path: Path) -> Path:
    """Return where a file of the node lies: the driver sees what `--driver-mount` shows it."""
    for source, target in world.run.components.spec("driver").mounts:
        if path.is_relative_to(target):
            return source / path.relative_to(target)
    return path


def cache_file(world: World, claim: str, node: str) -> Path | None:
    """Return the cache file of the containers of a claim on this machine; None if they cannot write it."""
    view = view_of_claim(world, node, claim)
    found = writable_host_path(world, view, view.env.get(_CACHE, "")) if view.env.get(_CACHE) else None
    return found if found is not None and found.parent.is_dir() else None


@then('each of the claims "{claims}" has a cache file of its own on "{node}"')
def _(world: World, claims: str, node: str) -> None:
    """The variable names a file in a directory that exists and that containers can write; no two claims share it."""
    found = {claim: cache_file(world, claim, node) for claim in words(claims)}
    ok = all(found.values()) and len({*found.values()}) == len(found)
    observed = in_words({claim: str(path or "none that can be written") for claim, path in found.items()})
    world.check(ok, f"{_CACHE} of {claims}", expected="a file for each, no two the same", observed=observed)


@when('a container with claim "{claim}" on "{node}" writes its cache file')
def _(world: World, claim: str, node: str) -> None:
    """Create the file, as HAMi-core does in the first process of a container."""
    path = cache_file(world, claim, node)
    if path is None:
        raise Untestable(f"the containers of claim {claim} have no cache file that they can write")
    path.write_bytes(b"usage")
    world.state(CacheFiles).written[claim] = path


@then('the cache file of claim "{claim}" is {state:word}')
def _(world: World, claim: str, state: str) -> None:
    """The file that a container has written is `kept`, with its content, or `removed`."""
    path = world.state(CacheFiles).written.get(claim)
    if path is None:
        raise Untestable(f"no container of claim {claim} has written a cache file")
    if state not in ("kept", "removed"):
        raise SpecificationError(f"a cache file is kept or removed, not {state}")
    there = path.is_file() and path.read_bytes() == b"usage"
    world.check(there == (state == "kept"), str(path), expected=state, observed="kept" if there else "removed")


@then('containers with the claims "{claims}" on "{node}" share one lock')
def _(world: World, claims: str, node: str) -> None:
    """Each has a writable directory at /tmp/vgpulock, and it is the same directory of the node."""
    found = {str(path or "none that can be written") for path in lock_directories(world, words(claims), node)}
    ok = len(found) == 1 and Path(next(iter(found))).is_absolute()
    world.check(ok, f"directory at {_LOCK}", expected="one for all", observed=in_words(sorted(found)))


def lock_directories(world: World, claims: Sequence[str], node: str) -> Iterator[Path | None]:
    """Yield the directory of the node that the containers of each claim have for the lock."""
    for claim in claims:
        yield writable_host_path(world, view_of_claim(world, node, claim), _LOCK)
