"""Mutants of the harness's own kubelet that handle device plugins wrongly."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dra_api.allocations import results_of
from dra_api.client import ApiError
from dra_api.objects import RESOURCE_CLAIMS, name_of, namespace_of, uid_of
from dra_api.rpc import RpcError
from dra_api.rpc.device_plugin import HEALTHY, UNHEALTHY, VERSION, ContainerAllocation, PluginDevice
from dra_api.rpc.pod_resources import ClaimDevice, ClaimResources, PodResources
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.kubelet.device_checkpoint import Held
from dra_conformance.kubelet.device_plugins import is_extended_resource
from dra_conformance.kubelet.errors import (
    AdmissionRefused,
    CheckpointCorrupt,
    DeviceStartFailed,
    KubeletError,
    RegistrationRefused,
)
from dra_conformance.kubelet.offered_resources import Count

MANAGER = "dra_conformance.kubelet.device_plugins:DeviceManager"
PLUGIN = "dra_conformance.kubelet.device_plugins:ConnectedPlugin"
OFFERED = "dra_conformance.kubelet.offered_resources:OfferedResources"
ALLOCATION = "dra_conformance.kubelet.device_allocation"
ALLOCATOR = f"{ALLOCATION}:DeviceAllocator"
LIFE = "dra_conformance.kubelet.device_life:DeviceLife"
PODS = "dra_conformance.kubelet.pods:PodWorkers"
CLAIMS = "dra_conformance.kubelet.claims:ClaimManager"


def nothing(*_: Any, **__: Any) -> None:
    """Do nothing at all."""


# -- registration ------------------------------------------------------------------------------------------------------


@mutant("kubelet-answers-register-first", rule="DP-002")
def _(patch: Patch) -> None:
    """Register succeeds whatever the plugin answers to the first call."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def accept(self: Any, registration: Any) -> bool:
            try:
                return bool(original(self, registration))
            except RegistrationRefused as error:
                if "does not respond" in str(error):
                    return False
                raise

        return accept

    patch.wrap(f"{MANAGER}._accept", make)


@mutant("kubelet-registers-any-version", rule="DP-003")
def _(patch: Patch) -> None:
    """The version of a registration is not read."""
    patch.wrap(
        f"{MANAGER}._accept",
        lambda original: lambda self, registration: original(self, replace(registration, version=VERSION)),
    )


def accept_names(patch: Patch, accepted: Callable[[str], bool]) -> None:
    """Also accept resource names of a kind."""
    patch.replace(
        "dra_conformance.kubelet.device_plugins:is_extended_resource",
        lambda name: is_extended_resource(name) or accepted(name),
    )


@mutant("kubelet-registers-names-without-a-domain", rule="DP-004")
def _(patch: Patch) -> None:
    """A resource name needs no domain."""
    accept_names(patch, lambda name: "/" not in name)


@mutant("kubelet-registers-names-of-kubernetes", rule="DP-005")
def _(patch: Patch) -> None:
    """The domain of a resource name is not read."""
    accept_names(patch, lambda name: "/" in name)


@mutant("kubelet-uses-options-of-the-registration", rule="DP-006")
def _(patch: Patch) -> None:
    """The options of the registration count."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def dial(self: Any, plugin: Any) -> Any:
            found = original(self, plugin)
            plugin.options = plugin.registration.options
            return found

        return dial

    patch.wrap(f"{MANAGER}._dial", make)


@mutant("kubelet-keeps-a-failed-registration", rule="DP-007")
def _(patch: Patch) -> None:
    """A plugin whose first registration failed is taken for connected."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        failed: set[str] = set()

        def accept(self: Any, registration: Any) -> Any:
            if registration.endpoint in failed:
                raise RegistrationRefused("connected already")
            try:
                return original(self, registration)
            except RegistrationRefused:
                failed.add(registration.endpoint)
                raise

        return accept

    patch.wrap(f"{MANAGER}._accept", make)


@mutant("kubelet-connects-a-plugin-twice", rule="DP-010")
def _(patch: Patch) -> None:
    """A plugin that is connected is connected again."""
    patch.replace("dra_conformance.kubelet.device_plugins:_key", lambda registration: object())


@mutant("kubelet-calls-the-oldest-plugin", rule="DP-011")
def _(patch: Patch) -> None:
    """Calls go to the plugin that registered first."""

    def serving(self: Any, resource: str) -> Any:
        return next((one for one in self._plugins if one.resource == resource and one.ended is None), None)

    patch.replace(f"{MANAGER}.serving", serving)


def admit_running_pods(patch: Patch, admitted: Callable[[Any], Any]) -> None:
    """Admit pods that run after a restart as what `admitted(pod)` returns; None leaves a pod alone."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(self: Any, pod: Any, state: Any) -> None:
            if self._devices is not None and not state.admitted and (new := admitted(pod)) is not None:
                try:
                    self._devices.admit(new)
                except AdmissionRefused as error:
                    self._reject(pod, state, error)
                    return
                state.admitted = True
            original(self, pod, state)

        return write

    patch.wrap(f"{PODS}._write_running", make)


def after_change(patch: Patch, change: Callable[[Any, Any], None]) -> None:
    """Do something after each change of a plugin: `change(life, plugin)`."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def on_change(self: Any, plugin: Any) -> None:
            original(self, plugin)
            change(self, plugin)
            self._node.notify()

        return on_change

    patch.wrap(f"{LIFE}._on_change", make)


