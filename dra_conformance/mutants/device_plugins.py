"""Mutants of the reference device plugin."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dra_api.rpc import RpcError
from dra_api.rpc.device_plugin import PluginDevice, PluginOptions
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.device_plugin.plugin import identity

PLUGIN = "reference_impl.device_plugin.plugin"
SERVICE = "reference_impl.device_plugin.service:ResourceService"
ANSWERS = "reference_impl.device_plugin.answers:Answers"
OFFER = "reference_impl.device_plugin.offers:Offer"
SERVER = "dra_api.rpc.device_plugin.server:DevicePluginServer"


def change_registration(patch: Patch, change: Callable[[Any], Any]) -> None:
    """Apply `change` to every request of Register."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def register(socket: Any, registration: Any, *, clock: Any = None, timeout: Any = None) -> None:
            original(socket, change(registration), clock=clock, timeout=timeout)

        return register

    patch.wrap(f"{PLUGIN}:register", make)


def change_lists(patch: Patch, change: Callable[[PluginDevice, int], PluginDevice]) -> None:
    """Apply `change` to every device of every list, with its position."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def encode(devices: Any) -> Any:
            return original([change(device, at) for at, device in enumerate(devices)])

        return encode

    patch.wrap("dra_api.rpc.device_plugin.codec:encode_devices", make)


def change_service(patch: Patch, method: str, change: Callable[[Callable[..., Any], Any, Any], Any]) -> None:
    """Replace a call of the service with one argument by `change(original, self, argument)`."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *arguments: Any) -> Any:
            return change(lambda given: original(self, given), self, *arguments)

        return call

    patch.wrap(f"{SERVICE}.{method}", make)


# -- registration ------------------------------------------------------------------------------------------------------


@mutant("device-plugin-waits-before-it-registers", rule="DP-001a")
def _(patch: Patch) -> None:
    """A plugin registers only with a kubelet that starts after it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def register(self: Any, kubelet: Any) -> None:
            if self.__dict__.setdefault("first", kubelet) != kubelet:
                original(self, kubelet)

        return register

    patch.wrap(f"{PLUGIN}:Endpoint._register", make)


@mutant("device-plugin-registers-before-it-serves", rule="DP-001")
def _(patch: Patch) -> None:
    """The socket is served a moment after the call of Register."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def register(self: Any, kubelet: Any) -> None:
            self._server.stop()
            later = threading.Timer(0.3, self._server.start)
            later.start()
            original(self, kubelet)
            later.join()
            self._own = identity(self._server.socket)

        return register

    patch.wrap(f"{PLUGIN}:Endpoint._register", make)


@mutant("device-plugin-registers-another-version", rule="DP-003a")
def _(patch: Patch) -> None:
    """The version of the API is v1beta2 at the second attempt, and v1 at the first."""
    versions = iter(["v1"])
    change_registration(patch, lambda one: replace(one, version=next(versions, one.version)))


@mutant("device-plugin-registers-without-a-domain", rule="DP-004a")
def _(patch: Patch) -> None:
    """The first attempt registers a resource without a domain."""
    names = iter(["gpu"])
    change_registration(patch, lambda one: replace(one, resource_name=next(names, one.resource_name)))


@mutant("device-plugin-registers-other-options", rule="DP-006a")
def _(patch: Patch) -> None:
    """Register has no options."""
    change_registration(patch, lambda one: replace(one, options=PluginOptions()))


@mutant("device-plugin-registers-a-path", rule="DP-008a")
def _(patch: Patch) -> None:
    """The endpoint has a path in front of the name of the socket."""
    change_registration(patch, lambda one: replace(one, endpoint=f"./{one.endpoint}"))


