"""Mutants of the harness's own kubelet that align devices of plugins by NUMA node wrongly."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dra_api.rpc.device_plugin import PluginDevice
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.kubelet.errors import AdmissionRefused
from dra_conformance.kubelet.topology import RESTRICTED, SINGLE_NUMA_NODE, Hints, Nodes, Topology

TOPOLOGY = "dra_conformance.kubelet.topology"
NODE_FIT = "dra_conformance.kubelet.node_fit"
ALLOCATOR = "dra_conformance.kubelet.device_allocation:DeviceAllocator"

Merge = Callable[[Topology, Sequence[Hints | None]], tuple[Nodes | None, bool]]


def with_policy(patch: Patch, policy: str) -> None:
    """Every policy does what this one does."""

    def make(original: Merge) -> Merge:
        def merge(topology: Topology, hints_of: Sequence[Hints | None]) -> tuple[Nodes | None, bool]:
            return original(replace(topology, policy=policy), hints_of)

        return merge

    patch.wrap(f"{TOPOLOGY}:merge", make)


def with_devices(patch: Patch, change: Callable[[Collection[PluginDevice], Collection[str]], Any]) -> None:
    """Hints are made of other devices; `change` gets the devices and the free ids."""

    def make(original: Callable[..., Hints]) -> Callable[..., Hints]:
        def hints(
            devices: Collection[PluginDevice],
            *,
            free: Collection[str],
            reusable: Collection[str] = (),
            count: int,
            numa_nodes: Sequence[int],
        ) -> Hints:
            changed = change(devices, free)
            return original(changed, free=free, reusable=reusable, count=count, numa_nodes=numa_nodes)

        return hints

    patch.wrap(f"{TOPOLOGY}:hints", make)


@mutant("kubelet-keeps-devices-after-a-failed-preference", rule="DP-055")
def _(patch: Patch) -> None:
    """The aligned devices that were chosen before a failed call stay in use."""
    lost: set[str] = set()

    def pick_of(original: Callable[..., Any]) -> Callable[..., Any]:
        def pick(self: Any, resource: str, free: Any, chosen: Any, count: int, nodes: Any) -> Any:
            try:
                return original(self, resource, free, chosen, count, nodes)
            except AdmissionRefused:
                devices = self.offered.devices(resource)
                lost.update(one for one in free if set(devices[one].numa_nodes or ()) & (nodes or set()))
                raise

        return pick

    def free_of(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, resource: [one for one in original(self, resource) if one not in lost]

    patch.wrap(f"{ALLOCATOR}._pick", pick_of)
    patch.wrap(f"{ALLOCATOR}._free", free_of)


@mutant("kubelet-offers-devices-of-other-nodes-for-a-preference", rule="DP-078")
def _(patch: Patch) -> None:
    """The plugin chooses among all free devices."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def preferred(self: Any, resource: str, free: Any, chosen: Any, count: int) -> Any:
            return original(self, resource, self._free(resource), chosen, count)

        return preferred

    patch.wrap(f"{ALLOCATOR}._preferred", make)


@mutant("kubelet-aligns-by-the-resource-that-needs-least", rule="DP-078")
def _(patch: Patch) -> None:
    """If the resources of a container need different numbers of NUMA nodes, as few as possible are chosen."""
    patch.replace(f"{TOPOLOGY}:_narrowest", lambda of_resource: 1)