@mutant("kubelet-loses-devices-with-the-newest-plugin", rule="DP-012")
def _(patch: Patch) -> None:
    """The end of any plugin of a resource is that of the resource."""

    def change(life: Any, plugin: Any) -> None:
        if plugin.ended is not None:
            life.offered.disconnect(plugin.resource)

    after_change(patch, change)


@mutant("kubelet-adds-up-lists", rule="DP-013")
def _(patch: Patch) -> None:
    """A resource has the devices of all of its plugins."""

    def change(life: Any, plugin: Any) -> None:
        several = [one for one in life.manager.plugins() if one.resource == plugin.resource and one.lists]
        if len(several) > 1:
            life.offered.take(plugin.resource, [device for one in several for device in one.devices])

    after_change(patch, change)


# -- lists -------------------------------------------------------------------------------------------------------------


def change_lists(patch: Patch, change: Callable[[Any, str, Sequence[PluginDevice]], Sequence[PluginDevice]]) -> None:
    """Replace each list by `change(offered, resource, devices)`."""
    patch.wrap(
        f"{OFFERED}.take",
        lambda original: lambda self, resource, devices: original(self, resource, change(self, resource, devices)),
    )


@mutant("capacity-without-unhealthy-devices", rule="DP-019")
def _(patch: Patch) -> None:
    """The capacity is the number of healthy devices."""
    patch.wrap(
        f"{OFFERED}.counts",
        lambda original: (
            lambda self: {name: Count(one.allocatable, one.allocatable) for name, one in original(self).items()}
        ),
    )


@mutant("allocatable-with-unhealthy-devices", rule="DP-019")
def _(patch: Patch) -> None:
    """All devices are allocatable."""
    patch.wrap(
        f"{OFFERED}.counts",
        lambda original: lambda self: {name: Count(one.capacity, one.capacity) for name, one in original(self).items()},
    )


@mutant("health-in-any-spelling", rule="DP-020")
def _(patch: Patch) -> None:
    """Health is compared without regard to case."""
    change_lists(patch, lambda _, __, devices: [replace(one, health=one.health.capitalize()) for one in devices])


@mutant("duplicate-ids-count", rule="DP-021")
def _(patch: Patch) -> None:
    """Every entry of a list is a device."""
    change_lists(
        patch,
        lambda _, __, devices: [
            replace(one, id=f"{one.id}#{at}" if one.id in [before.id for before in devices[:at]] else one.id)
            for at, one in enumerate(devices)
        ],
    )


@mutant("last-health-of-an-id-counts", rule="DP-022")
def _(patch: Patch) -> None:
    """Of several entries with one id the last counts."""
    change_lists(patch, lambda _, __, devices: list({one.id: one for one in devices}.values()))


@mutant("health-by-id-alone", rule="DP-024")
def _(patch: Patch) -> None:
    """A device is Unhealthy if a device of that id is, of whatever resource."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def health(self: Any, resource: str, device_id: str) -> str:
            bad = any(original(self, name, device_id) == UNHEALTHY for name in self.names())
            return UNHEALTHY if bad else HEALTHY

        return health

    patch.wrap(f"{OFFERED}.health", make)


@mutant("unhealthy-device-ends-its-pod", rule="DP-025")
def _(patch: Patch) -> None:
    """A pod with an unhealthy device fails."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(self: Any, pod: Any, state: Any) -> None:
            found = [entry for c in pod["spec"]["containers"] for entry in self._plugin_health(pod, c["name"])]
            original(self, pod, state)
            if any(one["health"] != HEALTHY for entry in found for one in entry["resources"]):
                self._end(pod, state, "Failed")

        return write

    patch.wrap(f"{PODS}._write_running", make)


@mutant("plugin-health-not-shown", rule="DP-026")
def _(patch: Patch) -> None:
    """The status of pods has no health of devices of plugins."""
    patch.replace(f"{ALLOCATOR}.health", lambda self, pod_uid, container: [])


@mutant("plugin-health-shown-once", rule="DP-026")
def _(patch: Patch) -> None:
    """A change of health does not change the status of pods."""
    patch.replace(f"{ALLOCATOR}.holders", lambda self, resource: set())


@mutant("unhealthy-for-good", rule="DP-027")
def _(patch: Patch) -> None:
    """A device that was Unhealthy once stays so."""

    def change(offered: Any, resource: str, devices: Sequence[PluginDevice]) -> Sequence[PluginDevice]:
        broken = offered.__dict__.setdefault("broken", set())
        broken |= {(resource, one.id) for one in devices if one.health != HEALTHY}
        return [replace(one, health=UNHEALTHY) if (resource, one.id) in broken else one for one in devices]

    change_lists(patch, change)


@mutant("vanished-device-is-free", rule="DP-029")
def _(patch: Patch) -> None:
    """A device that is not listed any more is no device of its pod."""

    def change(life: Any, plugin: Any) -> None:
        allocator, listed = life.allocator, {device.id for device in plugin.devices}
        allocator._held = {
            key: replace(one, ids=tuple(i for i in one.ids if i in listed)) if one.resource == plugin.resource else one
            for key, one in allocator._held.items()
        }

    after_change(patch, change)