@mutant("device-plugin-ignores-a-refusal", rule="DP-041")
def _(patch: Patch) -> None:
    """A registration that the kubelet refuses counts as done."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def register(socket: Any, registration: Any, *, clock: Any = None, timeout: Any = None) -> None:
            with contextlib.suppress(RpcError):
                original(socket, registration, clock=clock, timeout=timeout)

        return register

    patch.wrap(f"{PLUGIN}:register", make)


@mutant("device-plugin-looks-for-the-kubelet-once", rule="DP-041a")
def _(patch: Patch) -> None:
    """Without a kubelet at its start, the plugin never registers."""
    patch.replace(f"{PLUGIN}:GpuDevicePlugin._watch_folder", lambda self: None)


# -- lists -------------------------------------------------------------------------------------------------------------


@mutant("device-plugin-ends-the-stream", rule="DP-017")
def _(patch: Patch) -> None:
    """ListAndWatch returns after its first list."""
    patch.wrap(f"{SERVICE}.watch_devices", lambda original: lambda self: iter([next(original(self))]))


@mutant("device-plugin-lists-once", rule="DP-017a")
def _(patch: Patch) -> None:
    """Only the first stream begins with the list."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def watch_devices(self: Any) -> Any:
            found = original(self)
            if getattr(self, "listed", False):
                next(found)
            self.listed = True
            return found

        return watch_devices

    patch.wrap(f"{SERVICE}.watch_devices", make)


@mutant("device-plugin-sends-a-difference", rule="DP-018")
def _(patch: Patch) -> None:
    """A change sends the unhealthy devices only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def encode(devices: Any) -> Any:
            broken = [device for device in devices if device.health != "Healthy"]
            return original(broken or devices)

        return encode

    patch.wrap("dra_api.rpc.device_plugin.codec:encode_devices", make)


@mutant("device-plugin-health-in-lower-case", rule="DP-020a")
def _(patch: Patch) -> None:
    """The health of a broken device is `unhealthy`."""
    change_lists(patch, lambda one, _: replace(one, health="unhealthy") if one.health != "Healthy" else one)


@mutant("device-plugin-lists-an-id-twice", rule="DP-023")
def _(patch: Patch) -> None:
    """Two devices have one id."""
    change_lists(patch, lambda one, at: replace(one, id="GPU") if at < 2 else one)


@mutant("device-plugin-long-ids", rule="DP-023")
def _(patch: Patch) -> None:
    """Ids have 64 characters."""
    change_lists(patch, lambda one, _: replace(one, id=one.id.ljust(64, "0")))


@mutant("device-plugin-draws-ids", rule="DP-023a")
def _(patch: Patch) -> None:
    """Ids are other ones after a restart of the plugin."""
    starts: list[object] = []

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start(self: Any) -> None:
            starts.append(self)
            original(self)

        return start

    patch.wrap(f"{PLUGIN}:GpuDevicePlugin.start", make)
    change_lists(patch, lambda one, at: replace(one, id=f"gpu-{at}-{len(starts)}"))


@mutant("device-plugin-without-topology", rule="DP-089a")
def _(patch: Patch) -> None:
    """Devices have no topology."""
    change_lists(patch, lambda one, _: replace(one, numa_nodes=None))


@mutant("device-plugin-one-numa-node", rule="DP-089a")
def _(patch: Patch) -> None:
    """All devices are on NUMA node 0."""
    change_lists(patch, lambda one, _: replace(one, numa_nodes=(0,)))


@mutant("device-plugin-ignores-xids", rule="DP-143a")
def _(patch: Patch) -> None:
    """No list follows a critical XID."""
    patch.replace(f"{PLUGIN}:GpuDevicePlugin._health_changed", lambda self: None)


@mutant(
    "device-plugin-watches-mig-devices-in-place-of-their-gpu",
    rule="DP-143a",
    scenario="device_plugins/nvidia_flags#an-xid-changes-the-list-although-the-gpu-is-in-mig-mode-and-offered-as-a-whole",
)
def _(patch: Patch) -> None:
    """The health of a GPU in MIG mode is not watched if the plugin offers it as a whole."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def watch_health(self: Any, found: Any, ending: Any) -> None:
            watched = [one for one in found.devices if not getattr(one, "mig_enabled", False)]
            original(self, replace(found, devices=tuple(watched)), ending)

        return watch_health

    patch.wrap(f"{PLUGIN}:GpuDevicePlugin._watch_health", make)


