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


_OPTIONS = "reference_impl.device_plugin.options"
_REFUSED_FILE = f"{_FLAGS}a-configuration-file-is-refused-if-what"


def _change_document(patch: Patch, change: Callable[[dict[str, Any]], object]) -> None:
    """Apply `change` to every configuration file that is read."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def load(*arguments: Any) -> Any:
            document = original(*arguments)
            change(document)
            return document

        return load

    patch.wrap(f"{_OPTIONS}:plain_yaml.load", make)


@mutant("device-plugin-reads-any-version", rule="DP-135c", scenario=_REFUSED_FILE)
def _(patch: Patch) -> None:
    """The version of the configuration file is not compared."""
    _change_document(patch, lambda document: document.update(version="v1"))


@mutant("device-plugin-without-shared-resources", rule="DP-135c", scenario=_REFUSED_FILE)
def _(patch: Patch) -> None:
    """Time-slicing without resources is no time-slicing."""

    def change(document: dict[str, Any]) -> None:
        if not document["sharing"]["timeSlicing"].get("resources"):
            del document["sharing"]["timeSlicing"]

    _change_document(patch, change)


@mutant("device-plugin-leaves-out-nameless-resources", rule="DP-135c", scenario=_REFUSED_FILE)
def _(patch: Patch) -> None:
    """A shared resource without a name is that of GPUs."""

    def change(document: dict[str, Any]) -> None:
        for resource in document["sharing"]["timeSlicing"].get("resources", ()):
            resource.setdefault("name", "nvidia.com/gpu")

    _change_document(patch, change)


@mutant(
    "device-plugin-runs-without-its-configuration-file",
    rule="DP-135c",
    scenario=f"{_FLAGS}a-configuration-file-that-does-not-exist-is-refused",
)
def _(patch: Patch) -> None:
    """A configuration file that cannot be read is an empty one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def read(path: Any, **limits: Any) -> Any:
            try:
                return original(path, **limits)
            except OSError:
                return "{version: v1}"

        return read

    patch.wrap(f"{_OPTIONS}:regular_file.read", make)


@mutant("device-plugin-ignores-unknown-list-strategies", rule="DP-142b")
def _(patch: Patch) -> None:
    """Unknown names in --device-list-strategy are left out."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def list_strategies(text: str) -> Any:
            known = [one for one in text.split(",") if one in ("envvar", "volume-mounts", "cdi-cri")]
            return original(",".join(known or ["envvar"]))

        return list_strategies

    patch.wrap("reference_impl.device_plugin.command:list_strategies", make)


@mutant(
    "device-plugin-shares-every-resource",
    rule="DP-135",
    scenario=f"{_FLAGS}each-gpu-is-offered-once-if-replicas-are-those-of-another-resource",
)
def _(patch: Patch) -> None:
    """The replicas of any resource count for all."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def shared(name: str, devices: Any, sharing: Any) -> Any:
            replicas = dict.fromkeys([name], max(sharing.replicas.values())) if sharing.replicas else {}
            return original(name, devices, replace(sharing, replicas=replicas))

        return shared

    patch.wrap(f"{OFFERS}:_shared", make)