@mutant("empty-list-drops-the-resource", rule="DP-031")
def _(patch: Patch) -> None:
    """A resource without devices is forgotten."""

    def change(life: Any, plugin: Any) -> None:
        if plugin.lists and not plugin.devices:
            life.offered._resources.pop(plugin.resource, None)

    after_change(patch, change)


@mutant("capacity-goes-with-the-plugin", rule="DP-034")
def _(patch: Patch) -> None:
    """The capacity is 0 when the plugin has ended."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def disconnect(self: Any, resource: str) -> None:
            self.take(resource, [])
            original(self, resource)

        return disconnect

    patch.wrap(f"{OFFERED}.disconnect", make)


@mutant("devices-stay-without-their-plugin", rule="DP-034")
def _(patch: Patch) -> None:
    """The end of a plugin is not noticed."""
    patch.replace(f"{OFFERED}.disconnect", nothing)


def change_grace(patch: Patch, seconds: float) -> None:
    """Change the seconds after which a resource is forgotten."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(self: Any, clock: Any, *, grace: float = 0.0) -> None:
            original(self, clock, grace=seconds)

        return init

    patch.wrap(f"{OFFERED}.__init__", make)


@mutant("resource-dropped-after-a-minute", rule="DP-035")
def _(patch: Patch) -> None:
    """A resource without a plugin is forgotten after 60 s."""
    change_grace(patch, 60.0)


@mutant("resource-never-dropped", rule="DP-035")
def _(patch: Patch) -> None:
    """A resource without a plugin is kept for ever."""
    change_grace(patch, 1e9)


@mutant("returning-plugin-has-free-devices", rule="DP-036")
def _(patch: Patch) -> None:
    """All devices of a plugin that registers are free."""

    def change(life: Any, plugin: Any) -> None:
        if not plugin.lists:
            for uid in life.allocator.holders(plugin.resource):
                life.allocator.release(uid)

    after_change(patch, change)


@mutant("list-and-watch-called-again", rule="DP-037")
def _(patch: Patch) -> None:
    """The kubelet opens another stream when the stream has ended."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def read(self: Any, stream: Any) -> None:
            original(self, stream)
            with contextlib.suppress(RpcError):
                list(self._client.list_and_watch())

        return read

    patch.wrap(f"{PLUGIN}._read", make)


# -- restarts ----------------------------------------------------------------------------------------------------------


@mutant("streams-outlive-the-kubelet", rule="DP-037b")
def _(patch: Patch) -> None:
    """A kubelet that stops leaves its connections to plugins as they are."""
    patch.replace(f"{PLUGIN}.close", lambda self: None)


@mutant("sockets-of-plugins-stay", rule="DP-038")
def _(patch: Patch) -> None:
    """The folder of device plugins is left as it is."""
    patch.replace(f"{MANAGER}.sockets", lambda self: [])


@mutant("folder-of-plugins-emptied", rule="DP-038")
def _(patch: Patch) -> None:
    """Everything but the checkpoint is removed from the folder of device plugins."""
    patch.replace(
        f"{MANAGER}.sockets",
        lambda self: [path for path in self.folder.iterdir() if not path.name.startswith("kubelet_internal")],
    )


def forget_allocations(patch: Patch) -> None:
    """Let a restarted kubelet know of no allocation."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def load(self: Any) -> Any:
            found = original(self)
            self._held = {}
            return found

        return load

    patch.wrap(f"{ALLOCATOR}.load", make)


@mutant("allocations-forgotten-at-a-restart", rule="DP-042")
def _(patch: Patch) -> None:
    """Allocations are not read from the checkpoint."""
    forget_allocations(patch)


@mutant("node-keeps-its-devices-over-a-restart", rule="DP-043")
def _(patch: Patch) -> None:
    """Resources of the life before are not known until they are listed."""
    patch.replace(f"{OFFERED}.restore", nothing)


@mutant("resources-of-the-checkpoint-never-dropped", rule="DP-043b")
def _(patch: Patch) -> None:
    """The five minutes begin only when a plugin of this life of the kubelet ends."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def restore(self: Any, names: Any) -> None:
            original(self, names)
            self._resources = {name: replace(one, gone_at=None) for name, one in self._resources.items()}

        return restore

    patch.wrap(f"{OFFERED}.restore", make)


@mutant("running-pods-admitted-again", rule="DP-044")
def _(patch: Patch) -> None:
    """After a restart, pods that run are admitted like new ones."""
    admit_running_pods(patch, lambda pod: pod)


@mutant("pods-start-with-devices-from-before", rule="DP-046")
def _(patch: Patch) -> None:
    """A pod that has devices by the checkpoint starts without a look at them."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def choose(self: Any, key: Any, count: int, reusable: Any, nodes: Any) -> Any:
            return () if key in self._held else original(self, key, count, reusable, nodes)

        return choose

    patch.wrap(f"{ALLOCATOR}._choose", make)


@mutant("damaged-device-checkpoint-ends-the-kubelet", rule="DP-047")
def _(patch: Patch) -> None:
    """The kubelet does not start with a checkpoint that it cannot read."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def read(path: Any) -> Any:
            held, resources, problem = original(path)
            if problem:
                raise CheckpointCorrupt(problem)
            return held, resources, problem

        return read

    patch.wrap("dra_conformance.kubelet.device_checkpoint:read", make)


@mutant("node-status-not-written-again", rule="DP-019b")
def _(patch: Patch) -> None:
    """A write of the Node's status that fails is not repeated."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(self: Any, counts: Any) -> None:
            with contextlib.suppress(ApiError):
                original(self, counts)

        return write

    patch.wrap("dra_conformance.kubelet.node_resources:NodeResources._write", make)