@mutant("device-plugin-suspects-every-gpu", rule="DP-143b")
def _(patch: Patch) -> None:
    """An XID of one GPU makes all devices Unhealthy."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, device: all(
            original(self, one.device) for e in self._endpoints for one in e.service.resource.offers
        )

    patch.wrap(f"{PLUGIN}:GpuDevicePlugin._is_healthy", make)


# -- allocation --------------------------------------------------------------------------------------------------------


@mutant("device-plugin-answers-containers-together", rule="DP-056")
def _(patch: Patch) -> None:
    """One answer has the devices of all containers."""
    change_service(patch, "allocate", lambda original, _, containers: original([sum(map(tuple, containers), ())]))


@mutant("device-plugin-answers-in-another-order", rule="DP-056")
def _(patch: Patch) -> None:
    """The answers are in the reverse order of the requests."""
    change_service(patch, "allocate", lambda original, _, containers: original(containers)[::-1])


@mutant("device-plugin-skips-unknown-ids", rule="DP-057")
def _(patch: Patch) -> None:
    """Ids that the plugin does not have are left out."""
    change_service(
        patch,
        "allocate",
        lambda original, self, containers: original(
            [[one for one in ids if one in self._offers] for ids in containers]
        ),
    )


@mutant("device-plugin-gives-unhealthy-devices", rule="DP-057a")
def _(patch: Patch) -> None:
    """Allocate does not look at the health of devices."""
    change_service(patch, "_usable", lambda original, self, ids: self._known(ids))


@mutant("device-plugin-judges-the-first-device", rule="DP-057a")
def _(patch: Patch) -> None:
    """Allocate looks at the health of a container's first device only."""
    change_service(
        patch, "_usable", lambda original, self, ids: [*original(ids[:1]), *self._known(ids[1:])] if ids else []
    )


@mutant("device-plugin-gives-a-device-once", rule="DP-058")
def _(patch: Patch) -> None:
    """A device that was allocated before is in use."""

    def allocate(original: Callable[[Any], Any], self: Any, containers: Sequence[Sequence[str]]) -> Any:
        given = self.__dict__.setdefault("given", set())
        ids = {one for container in containers for one in container}
        if ids & given:
            raise RuntimeError("in use")
        given |= ids
        return original(containers)

    change_service(patch, "allocate", allocate)


def change_answers(patch: Patch, change: Callable[[Any], Any]) -> None:
    """Apply `change` to what a container gets."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, devices: change(original(self, devices))

    patch.wrap(f"{ANSWERS}.allocation", make)


@mutant("device-plugin-long-permissions", rule="DP-085a")
def _(patch: Patch) -> None:
    """The permissions of device files are spelled `read-write`."""
    change_answers(
        patch,
        lambda found: replace(found, devices=tuple(replace(one, permissions="read-write") for one in found.devices)),
    )


@mutant("device-plugin-relative-device-files", rule="DP-085a")
def _(patch: Patch) -> None:
    """Device files have paths without a leading slash."""
    change_answers(
        patch,
        lambda found: replace(
            found, devices=tuple(replace(one, container_path=one.container_path[1:]) for one in found.devices)
        ),
    )


@mutant("device-plugin-unqualified-cdi-names", rule="DP-087")
def _(patch: Patch) -> None:
    """CDI devices are named without vendor and class."""
    change_answers(
        patch, lambda found: replace(found, cdi_devices=tuple(one.partition("=")[2] for one in found.cdi_devices))
    )


@mutant("device-plugin-without-cdi-specification", rule="DP-087")
def _(patch: Patch) -> None:
    """The CDI specification is never written."""
    patch.replace(f"{ANSWERS}.write_spec", lambda self, devices, driver_version: None)


@mutant("device-plugin-gives-every-gpu", rule="DP-088a")
def _(patch: Patch) -> None:
    """Every container gets all GPUs."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def allocate(self: Any, containers: Any) -> Any:
            return original(self, [list(self._offers) for _ in containers])

        return allocate

    patch.wrap(f"{SERVICE}.allocate", make)


