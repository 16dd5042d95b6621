"""The devices that a GPU driver publishes: attributes and capacity, compared with expected values and with NVML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dra_api.objects import Obj
from dra_api.quantity import Quantity
from dra_conformance.core import expectations, manifests
from dra_conformance.core.expectations import ExpectedField
from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.node_faults import pci_address

BUS_ID = "attributes['resource.kubernetes.io/pciBusID'].string"


def of_type(world: World, node: str, kind: str) -> list[Obj]:
    """Return the published devices whose attribute `type` is this, or all with `published`."""
    return [
        device
        for device in world.node(node).devices()
        if kind == "published" or ((device.get("attributes") or {}).get("type") or {}).get("string") == kind
    ]


def full_gpus(world: World, node: str) -> list[Obj]:
    """Return the published devices that are whole GPUs."""
    return of_type(world, node, "gpu")


def nvml_gpus(world: World, node: str) -> dict[str, dict[str, Any]]:
    """Return what NVML reports for each GPU, by the device name `gpu-<minor number>`."""
    with world.node(node).nvml_session() as nvml:
        found = {}
        for index in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            found[f"gpu-{nvml.nvmlDeviceGetMinorNumber(handle)}"] = {
                "uuid": nvml.nvmlDeviceGetUUID(handle),
                "memory": int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
                "name": nvml.nvmlDeviceGetName(handle),
                "compute capability": "{}.{}.0".format(*nvml.nvmlDeviceGetCudaComputeCapability(handle)),
                "driver version": _semantic(str(nvml.nvmlSystemGetDriverVersion())),
                "CUDA version": _cuda_version(nvml.nvmlSystemGetCudaDriverVersion()),
                # NVML's PCI domain has eight digits, that of Linux has four.
                "PCI address": str(nvml.nvmlDeviceGetPciInfo(handle).busId).lower()[4:],
            }
        return found


def _semantic(version: str) -> str:
    """Return three numbers without leading zeros: 550.163.1 for 550.163.01."""
    numbers = [str(int(part)) for part in version.split(".")]
    return ".".join([*numbers, "0", "0"][:3])


def _cuda_version(number: int) -> str:
    """Return 12.4.0 for NVML's 12040."""
    return f"{number // 1000}.{number % 1000 // 10}.0"


def published(world: World, node: str, gpu: int) -> Obj:
    """Return the device that is the whole GPU of an index; a GPU that is not published breaks the current rule."""
    component = world.node(node)
    uuid = component.gpus.get(gpu, "uuid")
    for device in component.devices():
        if ((device.get("attributes") or {}).get("uuid") or {}).get("string") == uuid:
            return device
    names = in_words([device["name"] for device in component.devices()])
    world.check(False, f"GPU {gpu} is published", expected=f"a device with uuid {uuid}", observed=names)
    return {}


def judge_devices(world: World, node: str, kind: str, expected: Sequence[ExpectedField]) -> Seen[dict[str, Any] | None]:
    """Compare the fields of all devices of a type; without any device the fields are not as expected."""
    return _judge(of_type(world, node, kind), expected)


def _judge(found: Sequence[Obj], expected: Sequence[ExpectedField]) -> Seen[dict[str, Any] | None]:
    """Return whether all devices have the fields, and those of a device: of one that has not, if there is one."""
    wrong = [device for device in found if expectations.differences(expected, device)]
    shown = (wrong or found)[:1]
    seen = {"device": shown[0].get("name"), **expectations.seen(expected, shown[0])} if shown else None
    return bool(found) and not wrong, seen


def _wanted(expected: Sequence[ExpectedField]) -> dict[str, Any]:
    return {"device": "each", **expectations.wanted(expected)}


@then('every {kind:word} device on "{node}" has:')
def _(world: World, kind: str, node: str, datatable: list[list[str]]) -> None:
    """There are devices of this type (`published`: any), and each of them has the fields of the table now."""
    expected = expectations.read(datatable)
    seen = judge_devices(world, node, kind, expected)
    world.check_seen(f"fields of {kind} devices", seen, expected=_wanted(expected))