@mutant("node-keeps-its-devices-without-a-checkpoint", rule="DP-048")
def _(patch: Patch) -> None:
    """The Node object is not changed at the start."""
    patch.wrap(
        "dra_conformance.kubelet.node_resources:NodeResources.start",
        lambda original: lambda self, *, reset: original(self, reset=False),
    )


@mutant("devices-of-ended-pods-kept", rule="DP-050")
def _(patch: Patch) -> None:
    """Devices are never free again."""
    patch.replace(f"{ALLOCATOR}.release", nothing)
    patch.replace(f"{ALLOCATOR}._free_ended", nothing)


@mutant("devices-of-vanished-pods-kept", rule="DP-051")
def _(patch: Patch) -> None:
    """Only the end of a pod frees its devices, not its absence."""
    patch.replace(f"{ALLOCATOR}._free_ended", nothing)
    patch.replace(f"{PODS}.look_at", nothing)


# -- allocation --------------------------------------------------------------------------------------------------------


@mutant("allocate-for-each-device", rule="DP-052")
def _(patch: Patch) -> None:
    """Allocate is called once for each device."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def allocate(self: Any, resource: str, ids: Sequence[str]) -> Any:
            answers = [original(self, resource, [one]) for one in ids]
            return replace(
                answers[0],
                envs={name: ",".join(one.envs[name] for one in answers) for name in answers[0].envs},
            )

        return allocate

    patch.wrap(f"{ALLOCATOR}._allocate", make)


@mutant("failed-allocation-keeps-devices", rule="DP-053")
def _(patch: Patch) -> None:
    """Devices of a pod whose Allocate failed stay in use."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def allocate(self: Any, resource: str, ids: Sequence[str]) -> Any:
            try:
                return original(self, resource, ids)
            except AdmissionRefused:
                self._held["lost", "main", resource] = Held("lost", "main", resource, tuple(ids), ContainerAllocation())
                raise

        return allocate

    patch.wrap(f"{ALLOCATOR}._allocate", make)
    patch.replace(f"{ALLOCATOR}._free_ended", nothing)


@mutant("refused-pod-waits", rule="DP-053")
def _(patch: Patch) -> None:
    """A pod that is not admitted is tried again."""

    def reject(self: Any, pod: Any, state: Any, error: Exception) -> None:
        raise KubeletError(str(error))

    patch.replace(f"{PODS}._reject", reject)


@mutant("empty-answer-is-enough", rule="DP-054")
def _(patch: Patch) -> None:
    """An answer without a response for the container counts as one that gives nothing."""
    patch.wrap(
        f"{PLUGIN}.allocate",
        lambda original: lambda self, *ids, **options: original(self, *ids, **options) or (ContainerAllocation(),),
    )


def _answered(answer: ContainerAllocation) -> tuple[str, ...]:
    """Return the ids that the answer of a scripted device plugin has."""
    return tuple(one.container_path.removeprefix("/dev/") for one in answer.devices)


@mutant("answered-devices-in-pod-resources", rule="DP-163")
def _(patch: Patch) -> None:
    """PodResources lists the devices of the plugin's answer."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def held(self: Any, pod_uid: str, container: str) -> Any:
            return [replace(one, ids=_answered(one.answer)) for one in original(self, pod_uid, container)]

        return held

    patch.wrap(f"{ALLOCATOR}.held", make)


@mutant("answered-devices-in-use", rule="DP-163")
def _(patch: Patch) -> None:
    """Devices of an answer are in use too, those of other plugins included."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def free(self: Any, resource: str) -> Any:
            answered = {i for one in self._held.values() for i in _answered(one.answer)}
            return [i for i in original(self, resource) if i not in answered]

        return free

    patch.wrap(f"{ALLOCATOR}._free", make)


@mutant("answered-devices-replace-others", rule="DP-163")
def _(patch: Patch) -> None:
    """Only the devices of the answer are in use."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def free(self: Any, resource: str) -> Any:
            used = {i for one in self._held.values() if one.resource == resource for i in _answered(one.answer)}
            return [i for i in self.offered.usable(resource) or () if i not in used]

        return free

    patch.wrap(f"{ALLOCATOR}._free", make)


@mutant("last-response-counts", rule="DP-164")
def _(patch: Patch) -> None:
    """Of several responses to Allocate the last one counts."""
    patch.wrap(
        f"{PLUGIN}.allocate",
        lambda original: lambda self, *ids, **options: tuple(original(self, *ids, **options))[-1:],
    )


@mutant("several-responses-refused", rule="DP-164")
def _(patch: Patch) -> None:
    """Several responses to Allocate are none."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def allocate(self: Any, *ids: Any, **options: Any) -> Any:
            found = original(self, *ids, **options)
            return found if len(found) == 1 else ()

        return allocate

    patch.wrap(f"{PLUGIN}.allocate", make)