@mutant("device-plugin-gives-the-first-of-two-devices", rule="DP-088b")
def _(patch: Patch) -> None:
    """A container with two GPUs gets the first one only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, devices: original(self, list(devices)[:1])

    patch.wrap(f"{ANSWERS}.allocation", make)


@mutant("device-plugin-gives-nothing", rule="DP-088a")
def _(patch: Patch) -> None:
    """Answers are empty."""
    change_answers(patch, lambda found: type(found)())


@mutant("device-plugin-starts-a-container-once", rule="DP-082a")
def _(patch: Patch) -> None:
    """The second PreStartContainer with the same devices fails."""

    def pre_start(original: Callable[[Any], Any], self: Any, ids: Sequence[str]) -> None:
        started = self.__dict__.setdefault("started", set())
        if started & set(ids):
            raise RuntimeError("started already")
        started |= set(ids)
        original(ids)

    change_service(patch, "pre_start", pre_start)


# -- preferences -------------------------------------------------------------------------------------------------------


@mutant("device-plugin-forgets-what-must-be-included", rule="DP-080")
def _(patch: Patch) -> None:
    """The first available devices are preferred."""
    change_service(
        patch, "preferred_allocation", lambda original, _, asked: [one.available[: one.size] for one in asked]
    )


@mutant("device-plugin-prefers-devices-in-use", rule="DP-080a")
def _(patch: Patch) -> None:
    """The first device of the plugin is always preferred."""

    def preferred(original: Callable[[Any], Any], self: Any, asked: Any) -> Any:
        return [[next(iter(self._offers)), *ids[1:]] for ids in original(asked)]

    change_service(patch, "preferred_allocation", preferred)


@mutant("device-plugin-adds-to-what-must-be-included", rule="DP-080b")
def _(patch: Patch) -> None:
    """The size counts the devices beside those that must be included."""

    def preferred(original: Callable[[Any], Any], self: Any, asked: Any) -> Any:
        return original([replace(one, size=min(one.size + len(one.must_include), len(one.available))) for one in asked])

    change_service(patch, "preferred_allocation", preferred)


@mutant("device-plugin-chooses-what-must-be-included", rule="DP-080b")
def _(patch: Patch) -> None:
    """The second of several devices that must be included is chosen once more."""

    def preferred(original: Callable[[Any], Any], self: Any, asked: Any) -> Any:
        return [
            [*ids[:-1], one.must_include[1]] if one.size > len(one.must_include) > 1 else ids
            for one, ids in zip(asked, original(asked), strict=True)
        ]

    change_service(patch, "preferred_allocation", preferred)


# -- restarts ----------------------------------------------------------------------------------------------------------


@mutant("device-plugin-misses-a-new-kubelet", rule="DP-039")
def _(patch: Patch) -> None:
    """The plugin registers once in its life."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def register(self: Any, kubelet: Any) -> None:
            if not getattr(self, "done", False):
                original(self, kubelet)
                self.done = self._registered_with is not None

        return register

    patch.wrap(f"{PLUGIN}:Endpoint._register", make)


@mutant("device-plugin-registers-with-a-removed-socket", rule="DP-039")
def _(patch: Patch) -> None:
    """After a restart of the kubelet the plugin registers without a new socket."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def serve(self: Any) -> None:
            if self._own is None:
                original(self)
            self._registered_with = None

        return serve

    patch.wrap(f"{PLUGIN}:Endpoint._serve", make)


@mutant("device-plugin-forgets-devices-in-a-restart", rule="DP-039a")
def _(patch: Patch) -> None:
    """After the second registration, the list lacks a device."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def register(self: Any, kubelet: Any) -> None:
            if getattr(self, "done", False):
                service = self.service
                service.resource = replace(service.resource, offers=service.resource.offers[1:])
                service.refresh()
            self.done = True
            original(self, kubelet)

        return register

    patch.wrap(f"{PLUGIN}:Endpoint._register", make)


@mutant("device-plugin-does-not-watch-its-socket", rule="DP-040")
def _(patch: Patch) -> None:
    """Only a new kubelet makes the plugin look at its socket."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def look(self: Any) -> None:
            if self._own is None or identity(self._kubelet) != self._registered_with:
                original(self)

        return look

    patch.wrap(f"{PLUGIN}:Endpoint.look", make)


@mutant("device-plugin-leaves-its-socket", rule="DP-148")
def _(patch: Patch) -> None:
    """A stopped plugin leaves a socket behind."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def stop(self: Any) -> None:
            path = self._server.socket
            original(self)
            with socket.socket(socket.AF_UNIX) as stale:
                stale.bind(str(path))

        return stop

    patch.wrap(f"{PLUGIN}:Endpoint.stop", make)


