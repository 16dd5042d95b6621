"""Devices of plugins for pods: chosen and allocated at admission, given to containers at their start.

`DeviceAllocator` belongs to one life of a kubelet. Its record of allocations is in the checkpoint of the folder of
device plugins. It starts no thread. With another policy of the topology manager than `none`, it aligns devices by NUMA
node (`dra_conformance.kubelet.topology`).

Source: k8s.io/kubernetes v1.37.2, pkg/kubelet/cm/devicemanager/manager.go (Allocate, devicesToAllocate,
GetDeviceRunContainerOptions) and pod_devices.go. Error messages are the kubelet's own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dra_api.objects import Obj, uid_of
from dra_api.quantity import Quantity
from dra_api.rpc import RpcError
from dra_api.rpc.device_plugin import ContainerAllocation, PreferenceRequest
from dra_conformance.core.events import KubeletProblem
from dra_conformance.kubelet import device_checkpoint, node_fit, topology
from dra_conformance.kubelet.device_checkpoint import Held
from dra_conformance.kubelet.device_plugins import DeviceManager
from dra_conformance.kubelet.errors import AdmissionRefused, DeviceStartFailed
from dra_conformance.kubelet.offered_resources import OfferedResources
from dra_conformance.kubelet.record import Record
from dra_conformance.kubelet.topology import Hints, Nodes, Topology

REASON = "UnexpectedAdmissionError"
"""The reason of a pod that the kubelet refused because of its devices."""
NOT_ALIGNED = "TopologyAffinityError"
"""The reason of a pod whose devices the topology manager could not align."""

Key = tuple[str, str, str]
"""Pod uid, container and resource."""


class DeviceAllocator:
    """Allocates devices of plugins to the pods of one node.

    `active` returns the uids of the pods whose devices are not free. `aligned`: the settings of the topology manager.
    """

    def __init__(
        self,
        manager: DeviceManager,
        offered: OfferedResources,
        *,
        record: Record,
        active: Callable[[], Collection[str]],
        aligned: Topology | None = None,
    ) -> None:
        self.offered = offered
        self._topology = aligned or Topology()
        self._manager = manager
        self._record = record
        self._active = active
        self._path = manager.folder / device_checkpoint.FILE_NAME
        # One pod is admitted after the other, also while a plugin is called.
        self._admission = threading.Lock()
        self._lock = threading.Lock()
        self._held: dict[Key, Held] = {}

    # -- state -----------------------------------------------------------------------------------------------------

    def load(self) -> bool:
        """Read the checkpoint. Return whether there is a file (DP-042, DP-047, DP-048)."""
        if not self._path.exists():
            return False
        held, resources, problem = device_checkpoint.read(self._path)
        if problem:
            self._record(KubeletProblem(about="device checkpoint", message=problem))
        with self._lock:
            self._held = {(one.pod_uid, one.container, one.resource): one for one in held}
        self.offered.restore(resources)
        return True

    def save(self) -> None:
        """Write the checkpoint."""
        with self._lock:
            device_checkpoint.write(self._path, self._held.values(), self.offered.names())

    def held(self, pod_uid: str, container: str) -> list[Held]:
        """Return what a container has, by resource name."""
        with self._lock:
            found = [one for one in self._held.values() if (one.pod_uid, one.container) == (pod_uid, container)]
        return sorted(found, key=lambda one: one.resource)

    def holders(self, resource: str) -> set[str]:
        """Return the uids of the pods that have devices of a resource."""
        with self._lock:
            return {one.pod_uid for one in self._held.values() if one.resource == resource}

    def release(self, pod_uid: str) -> None:
        """Free the devices of a pod that has ended (DP-050)."""
        with self._lock:
            self._held = {key: one for key, one in self._held.items() if one.pod_uid != pod_uid}

    def health(self, pod_uid: str, container: str) -> list[dict[str, Any]]:
        """Return the entries of a container's `allocatedResourcesStatus` (DP-026)."""
        return [
            {
                "name": one.resource,
                "resources": [
                    {"resourceID": device, "health": self.offered.health(one.resource, device)} for device in one.ids
                ],
            }
            for one in self.held(pod_uid, container)
        ]

    # -- admission -------------------------------------------------------------------------------------------------

    def admit(self, pod: Obj) -> None:
        """Allocate devices for all containers of a pod, ordinary init containers first.

        Raises AdmissionRefused; the pod then has no devices (DP-053).
        """
        with self._admission:
            self._free_ended(uid_of(pod))
            reusable: dict[str, list[str]] = {}
            try:
                of_pod = self._align_pod(pod) if self._topology.scope == topology.POD else None
                for container, gives_back in _containers(pod):
                    nodes = of_pod
                    if self._topology.scope == topology.CONTAINER:
                        nodes = self._align(dict(self._limits(pod, container)), [(pod, container)], reusable)
                    self._allocate_container(pod, container, reusable, nodes)
                    for one in self.held(uid_of(pod), container["name"]):
                        rest = [i for i in reusable.get(one.resource, ()) if i not in one.ids]
                        # An ordinary init container has ended when the next container starts (DP-067 to DP-070).
                        reusable[one.resource] = [*rest, *one.ids] if gives_back else rest
            except AdmissionRefused:
                self.release(uid_of(pod))
                raise

    def _free_ended(self, admitted: str) -> None:
        active = {*self._active(), admitted}
        with self._lock:
            ended = {one.pod_uid for one in self._held.values()} - active
        for uid in ended:
            self.release(uid)

    def _align_pod(self, pod: Obj) -> Nodes | None:
        """Return the NUMA nodes for all containers of a pod, None for any. Raises AdmissionRefused (DP-096)."""
        counts: dict[str, dict[str, int]] = {}
        containers = [container for container, _ in _containers(pod)]
        for container in containers:
            for resource, count in self._limits(pod, container):
                counts.setdefault(resource, {})[container["name"]] = count
        # What init containers give back plays no part in this scope.
        totals = {resource: node_fit.pod_total(pod["spec"], of) for resource, of in counts.items()}
        return self._align(totals, [(pod, container) for container in containers], {})

    def _align(
        self,
        counts: Mapping[str, int],
        users: Sequence[tuple[Obj, Mapping[str, Any]]],
        reusable: Mapping[str, Sequence[str]],
    ) -> Nodes | None:
        """Return the NUMA nodes for devices of containers, None for any. Raises AdmissionRefused (DP-090)."""
        if self._topology.policy == topology.NONE:
            return None
        hints = []
        for resource, count in counts.items():
            if count:
                has = {
                    i
                    for pod, container in users
                    for one in self.held(uid_of(pod), container["name"])
                    if one.resource == resource
                    for i in one.ids
                }
                hints.append(self._hints(resource, count, has, reusable.get(resource, ())))
        nodes, admitted = topology.merge(self._topology, hints)
        if not admitted:
            raise AdmissionRefused(NOT_ALIGNED, "Resources cannot be allocated with Topology locality")
        return nodes

    def _hints(self, resource: str, count: int, has: Collection[str], reusable: Sequence[str]) -> Hints | None:
        devices = self.offered.devices(resource)
        if not topology.names_nodes(devices.values()):
            return None
        if has and len(has) != count:
            return ()
        return topology.hints(
            devices.values(),
            # After a restart of the kubelet: those that the pod has.
            free=has or self._free(resource),
            reusable=() if has else reusable,
            count=count,
            numa_nodes=self._topology.numa_nodes,
        )

    def _free(self, resource: str) -> list[str]:
        """Return the ids that can be allocated and are in no use, in the order of the list."""
        with self._lock:
            used = {i for one in self._held.values() if one.resource == resource for i in one.ids}
        return [i for i in self.offered.usable(resource) or () if i not in used]

    def _allocate_container(
        self,
        pod: Obj,
        container: Mapping[str, Any],
        reusable: Mapping[str, Sequence[str]],
        nodes: Nodes | None,
    ) -> None:
        changed = False
        for resource, count in self._limits(pod, container):
            key = (uid_of(pod), container["name"], resource)
            ids = self._choose(key, count, reusable.get(resource, ()), nodes)
            if not ids:
                continue
            answer = self._allocate(resource, ids)
            with self._lock:
                self._held[key] = Held(*key, ids, answer)
            changed = True
        if changed:
            self.save()

    def _limits(self, pod: Obj, container: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
        """Yield the container's limits of resources of plugins, without those that a claim serves (DP-115)."""
        status = pod.get("status", {}).get("extendedResourceClaimStatus") or {}
        by_claim = {(one["containerName"], one["resourceName"]) for one in status.get("requestMappings") or ()}
        with self._lock:
            known = {one.resource for one in self._held.values()}
        for resource, quantity in ((container.get("resources") or {}).get("limits") or {}).items():
            if (container["name"], resource) in by_claim:
                continue
            if resource in known or self.offered.usable(resource) is not None:
                yield resource, int(Quantity.parse(quantity).value)

    def _choose(self, key: Key, count: int, reusable: Sequence[str], nodes: Nodes | None) -> tuple[str, ...]:
        """Return the ids for a container; none if it has its devices already. Raises AdmissionRefused."""
        uid, container, resource = key
        with self._lock:
            before = self._held[key].ids if key in self._held else None
        if before is not None and len(before) != count:
            raise _refused(
                f'pod "{uid}" container "{container}" changed request for resource "{resource}" '
                f"from {len(before)} to {count}"
            )
        usable = self.offered.usable(resource)
        if usable is None:
            raise _refused(f"cannot allocate unregistered device {resource}")
        if not usable:
            raise _refused(f"no healthy devices present; cannot allocate unhealthy devices {resource}")
        if not set(before or ()) <= set(usable):
            raise _refused(
                f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {resource}"
            )
        if before is not None or count == 0:
            return ()
        chosen = list(reusable[:count])
        needed = count - len(chosen)
        if needed == 0:
            return tuple(chosen)
        free = self._free(resource)
        if len(free) < needed:
            raise _refused(
                f"requested number of devices unavailable for {resource}. Requested: {needed}, Available: {len(free)}"
            )
        return (*chosen, *self._pick(resource, free, chosen, count, nodes))

    def _pick(
        self, resource: str, free: Sequence[str], chosen: Sequence[str], count: int, nodes: Nodes | None
    ) -> tuple[str, ...]:
        """Return the missing devices: aligned ones first, and among equal ones those that the plugin prefers."""
        needed = count - len(chosen)
        aligned, others, without = topology.split(free, self.offered.devices(resource), nodes)
        if len(aligned) == needed:
            return tuple(aligned)
        first = [] if len(aligned) > needed else aligned
        # If there are more aligned devices than needed, the plugin chooses among them only (DP-078).
        among = aligned if len(aligned) > needed else free
        preferred = self._preferred(resource, among, (*chosen, *first), count)
        # The plugin's wish first, and only as far as it names free devices (DP-079).
        order = dict.fromkeys((*first, *(i for i in preferred if i in among), *aligned, *others, *without))
        return tuple(order)[:needed]

    def _preferred(self, resource: str, free: Sequence[str], chosen: Sequence[str], count: int) -> Sequence[str]:
        plugin = self._manager.serving(resource)
        if plugin is None or not plugin.options.get_preferred_allocation_available:
            return ()
        available = tuple(dict.fromkeys((*free, *chosen)))
        request = PreferenceRequest(available=available, must_include=tuple(chosen), size=count)
        try:
            answer = plugin.prefer(request)
        except RpcError as error:
            raise _refused(f"device plugin GetPreferredAllocation rpc failed with err: {error.details}") from None
        return answer[0] if answer else ()

    def _allocate(self, resource: str, ids: Sequence[str]) -> ContainerAllocation:
        plugin = self._manager.serving(resource)
        if plugin is None:
            raise _refused(f"unknown Device Plugin {resource}")
        try:
            answers = plugin.allocate(ids)
        except RpcError as error:
            raise _refused(f"{error.code}: {error.details}") from None
        if not answers:
            raise _refused("no containers return in allocation response")
        return answers[0]

    # -- start of containers ---------------------------------------------------------------------------------------

    def start_container(self, pod: Obj, container: Mapping[str, Any]) -> ContainerAllocation:
        """Call PreStartContainer where the plugin requires it, and return what the container gets.

        Raises DeviceStartFailed; the start is tried again.
        """
        for resource, count in self._limits(pod, container):
            if count:
                self._pre_start(uid_of(pod), container["name"], resource)
        return merged([one.answer for one in self.held(uid_of(pod), container["name"])])

    def _pre_start(self, uid: str, container: str, resource: str) -> None:
        if self.offered.usable(resource) is None:
            raise DeviceStartFailed(f"endpoint not found in cache for a registered resource: {resource}")
        plugin = self._manager.newest(resource)
        if plugin is None or not plugin.options.pre_start_required:
            return
        if plugin.ended is not None:
            raise DeviceStartFailed(
                f"device plugin PreStartContainer rpc failed with err: endpoint {resource} has been stopped"
            )
        ids = [i for one in self.held(uid, container) if one.resource == resource for i in one.ids]
        try:
            plugin.pre_start(ids)
        except RpcError as error:
            raise DeviceStartFailed(f"device plugin PreStartContainer rpc failed with err: {error.details}") from None


def merged(answers: Sequence[ContainerAllocation]) -> ContainerAllocation:
    """Return what a container gets of several answers: of entries with one name the first counts (DP-084, DP-085)."""
    found = ContainerAllocation()
    for one in answers:
        mounts = {mount.container_path for mount in found.mounts}
        devices = {device.container_path for device in found.devices}
        found = replace(
            found,
            envs={**one.envs, **found.envs},
            annotations={**one.annotations, **found.annotations},
            mounts=(*found.mounts, *(m for m in one.mounts if m.container_path not in mounts)),
            devices=(*found.devices, *(d for d in one.devices if d.container_path not in devices)),
            cdi_devices=tuple(dict.fromkeys((*found.cdi_devices, *one.cdi_devices))),
        )
    return found


def _containers(pod: Obj) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """Yield the containers in the order of their start, and whether later ones can use their devices."""
    for container in pod["spec"].get("initContainers") or ():
        yield container, container.get("restartPolicy") != "Always"
    for container in pod["spec"].get("containers") or ():
        yield container, False


def _refused(cause: str) -> AdmissionRefused:
    return AdmissionRefused(REASON, f"Allocate failed due to {cause}, which is unexpected")