@mutant("unknown-cdi-device-of-a-plugin-skipped", rule="DP-165")
def _(patch: Patch) -> None:
    """A container starts without a CDI device of its plugin that no specification has."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start_container(self: Any, pod: Any, container: Any) -> Any:
            found = original(self, pod, container)
            return replace(found, cdi_devices=tuple(i for i in found.cdi_devices if i.startswith("dra.test/shared=")))

        return start_container

    patch.wrap(f"{ALLOCATOR}.start_container", make)


@mutant("cdi-device-of-a-plugin-without-a-check-of-its-name", rule="DP-165")
def _(patch: Patch) -> None:
    """A CDI device of a plugin whose name is none of a CDI device is skipped."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start_container(self: Any, pod: Any, container: Any) -> Any:
            found = original(self, pod, container)
            return replace(found, cdi_devices=tuple(i for i in found.cdi_devices if "=" in i))

        return start_container

    patch.wrap(f"{ALLOCATOR}.start_container", make)


@mutant("cdi-error-of-a-plugin-stops-the-node", rule="DP-165")
def _(patch: Patch) -> None:
    """While a container waits for a CDI device of its plugin, the kubelet admits no pod."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def admit(self: Any, pod: Any) -> None:
            original(self, pod)
            if any(one.answer.cdi_devices for one in self._held.values() if one.pod_uid != uid_of(pod)):
                raise AdmissionRefused("UnexpectedAdmissionError", "an earlier pod could not start")

        return admit

    patch.wrap(f"{ALLOCATOR}.admit", make)


def forgive(patch: Patch, words: str, chosen: Callable[[Any, str], tuple[str, ...]]) -> None:
    """Return `chosen(allocator, resource)` in place of a refusal whose message has these words."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def choose(self: Any, key: Any, count: int, reusable: Any, nodes: Any) -> Any:
            try:
                return original(self, key, count, reusable, nodes)
            except AdmissionRefused as error:
                if words not in str(error):
                    raise
                return chosen(self, key[2])

        return choose

    patch.wrap(f"{ALLOCATOR}._choose", make)


@mutant("fewer-devices-are-enough", rule="DP-060")
def _(patch: Patch) -> None:
    """A container gets the devices that are free, as many as they are."""

    def free(allocator: Any, resource: str) -> tuple[str, ...]:
        used = {i for one in allocator._held.values() for i in one.ids}
        return tuple(i for i in allocator.offered.usable(resource) if i not in used)

    forgive(patch, "unavailable", free)


@mutant("allocate-without-devices", rule="DP-063")
def _(patch: Patch) -> None:
    """Allocate is called for a limit of 0."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def limits(self: Any, pod: Any, container: Any) -> Any:
            for resource, count in original(self, pod, container):
                if not count:
                    self._manager.serving(resource).allocate([])
                yield resource, count

        return limits

    patch.wrap(f"{ALLOCATOR}._limits", make)


@mutant("unknown-resource-refused", rule="DP-064")
def _(patch: Patch) -> None:
    """A pod with a resource that no plugin has registered is not admitted."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def admit(self: Any, pod: Any) -> None:
            for container in pod["spec"]["containers"]:
                for resource in (container.get("resources") or {}).get("limits") or {}:
                    if is_extended_resource(resource) and self.offered.usable(resource) is None:
                        raise AdmissionRefused("UnexpectedAdmissionError", f"unknown resource {resource}")
            original(self, pod)

        return admit

    patch.wrap(f"{ALLOCATOR}.admit", make)


@mutant("pod-starts-without-its-devices", rule="DP-065")
def _(patch: Patch) -> None:
    """A pod is admitted without devices if none is healthy."""
    forgive(patch, "no healthy devices", lambda _, __: ())


@mutant("allocate-at-every-start", rule="DP-066")
def _(patch: Patch) -> None:
    """Allocate is called again when a container starts."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start(self: Any, pod: Any, container: Any) -> Any:
            for one in self.held(uid_of(pod), container["name"]):
                self._allocate(one.resource, one.ids)
            return original(self, pod, container)

        return start

    patch.wrap(f"{ALLOCATOR}.start_container", make)


def change_reuse(patch: Patch, change: Callable[[Any, Any], Any]) -> None:
    """Replace the devices that a container may use again by `change(container, reusable)`."""
    patch.wrap(
        f"{ALLOCATOR}._allocate_container",
        lambda original: (
            lambda self, pod, container, reusable, nodes: original(
                self, pod, container, change(container, reusable), nodes
            )
        ),
    )


@mutant("init-containers-keep-their-devices", rule="DP-067")
def _(patch: Patch) -> None:
    """No container uses a device of another one again."""
    change_reuse(patch, lambda container, reusable: {})


def all_give_back(patch: Patch, kinds: Sequence[str]) -> None:
    """Let all containers of these lists of the pod spec give back their devices."""

    def containers(pod: Any) -> Any:
        for kind in ("initContainers", "containers"):
            for container in pod["spec"].get(kind) or ():
                yield container, kind in kinds

    patch.replace(f"{ALLOCATION}:_containers", containers)


@mutant("containers-share-a-device-of-an-init-container", rule="DP-068")
def _(patch: Patch) -> None:
    """A device of an init container stays for all later containers."""
    all_give_back(patch, ("initContainers", "containers"))
    change_reuse(patch, lambda container, reusable: {name: sorted(ids) for name, ids in reusable.items()})


@mutant("sidecar-gives-back-its-devices", rule="DP-069")
def _(patch: Patch) -> None:
    """A sidecar container is treated as an init container."""
    all_give_back(patch, ("initContainers",))


@mutant("sidecar-takes-other-devices", rule="DP-070")
def _(patch: Patch) -> None:
    """A sidecar container uses no device of an init container."""
    change_reuse(patch, lambda container, reusable: {} if container.get("restartPolicy") == "Always" else reusable)


@mutant("devices-in-use-are-free", rule="DP-071")
def _(patch: Patch) -> None:
    """The choice does not look at devices in use."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def choose(self: Any, key: Any, count: int, reusable: Any, nodes: Any) -> Any:
            held, self._held = self._held, {}
            try:
                return original(self, key, count, reusable, nodes)
            finally:
                self._held = held

        return choose

    patch.wrap(f"{ALLOCATOR}._choose", make)


