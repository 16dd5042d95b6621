"""Mutants of the harness's own kubelet in which one device plugin affects the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from dra_api.rpc.device_plugin import HEALTHY, UNHEALTHY, ContainerAllocation, PluginDevice
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.kubelet.errors import AdmissionRefused
from dra_conformance.mutants.device_plugins_kubelet import ALLOCATOR, OFFERED, after_change


@mutant("bad-list-ends-all-plugins", rule="DP-152")
def _(patch: Patch) -> None:
    """A list with a health of another spelling ends the streams of all plugins."""

    def change(life: Any, plugin: Any) -> None:
        if any(device.health not in (HEALTHY, UNHEALTHY) for device in plugin.devices):
            for name in life.offered.names():
                life.offered.disconnect(name)

    after_change(patch, change)


@mutant("one-limit-for-the-devices-of-all-plugins", rule="DP-152")
def _(patch: Patch) -> None:
    """A list is ignored if the node would have more than 4096 devices."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def take(self: Any, resource: str, devices: Sequence[PluginDevice]) -> None:
            others = sum(len(self.devices(name)) for name in self.names() if name != resource)
            if others <= 4096:
                original(self, resource, devices)

        return take

    patch.wrap(f"{OFFERED}.take", make)


@mutant("no-pod-is-admitted-after-a-failed-allocation", rule="DP-152")
def _(patch: Patch) -> None:
    """After a failed Allocate all pods with devices are refused."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def allocate(self: Any, resource: str, ids: Sequence[str]) -> ContainerAllocation:
            if failed := self.__dict__.get("failed"):
                raise AdmissionRefused("UnexpectedAdmissionError", failed)
            try:
                return cast(ContainerAllocation, original(self, resource, ids))
            except AdmissionRefused as error:
                self.__dict__["failed"] = str(error)
                raise

        return allocate

    patch.wrap(f"{ALLOCATOR}._allocate", make)
