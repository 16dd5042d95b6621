"""Mutants of the harness's own kubelet that register device plugins wrongly, or admit pods without room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dra_api.objects import Obj, uid_of
from dra_api.quantity import Quantity
from dra_api.rpc import DEVICE_PLUGIN_TYPE
from dra_api.rpc.device_plugin import VERSION
from dra_conformance.engine.mutation import Patch, mutant

MANAGER = "dra_conformance.kubelet.device_plugins:DeviceManager"
PLUGINS = "dra_conformance.kubelet.plugins:PluginManager"
ALLOCATOR = "dra_conformance.kubelet.device_allocation:DeviceAllocator"


@mutant("device-plugins-in-plugins-registry-ignored", rule="DP-014")
def _(patch: Patch) -> None:
    """The kubelet knows DRA drivers only in plugins_registry."""
    patch.wrap(f"{PLUGINS}._admit_any", lambda original: lambda self, info, path: self._admit(info, path))


@mutant("any-version-in-plugins-registry", rule="DP-014")
def _(patch: Patch) -> None:
    """The versions of a device plugin in plugins_registry are not read."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, resource, endpoint, versions: original(self, resource, endpoint, (VERSION,))

    patch.wrap(f"{MANAGER}.connect", make)


@mutant("any-resource-in-plugins-registry", rule="DP-014")
def _(patch: Patch) -> None:
    """The resource name of a device plugin in plugins_registry is not validated."""
    patch.replace("dra_conformance.kubelet.device_plugins:is_extended_resource", lambda name: True)


@mutant("device-plugin-not-notified", rule="DP-014")
def _(patch: Patch) -> None:
    """A device plugin gets no NotifyRegistrationStatus."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def notify(self: Any, plugin: Any, path: Any, status: Any) -> None:
            if plugin.get_info(timeout=1.0).type != DEVICE_PLUGIN_TYPE:
                original(self, plugin, path, status)

        return notify

    patch.wrap(f"{PLUGINS}._notify", make)


@mutant("removed-socket-of-a-device-plugin-ignored", rule="DP-015")
def _(patch: Patch) -> None:
    """A device plugin stays connected while its stream is open."""
    patch.wrap(f"{MANAGER}.disconnect", lambda original: lambda self, plugin: None)


@mutant("requests-of-a-pod-not-compared", rule="DP-061")
def _(patch: Patch) -> None:
    """A pod is admitted whatever CPU it requests."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def check(pod: Obj, *, others: Iterable[Obj], allocatable: Mapping[str, Any]) -> None:
            return None

        return check

    patch.wrap("dra_conformance.kubelet.node_fit:check", make)