# -- preferences and starts --------------------------------------------------------------------------------------------


@mutant("every-plugin-called-for-preferences", rule="DP-076")
def _(patch: Patch) -> None:
    """GetPreferredAllocation is called for every plugin."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def preferred(self: Any, resource: str, *rest: Any) -> Any:
            plugin = self._manager.serving(resource)
            plugin.options = replace(plugin.options, get_preferred_allocation_available=True)
            return original(self, resource, *rest)

        return preferred

    patch.wrap(f"{ALLOCATOR}._preferred", make)


@mutant("preference-for-missing-devices", rule="DP-077")
def _(patch: Patch) -> None:
    """The size of GetPreferredAllocation is the number of missing devices."""
    patch.wrap(
        f"{PLUGIN}.prefer",
        lambda original: (
            lambda self, *containers, timeout=None: original(
                self, *(replace(one, size=one.size - len(one.must_include)) for one in containers), timeout=timeout
            )
        ),
    )


@mutant("preference-ignored", rule="DP-077")
def _(patch: Patch) -> None:
    """The answer of GetPreferredAllocation is not used."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def preferred(self: Any, *rest: Any) -> Any:
            original(self, *rest)
            return ()

        return preferred

    patch.wrap(f"{ALLOCATOR}._preferred", make)


@mutant("preference-for-devices-in-use-followed", rule="DP-079")
def _(patch: Patch) -> None:
    """The preferred devices are allocated without a check."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def choose(self: Any, key: Any, count: int, reusable: Any, nodes: Any) -> Any:
            found = original(self, key, count, reusable, nodes)
            wish = tuple(self._preferred(key[2], (), (), count))
            return (*wish, *(i for i in found if i not in wish))[: len(found)]

        return choose

    patch.wrap(f"{ALLOCATOR}._choose", make)


@mutant("empty-preference-refused", rule="DP-081")
def _(patch: Patch) -> None:
    """A pod for which the plugin prefers nothing is not admitted."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def preferred(self: Any, resource: str, *rest: Any) -> Any:
            found = original(self, resource, *rest)
            if not found and self._manager.serving(resource).options.get_preferred_allocation_available:
                raise AdmissionRefused("UnexpectedAdmissionError", "no preferred devices")
            return found

        return preferred

    patch.wrap(f"{ALLOCATOR}._preferred", make)


@mutant("pre-start-once", rule="DP-082")
def _(patch: Patch) -> None:
    """PreStartContainer is called once for a container."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        called: set[Any] = set()

        def pre_start(self: Any, *key: str) -> None:
            if key not in called:
                called.add(key)
                original(self, *key)

        return pre_start

    patch.wrap(f"{ALLOCATOR}._pre_start", make)


@mutant("container-starts-after-a-failed-pre-start", rule="DP-083")
def _(patch: Patch) -> None:
    """A failure of PreStartContainer is ignored."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def pre_start(self: Any, *key: str) -> None:
            with contextlib.suppress(DeviceStartFailed):
                original(self, *key)

        return pre_start

    patch.wrap(f"{ALLOCATOR}._pre_start", make)


@mutant("pre-start-of-another-plugin", rule="DP-083b")
def _(patch: Patch) -> None:
    """PreStartContainer goes to the plugin that registered last if that of the resource has ended its stream."""

    def newest(self: Any, resource: str) -> Any:
        return self.serving(resource) or (self.accepted() or [None])[-1]

    patch.replace(f"{MANAGER}.newest", newest)


# -- what containers get -----------------------------------------------------------------------------------------------


def change_merged(patch: Patch, change: Callable[[Any, Sequence[ContainerAllocation]], Any]) -> None:
    """Replace what a container gets by `change(merged, answers)`."""
    patch.wrap(f"{ALLOCATION}:merged", lambda original: lambda answers: change(original(answers), answers))


@mutant("conflicting-variables-refused", rule="DP-084")
def _(patch: Patch) -> None:
    """A container does not start if two answers have a variable with different values."""

    def change(merged: Any, answers: Sequence[ContainerAllocation]) -> Any:
        if any(merged.envs[name] != value for one in answers for name, value in one.envs.items()):
            raise DeviceStartFailed("conflicting variables")
        return merged

    change_merged(patch, change)


@mutant("common-device-files-left-out", rule="DP-085")
def _(patch: Patch) -> None:
    """A device file that two plugins answer is not in the container."""

    def change(merged: Any, answers: Sequence[ContainerAllocation]) -> Any:
        paths = [device.container_path for one in answers for device in one.devices]
        return replace(merged, devices=tuple(d for d in merged.devices if paths.count(d.container_path) == 1))

    change_merged(patch, change)


