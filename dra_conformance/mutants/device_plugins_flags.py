"""Mutants of the reference device plugin that only flags, or MIG devices, show."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.device_plugins import (
    ANSWERS,
    OFFERS,
    PLUGIN,
    SERVICE,
    change_answers,
    change_lists,
    change_service,
)

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


@mutant(
    "device-plugin-flag-needs-a-value",
    rule="DP-142a",
    scenario=f"{_FLAGS}a-plugin-with-the-flags-flags-offers-its-gpus",
)
def _(patch: Patch) -> None:
    """--pass-device-specs without a value is refused."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def add_arguments(parser: Any) -> None:
            original(parser)
            action = next(one for one in parser._actions if "--pass-device-specs" in one.option_strings)
            action.nargs = None

        return add_arguments

    patch.wrap("reference_impl.device_plugin.command:add_arguments", make)


@mutant("device-plugin-other-separator", rule="DP-142c")
def _(patch: Patch) -> None:
    """The UUIDs of the variable are separated by spaces."""
    change_answers(
        patch, lambda found: replace(found, envs={name: text.replace(",", " ") for name, text in found.envs.items()})
    )


@mutant("device-plugin-names-the-first-gpu", rule="DP-142c")
def _(patch: Patch) -> None:
    """The variable has the first GPU of a container only."""
    change_answers(
        patch, lambda found: replace(found, envs={name: text.partition(",")[0] for name, text in found.envs.items()})
    )


@mutant("device-plugin-mounts-the-folder", rule="DP-142d")
def _(patch: Patch) -> None:
    """The mounts are of the folder on the host."""
    change_answers(
        patch,
        lambda found: replace(found, mounts=tuple(replace(one, host_path=one.container_path) for one in found.mounts)),
    )


@mutant("device-plugin-uuids-beside-mounts", rule="DP-142d")
def _(patch: Patch) -> None:
    """The variable has the UUIDs, although mounts name the devices."""
    change_answers(
        patch,
        lambda found: replace(
            found,
            envs={name: ",".join(one.container_path.rpartition("/")[2] for one in found.mounts) for name in found.envs},
        ),
    )


@mutant("device-plugin-prefers-without-numa", rule="DP-081a")
def _(patch: Patch) -> None:
    """The first available devices are preferred, beside those that must be included."""
    change_service(
        patch,
        "preferred_allocation",
        lambda original, _, asked: [
            [*one.must_include, *(free for free in one.available if free not in one.must_include)][: one.size]
            for one in asked
        ],
    )


@mutant(
    "device-plugin-prefers-a-replica-twice",
    rule="DP-080b",
    scenario=f"{_FLAGS}replicas-of-one-gpu-are-preferred-as-requested",
)
def _(patch: Patch) -> None:
    """If all GPUs are taken, the replica before is preferred a second time."""

    def preferred(original: Callable[[Any], Any], self: Any, asked: Any) -> Any:
        answers = []
        for one, ids in zip(asked, original(asked), strict=True):
            seen: set[str] = set()
            again: list[str] = []
            for each in ids:
                gpu = str(self._offers[each].device.uuid)
                again.append(again[-1] if gpu in seen and each not in one.must_include else each)
                seen.add(gpu)
            answers.append(again)
        return answers

    change_service(patch, "preferred_allocation", preferred)


@mutant("device-plugin-offers-no-preference", rule="DP-141")
def _(patch: Patch) -> None:
    """GetPreferredAllocation is served and not offered."""
    patch.wrap(
        f"{SERVICE}.options",
        lambda original: lambda self: replace(original(self), get_preferred_allocation_available=False),
    )


@mutant(
    "device-plugin-waits-for-one-resource-only",
    rule="DP-041",
    scenario=f"{_FLAGS}a-resource-whose-registration-was-refused-is-registered-later-beside-the-others",
)
def _(patch: Patch) -> None:
    """A refused registration is repeated only as long as no resource is registered."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def register(self: Any, kubelet: Any) -> None:
            if not getattr(self, "refused", False):
                original(self, kubelet)
                self.refused = self._registered_with is None

        return register

    patch.wrap(f"{PLUGIN}:Endpoint._register", make)


@mutant(
    "device-plugin-registers-one-resource-again",
    rule="DP-039",
    scenario=f"{_FLAGS}all-resources-are-registered-again-after-the-kubelet-was-restarted",
)
def _(patch: Patch) -> None:
    """With a new kubelet only the first resource is registered."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def register(self: Any, kubelet: Any) -> None:
            if not getattr(self, "done", False) or self.service.resource.name == "nvidia.com/gpu":
                original(self, kubelet)
                self.done = True

        return register

    patch.wrap(f"{PLUGIN}:Endpoint._register", make)


@mutant(
    "device-plugin-leaves-sockets-of-other-resources",
    rule="DP-148",
    scenario=f"{_FLAGS}a-stopped-plugin-leaves-no-socket-of-any-resource",
)
def _(patch: Patch) -> None:
    """Only the socket of nvidia.com/gpu is removed."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def stop(self: Any) -> None:
            path = self._server.socket
            original(self)
            if self.service.resource.name != "nvidia.com/gpu":
                with socket.socket(socket.AF_UNIX) as stale:
                    stale.bind(str(path))

        return stop

    patch.wrap(f"{PLUGIN}:Endpoint.stop", make)


@mutant(
    "device-plugin-refuses-replicas",
    rule="DP-135",
    scenario=f"{_FLAGS}time-slicing-offers-each-gpu-several-times",
)
def _(patch: Patch) -> None:
    """A configuration file with sharing is refused."""
    patch.replace(f"{_OPTIONS}:_FEWEST_REPLICAS", 1 << 30)


@mutant("device-plugin-ends-with-an-error", rule="DP-148b")
def _(patch: Patch) -> None:
    """The plugin ends with an error after its sockets were removed."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def stop(self: Any) -> None:
            original(self)
            raise RuntimeError("not running")

        return stop

    patch.wrap(f"{PLUGIN}:GpuDevicePlugin.stop", make)


@mutant("device-plugin-starts-with-unknown-devices", rule="DP-082b")
def _(patch: Patch) -> None:
    """PreStartContainer skips ids that the plugin does not have."""
    change_service(
        patch, "pre_start", lambda original, self, ids: original([one for one in ids if one in self._offers])
    )


@mutant(
    "device-plugin-numa-node-of-none",
    rule="DP-089a",
    scenario="device_plugins/lists#a-device-names-no-numa-node-if-its-gpu-has-none",
)
def _(patch: Patch) -> None:
    """A GPU without a NUMA node is listed with node 0."""
    change_lists(patch, lambda one, _: replace(one, numa_nodes=one.numa_nodes or (0,)))