@mutant("device-plugin-fails-over-a-stale-socket", rule="DP-148a")
def _(patch: Patch) -> None:
    """A socket that is there already keeps the plugin from starting."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start(self: Any) -> None:
            if self.socket.exists():
                raise OSError(f"{self.socket}: address already in use")
            original(self)

        return start

    patch.wrap(f"{SERVER}.start", make)


# -- flags of NVIDIA's plugin ------------------------------------------------------------------------------------------

OFFERS = "reference_impl.device_plugin.offers"


def change_names(patch: Patch, change: Callable[[Any, str, dict[str, list[Any]]], Any]) -> None:
    """Replace the devices by resource name by `change(found, strategy, named)`."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def by_name(found: Any, strategy: str) -> Any:
            return change(found, strategy, {name: list(devices) for name, devices in original(found, strategy).items()})

        return by_name

    patch.wrap(f"{OFFERS}:by_name", make)
    patch.wrap(f"{PLUGIN}:by_name", make)


@mutant("device-plugin-leaves-out-gpus-with-mig", rule="DP-131")
def _(patch: Patch) -> None:
    """Without a MIG strategy, GPUs with MIG on are not offered."""
    change_names(
        patch,
        lambda found, strategy, named: {
            name: [one for one in devices if not getattr(one, "mig_enabled", False)] for name, devices in named.items()
        },
    )


@mutant("device-plugin-counts-gpus-and-their-parts", rule="DP-132")
def _(patch: Patch) -> None:
    """The strategy single offers GPUs beside their MIG devices."""
    change_names(
        patch,
        lambda found, strategy, named: {name: [*found.gpus, *devices] for name, devices in named.items()},
    )


@mutant("device-plugin-single-without-gpus", rule="DP-132")
def _(patch: Patch) -> None:
    """The strategy single offers MIG devices only."""
    change_names(
        patch,
        lambda found, strategy, named: {
            name: [one for one in devices if hasattr(one, "profile")] for name, devices in named.items()
        },
    )


@mutant("device-plugin-single-of-any-parts", rule="DP-133")
def _(patch: Patch) -> None:
    """The strategy single offers MIG devices of any profiles."""
    patch.replace(f"{OFFERS}:_check_single", lambda gpus, parts: None)


@mutant("device-plugin-plus-in-a-name", rule="DP-134a")
def _(patch: Patch) -> None:
    """The resource of a profile has its plus sign."""
    patch.replace(f"{OFFERS}:mig_resource", lambda profile: f"nvidia.com/mig-{profile}")


@mutant("device-plugin-mixed-without-gpus", rule="DP-134")
def _(patch: Patch) -> None:
    """The strategy mixed offers MIG devices only."""
    change_names(
        patch,
        lambda found, strategy, named: {name: devices for name, devices in named.items() if "mig-" in name},
    )


def change_shared(patch: Patch, change: Callable[[Any], Any]) -> None:
    """Apply `change` to each resource."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda name, devices, sharing: change(original(name, devices, sharing))

    patch.wrap(f"{OFFERS}:_shared", make)


@mutant("device-plugin-one-replica", rule="DP-135")
def _(patch: Patch) -> None:
    """Shared GPUs are listed once."""
    change_shared(
        patch, lambda found: replace(found, offers=tuple({one.device.uuid: one for one in found.offers}.values()))
    )


@mutant("device-plugin-shares-one-resource", rule="DP-135")
def _(patch: Patch) -> None:
    """Of the resources to share, only the first one is shared."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def shared(name: Any, devices: Any, sharing: Any) -> Any:
            return original(name, devices, replace(sharing, replicas=dict([*sharing.replicas.items()][:1])))

        return shared

    patch.wrap(f"{OFFERS}:_shared", make)


@mutant("device-plugin-does-not-rename", rule="DP-136")
def _(patch: Patch) -> None:
    """A shared resource has the name of an exclusive one."""
    change_shared(patch, lambda found: replace(found, name=found.name.removesuffix(".shared")))


@mutant("device-plugin-gives-several-replicas", rule="DP-138")
def _(patch: Patch) -> None:
    """Requests for more than one replica are served."""
    change_shared(patch, lambda found: replace(found, one_at_most=False))