@mutant("kubelet-asks-for-a-preference-of-all-aligned-devices", rule="DP-078")
def _(patch: Patch) -> None:
    """GetPreferredAllocation is also called if there is nothing to choose."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def pick(self: Any, resource: str, free: Any, chosen: Any, count: int, nodes: Any) -> Any:
            self._preferred(resource, free, chosen, count)
            return original(self, resource, free, chosen, count, nodes)

        return pick

    patch.wrap(f"{ALLOCATOR}._pick", make)


def any_device(devices: Iterable[PluginDevice]) -> bool:
    """Return whether there is a device."""
    return any(True for _ in devices)


@mutant("devices-without-numa-node-are-on-node-0", rule="DP-089")
def _(patch: Patch) -> None:
    """A device without topology counts as one of NUMA node 0."""
    patch.replace(f"{TOPOLOGY}:names_nodes", any_device)
    with_devices(patch, lambda devices, free: [replace(one, numa_nodes=one.numa_nodes or (0,)) for one in devices])


@mutant("single-numa-node-admits-any-container", rule="DP-090")
def _(patch: Patch) -> None:
    """The policy chooses NUMA nodes and refuses nothing."""

    def make(original: Merge) -> Merge:
        def merge(topology: Topology, hints_of: Sequence[Hints | None]) -> tuple[Nodes | None, bool]:
            return original(topology, hints_of)[0], True

        return merge

    patch.wrap(f"{TOPOLOGY}:merge", make)


@mutant("best-effort-is-restricted", rule="DP-091")
def _(patch: Patch) -> None:
    """The policy best-effort refuses as restricted does."""
    with_policy(patch, RESTRICTED)


@mutant("best-effort-aligns-nothing", rule="DP-091")
def _(patch: Patch) -> None:
    """Every container is admitted with any devices."""

    def make(original: Merge) -> Merge:
        def merge(topology: Topology, hints_of: Sequence[Hints | None]) -> tuple[Nodes | None, bool]:
            return None, original(topology, hints_of)[1]

        return merge

    patch.wrap(f"{TOPOLOGY}:merge", make)


@mutant("smallest-number-of-numa-nodes-from-free-devices", rule="DP-092")
def _(patch: Patch) -> None:
    """Devices in use, and Unhealthy ones, do not count for the empty machine."""
    with_devices(patch, lambda devices, free: [one for one in devices if one.id in free])


@mutant("restricted-is-single-numa-node", rule="DP-092")
def _(patch: Patch) -> None:
    """The policy restricted admits devices of one NUMA node only."""
    with_policy(patch, SINGLE_NUMA_NODE)


@mutant("each-resource-aligned-on-its-own", rule="DP-093")
def _(patch: Patch) -> None:
    """The NUMA nodes are those that the first resource would have alone."""

    def make(original: Merge) -> Merge:
        def merge(topology: Topology, hints_of: Sequence[Hints | None]) -> tuple[Nodes | None, bool]:
            return original(topology, hints_of[:1])

        return merge

    patch.wrap(f"{TOPOLOGY}:merge", make)


@mutant("unknown-numa-node-is-node-0", rule="DP-095")
def _(patch: Patch) -> None:
    """A NUMA node that the machine does not have is taken for node 0."""

    def known(device: PluginDevice) -> PluginDevice:
        return replace(device, numa_nodes=tuple(node if node in (0, 1) else 0 for node in device.numa_nodes or ()))

    with_devices(patch, lambda devices, free: [known(one) for one in devices])


@mutant("pod-scope-counts-one-container", rule="DP-096")
def _(patch: Patch) -> None:
    """A pod needs as many devices as its largest container."""

    def make(original: Callable[..., int]) -> Callable[..., int]:
        def total(spec: Mapping[str, Any], amounts: Mapping[str, int]) -> int:
            return max(amounts.values(), default=0)

        return total

    patch.wrap(f"{NODE_FIT}:pod_total", make)


@mutant("pod-scope-adds-up-init-containers", rule="DP-096")
def _(patch: Patch) -> None:
    """The devices of init containers are needed beside those of the others."""

    def make(original: Callable[..., int]) -> Callable[..., int]:
        def total(spec: Mapping[str, Any], amounts: Mapping[str, int]) -> int:
            return sum(amounts.values())

        return total

    patch.wrap(f"{NODE_FIT}:pod_total", make)


@mutant("devices-aligned-without-a-policy", rule="DP-097")
def _(patch: Patch) -> None:
    """The policy none aligns as best-effort does."""
    patch.replace(f"{TOPOLOGY}:NONE", "")


@mutant("numa-distances-play-no-part", rule="DP-161")
def _(patch: Patch) -> None:
    """The option prefer-closest-numa-nodes is ignored."""

    def make(original: Merge) -> Merge:
        def merge(topology: Topology, hints_of: Sequence[Hints | None]) -> tuple[Nodes | None, bool]:
            return original(replace(topology, options={}), hints_of)

        return merge

    patch.wrap(f"{TOPOLOGY}:merge", make)


@mutant("numa-distances-with-best-effort-only", rule="DP-161")
def _(patch: Patch) -> None:
    """The option prefer-closest-numa-nodes is ignored with the policy restricted."""

    def make(original: Merge) -> Merge:
        def merge(topology: Topology, hints_of: Sequence[Hints | None]) -> tuple[Nodes | None, bool]:
            options = {} if topology.policy == RESTRICTED else topology.options
            return original(replace(topology, options=options), hints_of)

        return merge

    patch.wrap(f"{TOPOLOGY}:merge", make)


def with_settings(patch: Patch, change: Callable[[Topology], Topology]) -> None:
    """The kubelet checks other settings at its start."""

    def make(original: Callable[[Topology], str]) -> Callable[[Topology], str]:
        return lambda self: original(change(self))

    patch.wrap(f"{TOPOLOGY}:Topology.problem", make)


@mutant("any-number-of-numa-nodes", rule="DP-162")
def _(patch: Patch) -> None:
    """The kubelet starts on a machine with any number of NUMA nodes."""
    with_settings(patch, lambda topology: replace(topology, numa_nodes=topology.numa_nodes[:1]))


@mutant("number-of-numa-nodes-checked-without-a-policy", rule="DP-162")
def _(patch: Patch) -> None:
    """The policy none has the limit, too."""
    with_settings(patch, lambda topology: replace(topology, policy=RESTRICTED))


@mutant("eight-numa-nodes-whatever-the-options", rule="DP-162")
def _(patch: Patch) -> None:
    """The options of the policy are not read."""
    with_settings(patch, lambda topology: replace(topology, options={}))


@mutant("devices-of-two-numa-nodes-aligned-with-both-only", rule="DP-093")
def _(patch: Patch) -> None:
    """A device of two NUMA nodes is chosen only if both are."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def split(free: Iterable[str], devices: Mapping[str, PluginDevice], nodes: Nodes | None) -> Any:
            aligned, others, without = original(free, devices, nodes)
            partly = [one for one in aligned if not set(devices[one].numa_nodes or ()) <= (nodes or set())]
            return [one for one in aligned if one not in partly], [*others, *partly], without

        return split

    patch.wrap(f"{TOPOLOGY}:split", make)