@mutant("cdi-devices-of-plugins-left-out", rule="DP-086")
def _(patch: Patch) -> None:
    """CDI devices of answers are ignored."""
    change_merged(patch, lambda merged, answers: replace(merged, cdi_devices=()))


@mutant("second-answer-left-out", rule="DP-086a")
def _(patch: Patch) -> None:
    """A container has the answer for its first resource only."""
    change_merged(patch, lambda merged, answers: replace(answers[0]) if answers else merged)


@mutant("annotations-left-out", rule="DP-086a")
def _(patch: Patch) -> None:
    """Annotations of answers are ignored."""
    change_merged(patch, lambda merged, answers: replace(merged, annotations={}))


@mutant("one-answer-for-all-containers", rule="DP-088")
def _(patch: Patch) -> None:
    """Each container has the devices of all containers of its pod."""

    def held(self: Any, pod_uid: str, container: str) -> list[Held]:
        return [one for one in self._held.values() if one.pod_uid == pod_uid]

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start(self: Any, pod: Any, container: Any) -> Any:
            self.held = lambda *key: held(self, *key)
            try:
                return original(self, pod, container)
            finally:
                del self.held

        return start

    patch.wrap(f"{ALLOCATOR}.start_container", make)


@mutant("resource-of-a-claim-allocated-too", rule="DP-115")
def _(patch: Patch) -> None:
    """Devices of plugins are allocated also for a resource that a claim serves."""
    patch.wrap(
        f"{ALLOCATOR}._limits",
        lambda original: lambda self, pod, container: original(self, {**pod, "status": {}}, container),
    )


@mutant("resource-of-a-claim-left-in-all-containers", rule="DP-115")
def _(patch: Patch) -> None:
    """A resource that a claim serves for one container is allocated to no container of the pod."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def limits(self: Any, pod: Any, container: Any) -> Any:
            status = pod.get("status", {}).get("extendedResourceClaimStatus") or {}
            served = {one["resourceName"] for one in status.get("requestMappings") or ()}
            return [one for one in original(self, pod, container) if one[0] not in served]

        return limits

    patch.wrap(f"{ALLOCATOR}._limits", make)


@mutant("resource-of-a-claim-counted-at-admission", rule="DP-115b")
def _(patch: Patch) -> None:
    """Another pod's resource that a claim serves counts as one of the plugin's devices."""
    patch.replace("dra_conformance.kubelet.node_fit:COMPARED", ("cpu", "memory", "example.com/gpu"))


# -- PodResources ------------------------------------------------------------------------------------------------------

POD_RESOURCES = "dra_conformance.kubelet.pod_resources"
LISTER = f"{POD_RESOURCES}:NodePodResources"


@mutant("pod-resources-list-ended-pods", rule="DP-098")
def _(patch: Patch) -> None:
    """List has all pods of the node."""
    patch.replace(f"{PODS}.active_pods", lambda self: list(self._pods.values()))


def change_containers(patch: Patch, change: Callable[[Any], Any]) -> None:
    """Replace the pod of which the containers are shown by `change(pod)`."""
    patch.wrap(f"{LISTER}._shown", lambda original: lambda self, pod: original(self, change(pod)))


@mutant("pod-resources-without-sidecars", rule="DP-099")
def _(patch: Patch) -> None:
    """Only main containers are shown."""
    change_containers(patch, lambda pod: {**pod, "spec": {**pod["spec"], "initContainers": []}})


@mutant("pod-resources-with-init-containers", rule="DP-099")
def _(patch: Patch) -> None:
    """All init containers are shown."""

    def change(pod: Any) -> Any:
        several = [{**one, "restartPolicy": "Always"} for one in pod["spec"].get("initContainers") or ()]
        return {**pod, "spec": {**pod["spec"], "initContainers": several}}

    change_containers(patch, change)


@mutant("pod-resources-without-idle-pods", rule="DP-100")
def _(patch: Patch) -> None:
    """Pods without devices are left out."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self: [
            pod for pod in original(self) if any(self._devices.held(uid_of(pod), c["name"]) for c in _all(pod))
        ]

    def _all(pod: Any) -> Any:
        return [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]

    patch.wrap(f"{LISTER}._active", make)


@mutant("allocatable-devices-are-free-ones", rule="DP-101")
def _(patch: Patch) -> None:
    """GetAllocatableResources has the devices that no container has."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def allocatable(self: Any) -> Any:
            used = {i for one in self._devices._held.values() for i in one.ids}
            return [one for one in original(self) if not used & set(one.ids)]

        return allocatable

    patch.wrap(f"{LISTER}.allocatable", make)


@mutant("allocatable-devices-are-all", rule="DP-101")
def _(patch: Patch) -> None:
    """GetAllocatableResources has unhealthy devices too."""

    def all_usable(self: Any) -> Any:
        return [(name, device) for name, one in self._resources.items() for device in one.devices.values()]

    patch.replace(f"{OFFERED}.all_usable", all_usable)


@mutant("get-ignores-the-namespace", rule="DP-102")
def _(patch: Patch) -> None:
    """Get returns a pod of the name in any namespace."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def get_pod(self: Any, namespace: str, name: str) -> Any:
            found = next((one for one in self.list_pods() if one.name == name), None)
            return found or original(self, namespace, name)

        return get_pod

    patch.wrap(f"{LISTER}.get_pod", make)