@mutant("device-plugin-names-a-gpu-twice", rule="DP-140")
def _(patch: Patch) -> None:
    """A container with two replicas is given the GPU twice."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def allocation(self: Any, devices: Any) -> Any:
            found = original(self, devices)
            return replace(found, envs={"NVIDIA_VISIBLE_DEVICES": ",".join(device.uuid for device in devices)})

        return allocation

    patch.wrap(f"{ANSWERS}.allocation", make)


@mutant("device-plugin-prefers-the-first-replica", rule="DP-141")
def _(patch: Patch) -> None:
    """The first available devices are preferred."""
    change_service(
        patch, "preferred_allocation", lambda original, _, asked: [one.available[: one.size] for one in asked]
    )


@mutant("device-plugin-prefers-one-gpu-for-a-container", rule="DP-141")
def _(patch: Patch) -> None:
    """Replicas of a GPU that the container has already are preferred."""

    def preferred(original: Callable[[Any], Any], self: Any, asked: Any) -> Any:
        def gpu(one: str) -> str:
            return str(self._offers[one].device.uuid)

        answers = []
        for one in asked:
            first = one.must_include or original([replace(one, size=1)])[0]
            rest = sorted(
                (free for free in one.available if free not in first), key=lambda free: gpu(free) != gpu(first[0])
            )
            answers.append([*first, *rest][: one.size])
        return answers

    change_service(patch, "preferred_allocation", preferred)


@mutant("device-plugin-variable-beside-cdi", rule="DP-142")
def _(patch: Patch) -> None:
    """Answers by CDI have the variable too."""
    change_answers(patch, lambda found: replace(found, envs=found.envs or {"NVIDIA_VISIBLE_DEVICES": "void"}))


@mutant(
    "device-plugin-no-device-files-beside-cdi",
    rule="DP-142",
    scenario="device_plugins/nvidia_flags#answers-by-the-strategy-strategy-name-devices-by-fields",
)
def _(patch: Patch) -> None:
    """With CDI beside another strategy the device files are left out."""
    change_answers(patch, lambda found: replace(found, devices=()) if found.cdi_devices else found)


@mutant("device-plugin-always-device-files", rule="DP-142")
def _(patch: Patch) -> None:
    """Answers have device files without --pass-device-specs."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, devices: replace(original(self, devices), devices=self._device_files(devices))

    patch.wrap(f"{ANSWERS}.allocation", make)


@mutant("device-plugin-suspects-application-errors", rule="DP-144")
def _(patch: Patch) -> None:
    """Every XID makes a device Unhealthy."""
    patch.replace("reference_impl.kubelet_plugin.health:HARMLESS_XIDS", frozenset())


@mutant("device-plugin-one-replica-unhealthy", rule="DP-146")
def _(patch: Patch) -> None:
    """Of the replicas of a broken GPU, one becomes Unhealthy."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def listed(self: Any, *, healthy: bool) -> Any:
            return original(self, healthy=healthy or not self.id.endswith("::0"))

        return listed

    patch.wrap(f"{OFFER}.listed", make)


@mutant("device-plugin-first-resource-only", rule="DP-143a")
def _(patch: Patch) -> None:
    """After an XID only the first resource of the node has a new list."""
    patch.replace(f"{PLUGIN}:GpuDevicePlugin._health_changed", lambda self: self._endpoints[0].service.refresh())


@mutant("device-plugin-accepts-one-replica", rule="DP-135b")
def _(patch: Patch) -> None:
    """One replica is accepted."""
    patch.replace("reference_impl.device_plugin.options:_FEWEST_REPLICAS", 1)


@mutant("device-plugin-whole-gpu-in-mig-mode", rule="DP-134b")
def _(patch: Patch) -> None:
    """A GPU counts as whole if it has no MIG device, whatever its MIG mode is."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def by_name(found: Any, strategy: Any) -> Any:
            parents = {device.parent.uuid for device in found.devices if hasattr(device, "parent")}
            named = dict(original(found, strategy))
            return {**named, "nvidia.com/gpu": [gpu for gpu in found.gpus if gpu.uuid not in parents]}

        return by_name

    patch.wrap(f"{OFFERS}:by_name", make)
