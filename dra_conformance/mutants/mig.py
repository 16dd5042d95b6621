"""Faults in what a GPU driver publishes and prepares of MIG devices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant

DEVICES = "reference_impl.kubelet_plugin.devices"
NVML = "reference_impl.kubelet_plugin.discovery:Nvml"
NODES = "reference_impl.kubelet_plugin.driver_root:DriverRoot.device_nodes"


@mutant("mig-beside-its-gpu", rule="NV-029")
def _(patch: Patch) -> None:
    """The GPU is published together with its MIG devices."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def publishable(self: Any, handle: Any, gpu: Any) -> Any:
            found = original(self, handle, gpu)
            return found if gpu in found else [gpu, *found]

        return publishable

    patch.wrap(f"{NVML}.publishable", make)


@mutant("mig-devices-not-published", rule="NV-029")
def _(patch: Patch) -> None:
    """The GPU is published instead of its MIG devices."""
    patch.replace(f"{NVML}.publishable", lambda self, handle, gpu: [gpu])


@mutant("one-mig-device-for-each-gpu", rule="NV-029")
def _(patch: Patch) -> None:
    """Only the first MIG device of a GPU is published."""
    patch.wrap(f"{NVML}.publishable", lambda original: lambda self, handle, gpu: original(self, handle, gpu)[:1])


@mutant("empty-mig-gpu-published-whole", rule="NV-030")
def _(patch: Patch) -> None:
    """A GPU in MIG mode without instances is published as a full GPU."""
    patch.wrap(f"{NVML}.publishable", lambda original: lambda self, handle, gpu: original(self, handle, gpu) or [gpu])


def _mig_as(change: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, parent, gpu, handle: change(original(self, parent, gpu, handle))

    return make


def _capacity_as(change: Callable[[Any, Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda device: change(device, original(device))

    return make


@mutant("memory-slices-from-zero", rule="NV-031")
def _(patch: Patch) -> None:
    """Every MIG device counts its memory slices from 0."""

    def change(device: Any, capacity: Any) -> Any:
        kept = {key: value for key, value in capacity.items() if not key.startswith("memorySlice")}
        # A full GPU has no `size` and gets no memory slices.
        return {**kept, **{f"memorySlice{n}": {"value": "1"} for n in range(getattr(device, "size", 0))}}

    patch.wrap(f"{DEVICES}:capacity_of", _capacity_as(change))


@mutant("one-memory-slice-only", rule="NV-031")
def _(patch: Patch) -> None:
    """A MIG device has only the first of its memory slices."""

    def change(device: Any, capacity: Any) -> Any:
        first = f"memorySlice{getattr(device, 'start', 0)}"
        return {key: value for key, value in capacity.items() if not key.startswith("memorySlice") or key == first}

    patch.wrap(f"{DEVICES}:capacity_of", _capacity_as(change))


def _attributes_as(change: Callable[[Any, Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda device: change(device, original(device))

    return make


@mutant("mig-is-its-own-parent", rule="NV-032")
def _(patch: Patch) -> None:
    """parentUUID is the MIG device's own uuid."""

    def change(device: Any, found: Any) -> Any:
        if "profile" in found:
            found["parentUUID"] = found["uuid"]
        return found

    patch.wrap(f"{DEVICES}:attributes_of", _attributes_as(change))


@mutant("profile-without-dots", rule="NV-032")
def _(patch: Patch) -> None:
    """The attribute profile is written as in the device's name."""

    def change(device: Any, found: Any) -> Any:
        if "profile" in found:
            found["profile"] = {"string": found["profile"]["string"].replace(".", "")}
        return found

    patch.wrap(f"{DEVICES}:attributes_of", _attributes_as(change))


@mutant("mig-memory-by-name", rule="NV-033")
def _(patch: Patch) -> None:
    """The memory of a MIG device is the number in its profile's name."""

    def change(device: Any) -> Any:
        gigabytes = int(device.profile.partition(".")[2].partition("gb")[0])
        return replace(device, memory_mib=gigabytes * 1024)

    patch.wrap(f"{NVML}._mig", _mig_as(change))


@mutant("mig-name-with-query-index", rule="NV-041")
def _(patch: Patch) -> None:
    """A MIG device's name has the index of its profile instead of the hardware's id."""
    patch.wrap(f"{NVML}._mig", _mig_as(lambda device: replace(device, profile_id=device.profile_id % 7)))


@mutant("mig-name-ends-with-profile-id", rule="NV-041")
def _(patch: Patch) -> None:
    """A MIG device's name ends with its profile's id."""
    patch.wrap(
        f"{DEVICES}:mig_name",
        lambda original: lambda *args: original(*args).rpartition("-")[0],
    )


def _nodes_as(change: Callable[[Any, list[Any]], list[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, device: change(device, original(self, device))

    return make


@mutant("mig-without-capabilities", rule="NV-097")
def _(patch: Patch) -> None:
    """A container with a MIG device gets the GPU's node alone."""
    patch.wrap(NODES, _nodes_as(lambda device, nodes: nodes[:1]))


@mutant("mig-without-compute-instance", rule="NV-097")
def _(patch: Patch) -> None:
    """A container with a MIG device lacks the node of its compute instance."""
    patch.wrap(NODES, _nodes_as(lambda device, nodes: nodes[:-1]))


@mutant("mig-with-first-instance", rule="NV-097")
def _(patch: Patch) -> None:
    """Every MIG device gets the capabilities of the first one that was prepared."""
    # A list, because the nested function fills it.
    first: list[Any] = []

    def change(device: Any, nodes: list[Any]) -> list[Any]:
        if not first:
            first.extend(nodes)
        return list(first)

    patch.wrap(NODES, _nodes_as(change))


@mutant("mig-devices-up-to-a-gap", rule="NV-029")
def _(patch: Patch) -> None:
    """The MIG devices of a GPU are those up to the first index without one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def devices(self: Any, parent: Any, gpu: Any) -> Any:
            nvml = self.module
            for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(parent)):
                try:
                    nvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, index)
                except nvml.NVMLError:
                    return original(self, parent, gpu)[:index]
            return original(self, parent, gpu)

        return devices

    patch.wrap(f"{NVML}._mig_devices", make)