@mutant("get-returns-nothing-for-an-unknown-pod", rule="DP-102")
def _(patch: Patch) -> None:
    """Get of a pod that does not exist has an empty answer."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def get_pod(self: Any, namespace: str, name: str) -> Any:
            try:
                return original(self, namespace, name)
            except KubeletError:
                return PodResources(name, namespace)

        return get_pod

    patch.wrap(f"{LISTER}.get_pod", make)


@mutant("pod-resources-empty-after-a-restart", rule="DP-103")
def _(patch: Patch) -> None:
    """Devices of the life before are not shown."""
    forget_allocations(patch)


@mutant("extended-resources-of-all-containers", rule="DP-105")
def _(patch: Patch) -> None:
    """The claim of extended resources is shown for every container of the pod."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def of_claims(self: Any, pod: Any, container: Any) -> Any:
            extended = pod["status"].get("extendedResourceClaimStatus") or {}
            mappings = [{**one, "containerName": container["name"]} for one in extended.get("requestMappings") or ()]
            status = {**pod["status"], "extendedResourceClaimStatus": {**extended, "requestMappings": mappings}}
            return original(self, {**pod, "status": status} if extended else pod, container)

        return of_claims

    patch.wrap(f"{LISTER}._of_claims", make)


@mutant("claims-stay-in-pod-resources", rule="DP-105")
def _(patch: Patch) -> None:
    """A pod that has gone is shown for ever."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def active(self: Any) -> Any:
            seen = self.__dict__.setdefault("seen", {})
            seen.update({uid_of(pod): pod for pod in original(self)})
            return list(seen.values())

        return active

    patch.wrap(f"{LISTER}._active", make)


def _forgets_reports(patch: Patch, method: str, claims: Callable[[Any, Any], list[tuple[str, str]]]) -> None:
    """Let the kubelet remove the device status of claims after a call of its claim manager."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def called(self: Any, argument: Any) -> Any:
            several = claims(self, argument)
            result = original(self, argument)
            several = several or claims(self, argument)
            for namespace, name in several:
                patched = {"status": {"devices": None}}
                with contextlib.suppress(ApiError):
                    self._client.patch(RESOURCE_CLAIMS, name, patched, namespace, subresource="status")
            return result

        return called

    patch.wrap(f"{CLAIMS}.{method}", make)


@mutant("reports-removed-after-prepare", rule="DP-105b")
def _(patch: Patch) -> None:
    """The kubelet removes the device status of a claim when it has been prepared."""
    _forgets_reports(
        patch,
        "prepare",
        lambda manager, pod: [(one.ref.namespace, one.ref.name) for one in manager.cache.of_pod(uid_of(pod))],
    )


@mutant("reports-removed-with-the-first-pod", rule="DP-105b")
def _(patch: Patch) -> None:
    """The kubelet removes the device status of the claims of a pod that has ended, also if other pods use them."""
    _forgets_reports(
        patch,
        "unprepare",
        lambda manager, uid: [(one.ref.namespace, one.ref.name) for one in manager.cache.of_pod(uid)],
    )


@mutant("allocated-devices-in-pod-resources", rule="DP-105b")
def _(patch: Patch) -> None:
    """PodResources lists the devices of a claim's allocation, prepared or not."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def of_claims(self: Any, pod: Any, container: Any) -> Any:
            found = []
            for entry in pod["spec"].get("resourceClaims") or ():
                claim = self._claims._client.get(RESOURCE_CLAIMS, entry["resourceClaimName"], namespace_of(pod))
                devices = [ClaimDevice(one["driver"], one["pool"], one["device"], ()) for one in results_of(claim)]
                found.append(ClaimResources(name_of(claim), namespace_of(claim), tuple(devices)))
            return tuple(found)

        return of_claims

    patch.wrap(f"{LISTER}._of_claims", make)


@mutant("claim-devices-with-all-cdi-devices", rule="DP-106")
def _(patch: Patch) -> None:
    """Each device of a claim has the CDI devices of all."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def shown(record: Any) -> Any:
            found = original(record)
            names = tuple(name for device in found.devices for name in device.cdi_devices)
            return replace(found, devices=tuple(replace(device, cdi_devices=names) for device in found.devices))

        return shown

    patch.wrap(f"{POD_RESOURCES}:_shown_claim", make)


@mutant("claims-shown-for-every-container", rule="DP-107")
def _(patch: Patch) -> None:
    """Each container has the devices of all claims of its pod."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def of_claims(self: Any, pod: Any, container: Any) -> Any:
            every = [{"name": entry["name"]} for entry in pod["spec"].get("resourceClaims") or ()]
            return original(self, pod, {**container, "resources": {"claims": every}})

        return of_claims

    patch.wrap(f"{LISTER}._of_claims", make)


@mutant("plugin-health-of-another-pod", rule="DP-026")
def _(patch: Patch) -> None:
    """The status of a pod shows the devices of the first pod whose container has the same name."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def health(self: Any, pod_uid: str, container: str) -> Any:
            first = next((one.pod_uid for one in self._held.values() if one.container == container), pod_uid)
            return original(self, first, container)

        return health

    patch.wrap(f"{ALLOCATOR}.health", make)