@then('every {kind:word} device on "{node}" comes to have:')
def _(world: World, kind: str, node: str, datatable: list[list[str]]) -> None:
    """There come to be devices of this type (`published`: any), each of them with the fields of the table."""
    expected = expectations.read(datatable)
    world.eventually(
        f"fields of {kind} devices",
        lambda: judge_devices(world, node, kind, expected),
        expected=_wanted(expected),
    )


@then('GPU {gpu:d} on "{node}" is published with:')
def _(world: World, gpu: int, node: str, datatable: list[list[str]]) -> None:
    """The device of the whole GPU has the fields of the table."""
    expected = expectations.read(datatable)
    device = published(world, node, gpu)
    wrong = expectations.differences(expected, device)
    observed = expectations.seen(expected, published(world, node, gpu))
    world.check(not wrong, f"fields of GPU {gpu}", expected=expectations.wanted(expected), observed=observed)


@then('the gpu devices on "{node}" are the GPUs of NVML, with its "{field}" as "{path}"')
def _(world: World, node: str, field: str, path: str) -> None:
    """One device gpu-<minor> for each GPU and no other; its field has what NVML reports, see `nvml_gpus`."""
    found = {device["name"]: manifests.look_up(device, path) for device in full_gpus(world, node)}
    if field == "memory":
        found = {name: Quantity.parse(str(value)).value for name, value in found.items() if value is not None}
    wanted = {name: gpu[field] for name, gpu in nvml_gpus(world, node).items()}
    world.check(found == wanted, f"{field} of GPUs", expected=wanted, observed=found)


@given('the GPUs of "{node}" have in NVML:')
def _(world: World, node: str, datatable: list[list[str]]) -> None:
    """Set fields of the fake GPUs, one row for each GPU from index 0 on; the header has the names of the fields."""
    names, gpus = datatable[0], world.node(node).gpus
    for index, row in enumerate(datatable[1:]):
        for name, value in zip(names, row, strict=True):
            gpus.set(index, name, int(value))


@then('the GPUs on "{node}" are published with:')
def _(world: World, node: str, datatable: list[list[str]]) -> None:
    """Compare text attributes of whole GPUs, one row for each GPU from index 0 on; the header has their names."""
    names = datatable[0]
    found = [published(world, node, index).get("attributes") or {} for index in range(len(datatable) - 1)]
    observed: list[Any] = [[(attributes.get(name) or {}).get("string") for name in names] for attributes in found]
    world.check(observed == datatable[1:], f"{', '.join(names)} of GPUs", expected=datatable[1:], observed=observed)


@then('the devices of the GPUs on "{node}" have in "{path}":')
def _(world: World, node: str, path: str, datatable: list[list[str]]) -> None:
    """Each GPU has devices of the type, found by its PCI address, and all of them have this value in the field."""
    for gpu, kind, value in datatable[1:]:
        address = pci_address(world.node(node), int(gpu))
        mine = [device for device in of_type(world, node, kind) if manifests.look_up(device, BUS_ID) == address]
        expected = expectations.read([["field", "value"], [path, value]])
        world.check_seen(f"{kind} devices of GPU {gpu}", _judge(mine, expected), expected=_wanted(expected))


@then('the {one:word} and {other:word} devices on "{node}" have the same "{path}"')
def _(world: World, one: str, other: str, node: str, path: str) -> None:
    """For each device of one type there is one device of the other type with the same value of a field."""
    wanted = sorted(str(manifests.look_up(device, path)) for device in of_type(world, node, one))
    found = sorted(str(manifests.look_up(device, path)) for device in of_type(world, node, other))
    world.check(bool(wanted) and found == wanted, f"{path} of {other} devices", expected=wanted, observed=found)


@then('the driver on "{node}" comes to publish "{there}" and not "{gone}"')
def _(world: World, node: str, there: str, gone: str) -> None:
    """The slices come to have the first devices (comma-separated) and none of the others."""

    def look() -> Seen[list[str]]:
        found = {device["name"] for device in world.node(node).devices()}
        ok = set(words(there)) <= found and not set(words(gone)) & found
        return ok, sorted(name for name in found if name in {*words(there), *words(gone)})

    message = f"those of {in_words(sorted({*words(there), *words(gone)}))} that are published"
    world.eventually(message, look, expected=sorted(words(there)))