@mutant("devices-of-a-pod-without-room-stay-in-use", rule="DP-061")
def _(patch: Patch) -> None:
    """What was allocated before a pod was refused for its CPU is not free again."""
    lost: set[str] = set()

    def release_of(original: Callable[..., None]) -> Callable[..., None]:
        def release(self: Any, pod_uid: str) -> None:
            lost.update(i for one in self._held.values() if one.pod_uid == pod_uid for i in one.ids)
            original(self, pod_uid)

        return release

    def free_of(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, resource: [one for one in original(self, resource) if one not in lost]

    patch.wrap(f"{ALLOCATOR}.release", release_of)
    patch.wrap(f"{ALLOCATOR}._free", free_of)


@mutant("pod-that-fits-exactly-refused", rule="DP-061b")
def _(patch: Patch) -> None:
    """A pod needs less CPU than its node has left."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def check(pod: Obj, *, others: Iterable[Obj], allocatable: Mapping[str, Any]) -> None:
            left = Quantity.parse(str(allocatable["cpu"])).milli_value - 1
            original(pod, others=others, allocatable={**allocatable, "cpu": f"{left}m"})

        return check

    patch.wrap("dra_conformance.kubelet.node_fit:check", make)


@mutant("ended-pods-keep-their-cpu", rule="DP-061c")
def _(patch: Patch) -> None:
    """All admitted pods of the node are counted, also those that have ended."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def admit(self: Any, pod: Obj) -> Any:
            self.active_pods = lambda: list(self._pods.values())
            try:
                return original(self, pod)
            finally:
                del self.active_pods

        return admit

    patch.wrap("dra_conformance.kubelet.pods:PodWorkers._admit", make)


@mutant("claims-of-refused-pods-stay-prepared", rule="DRA-270b")
def _(patch: Patch) -> None:
    """The claims of a pod that ran before a reboot and is not admitted after it stay prepared."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def reject(self: Any, pod: Obj, state: Any, error: Any) -> None:
            real = self._unprepare
            self._unprepare = lambda pod, state: None
            try:
                original(self, pod, state, error)
            finally:
                self._unprepare = real

        return reject

    patch.wrap("dra_conformance.kubelet.pods:PodWorkers._reject", make)


# -- resize ------------------------------------------------------------------------------------------------------------

_WORKERS = "dra_conformance.kubelet.pods:PodWorkers"


def _on_resize(patch: Patch, then: Callable[[Any, Obj], None]) -> None:
    """Do something more whenever the resources of a running pod have changed."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def resize(self: Any, pod: Obj, state: Any) -> Any:
            before = self._runtime.get(uid_of(pod))
            pending = original(self, pod, state)
            after = self._runtime.get(uid_of(pod))
            if before is not None and after is not None and before.resources != after.resources:
                then(self, pod)
            return pending

        return resize

    patch.wrap(f"{_WORKERS}._resize", make)


@mutant("resize-never-done", rule="DP-074")
def _(patch: Patch) -> None:
    """The kubelet does not look at the resources of a pod that runs."""
    patch.replace(f"{_WORKERS}._resize", lambda self, pod, state: None)


@mutant("resize-allocates-anew", rule="DP-074")
def _(patch: Patch) -> None:
    """A resized pod is admitted again: its devices are free, and it gets others."""

    def again(workers: Any, pod: Obj) -> None:
        if workers._devices is not None:
            workers._devices.release(uid_of(pod))
            workers._devices.admit(pod)

    _on_resize(patch, again)


@mutant("resize-frees-devices", rule="DP-074")
def _(patch: Patch) -> None:
    """The devices of a resized pod are free for other pods."""

    def free(workers: Any, pod: Obj) -> None:
        if workers._devices is not None:
            workers._devices.release(uid_of(pod))

    _on_resize(patch, free)


@mutant("resize-prepares-again", rule="DP-074")
def _(patch: Patch) -> None:
    """The claims of a resized pod are unprepared and prepared again."""

    def again(workers: Any, pod: Obj) -> None:
        workers._claims.unprepare(uid_of(pod))
        workers._claims.prepare(pod)

    _on_resize(patch, again)


@mutant("resize-restarts-containers", rule="DP-074")
def _(patch: Patch) -> None:
    """A resized pod's containers start again."""

    def make(original: Callable[..., Obj]) -> Callable[..., Obj]:
        def running(pod: Obj, **rest: Any) -> Obj:
            return original(pod, **{**rest, "restarts": int(pod["metadata"].get("generation", 1) > 1)})

        return running

    patch.wrap("dra_conformance.kubelet.pod_status:running", make)


@mutant("resize-without-room-refuses-the-pod", rule="DP-074b")
def _(patch: Patch) -> None:
    """A pod whose resize does not fit has failed."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def resize(self: Any, pod: Obj, state: Any) -> Any:
            pending = original(self, pod, state)
            if pending is not None:
                self._end(pod, state, "Failed")
            return pending

        return resize

    patch.wrap(f"{_WORKERS}._resize", make)


@mutant("resize-ignores-other-pods", rule="DP-074b")
def _(patch: Patch) -> None:
    """A resize is compared with the node only, not with what its pods have left."""
    patch.replace(f"{_WORKERS}._others", lambda self, pod: [])


@mutant("deferred-resize-forgotten", rule="DP-074b")
def _(patch: Patch) -> None:
    """A deferred resize is not tried again when another pod has ended."""
    patch.replace(f"{_WORKERS}._look_at_deferred", lambda self: None)


@mutant("deferred-resize-stays-pending", rule="DP-074b")
def _(patch: Patch) -> None:
    """The condition PodResizePending stays after the resize."""
    patch.replace("dra_conformance.kubelet.pod_status:_without_condition", lambda pod, kind: [])
