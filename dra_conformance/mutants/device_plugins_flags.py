"""Mutants of the reference device plugin that only flags, or MIG devices, show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.device_plugins import ANSWERS, OFFERS, change_answers

_FLAGS = "device_plugins/nvidia_flags#"


@mutant(
    "device-plugin-single-compares-profiles-of-each-gpu",
    rule="DP-133",
    scenario=f"{_FLAGS}the-strategy-single-refuses-what",
)
def _(patch: Patch) -> None:
    """The strategy single compares the profiles within each GPU only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(gpus: Any, parts: Any) -> None:
            for gpu in gpus:
                own = [part for part in parts if part.parent.uuid == gpu.uuid]
                original([gpu], own)

        return check

    patch.wrap(f"{OFFERS}:_check_single", make)


@mutant("device-plugin-single-without-parts", rule="DP-133b")
def _(patch: Patch) -> None:
    """With the strategy single, a node without MIG devices has whole GPUs only, whatever the MIG mode is."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda gpus, parts: original(gpus, parts) if parts else None

    patch.wrap(f"{OFFERS}:_check_single", make)


@mutant(
    "device-plugin-checks-replicas-of-the-first-resource",
    rule="DP-135b",
    scenario=f"{_FLAGS}replicas-are-refused-if-what",
)
def _(patch: Patch) -> None:
    """Only the number of replicas of the first resource is checked."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def load(*arguments: Any) -> Any:
            document = original(*arguments)
            for resource in document["sharing"]["timeSlicing"]["resources"][1:]:
                resource["replicas"] = max(resource["replicas"], 2)
            return document

        return load

    patch.wrap("reference_impl.device_plugin.options:plain_yaml.load", make)


def _change_unshared(patch: Patch, change: Callable[[Any, Any], Any]) -> None:
    """Apply `change(resource, sharing)` to each resource that is not shared."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def shared(name: Any, devices: Any, sharing: Any) -> Any:
            found = original(name, devices, sharing)
            return found if name in sharing.replicas else change(found, sharing)

        return shared

    patch.wrap(f"{OFFERS}:_shared", make)


@mutant("device-plugin-renames-every-resource", rule="DP-136")
def _(patch: Patch) -> None:
    """With renameByDefault, resources that are not shared have the suffix too."""
    _change_unshared(
        patch, lambda found, sharing: replace(found, name=f"{found.name}.shared") if sharing.rename else found
    )


@mutant("device-plugin-gives-one-device-of-any-resource", rule="DP-138")
def _(patch: Patch) -> None:
    """With failRequestsGreaterThanOne, the limit holds for resources that are not shared too."""
    _change_unshared(patch, lambda found, sharing: replace(found, one_at_most=sharing.one_at_most))


@mutant(
    "device-plugin-variable-beside-mounts",
    rule="DP-142",
    scenario=f"{_FLAGS}answers-by-the-strategy-strategy-name-devices-by-fields",
)
def _(patch: Patch) -> None:
    """With envvar and volume-mounts, the answer has no mounts."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def allocation(self: Any, devices: Any) -> Any:
            found = original(self, devices)
            return replace(found, mounts=()) if "envvar" in self._options.list_strategies else found

        return allocation

    patch.wrap(f"{ANSWERS}.allocation", make)


@mutant("device-plugin-host-paths-in-the-container", rule="DP-085b")
def _(patch: Patch) -> None:
    """A container has its device files at the paths that they have on the host."""
    change_answers(
        patch,
        lambda found: replace(
            found, devices=tuple(replace(one, container_path=one.host_path) for one in found.devices)
        ),
    )


@mutant("device-plugin-cdi-of-mig-without-capabilities", rule="DP-087a")
def _(patch: Patch) -> None:
    """The CDI specification has the device file of a MIG device's GPU only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, device: original(self, device)[:1]

    patch.wrap("reference_impl.kubelet_plugin.driver_root:DriverRoot.device_nodes", make)


@mutant(
    "device-plugin-counts-parts-of-a-gpu-once",
    rule="DP-088b",
    scenario=f"{_FLAGS}the-answer-for-two-mig-devices-of-one-gpu-has-the-mounts-of-both",
)
def _(patch: Patch) -> None:
    """Of two MIG devices of one GPU a container gets one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def allocation(self: Any, devices: Any) -> Any:
            once = {getattr(device, "parent", device).uuid: device for device in devices}
            return original(self, list(once.values()))

        return allocation

    patch.wrap(f"{ANSWERS}.allocation", make)
