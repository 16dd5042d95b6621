"""Faults of the health that a kubelet shows, and of the taints that a GPU driver adds for NVML events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_api.objects import PODS
from dra_api.rpc import HealthStatus
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.kubelet import pod_status
from dra_conformance.kubelet.health import _NAMES, allocated_resources_status
from reference_impl.kubelet_plugin.devices import Mig, full_gpu
from reference_impl.kubelet_plugin.health import WHOLE_GPU

CACHE = "dra_conformance.kubelet.health:HealthCache"
WATCHER = "dra_conformance.kubelet.health:HealthWatcher"
SHOWN = "dra_conformance.kubelet.pods:allocated_resources_status"
BOOK = "reference_impl.kubelet_plugin.health:DeviceHealthBook"
MONITOR = "reference_impl.kubelet_plugin.health:HealthMonitor"


def _entries(change: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A status whose entries went through `change`."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def shown(*args: Any, **options: Any) -> Any:
            entries = original(*args, **options)
            return change(entries) if entries else entries

        return shown

    return make


@mutant("health-never-updated", rule="DRA-295")
def _(patch: Patch) -> None:
    """The kubelet stores a new health in its cache but does not update the pods."""
    patch.replace("dra_conformance.kubelet.pods:PodWorkers.resync", lambda self, driver: None)


@mutant("health-always-healthy", rule="DRA-295")
def _(patch: Patch) -> None:
    """Every device that was ever reported is shown as Healthy."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def get(self: Any, driver: str, pool: str, device: str) -> tuple[str, str]:
            health, message = original(self, driver, pool, device)
            return ("Healthy" if health == "Unhealthy" else health), message

        return get

    patch.wrap(f"{CACHE}.get", make)


@mutant("health-of-any-device-of-the-driver", rule="DRA-295")
def _(patch: Patch) -> None:
    """One unhealthy device makes all devices of its driver unhealthy."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def get(self: Any, driver: str, pool: str, device: str) -> tuple[str, str]:
            keys = list(self._drivers.get(driver, {}))
            # Every device of this driver, also of other pools.
            worst = [original(self, driver, *key) for key in keys]
            sick = [seen for seen in worst if seen[0] == "Unhealthy"]
            found: tuple[str, str] = sick[0] if sick else original(self, driver, pool, device)
            return found

        return get

    patch.wrap(f"{CACHE}.get", make)


@mutant("status-entry-without-request", rule="DRA-296")
def _(patch: Patch) -> None:
    """The name of an entry has the claim but not the request."""
    patch.wrap(SHOWN, _entries(lambda entries: [{**e, "name": e["name"].partition("/")[0]} for e in entries]))


@mutant("health-updated-in-one-pod-of-a-claim", rule="DRA-296")
def _(patch: Patch) -> None:
    """Of the pods that share a claim only the newest shows a change of health."""

    def resync(self: Any, driver: str) -> None:
        for claim in self._claims.cache.all():
            if driver in claim.drivers:
                newest = max(claim.pod_uids, key=lambda uid: list(self._pods).index(uid), default="")
                self._queue.add(newest)

    patch.replace("dra_conformance.kubelet.pods:PodWorkers.resync", resync)


@mutant("resource-id-once-in-a-container", rule="DRA-296")
def _(patch: Patch) -> None:
    """A resource id that two requests of a container have is shown under the first one only."""

    def change(entries: Any) -> Any:
        seen: set[str] = set()
        found = []
        for entry in entries:
            fresh = [one for one in entry["resources"] if one["resourceID"] not in seen]
            seen.update(one["resourceID"] for one in fresh)
            if fresh:
                found.append({**entry, "resources": fresh})
        return found

    patch.wrap(SHOWN, _entries(change))


@mutant("status-shows-all-requests", rule="DRA-296")
def _(patch: Patch) -> None:
    """A container that uses one request sees the devices of all."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, request="": original(self)

    patch.wrap("dra_conformance.kubelet.claim_cache:ClaimRecord.devices", make)


@mutant("stale-health-kept", rule="DRA-297")
def _(patch: Patch) -> None:
    """The kubelet keeps the last report indefinitely."""

    def get(self: Any, driver: str, pool: str, device: str) -> tuple[str, str]:
        known = self._drivers.get(driver, {}).get((pool, device))
        return (_NAMES[known.health], known.message) if known else ("Unknown", "")

    patch.replace(f"{CACHE}.get", get)


@mutant("driver-timeout-ignored", rule="DRA-297")
def _(patch: Patch) -> None:
    """The kubelet uses 30 seconds even if the driver sets a timeout."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, driver, devices: original(self, driver, [replace(d, timeout_seconds=0) for d in devices])

    patch.wrap(f"{CACHE}.update", make)


@mutant("expired-health-not-updated", rule="DRA-297")
def _(patch: Patch) -> None:
    """The kubelet does not update a pod when the health of its device expires."""
    patch.replace(f"{CACHE}.holds", lambda self, driver, pool, device: None)


@mutant("pods-updated-when-their-last-report-expires", rule="DRA-297")
def _(patch: Patch) -> None:
    """Of several reports of a driver, the one with the longest timeout sets the time of the next update."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def holds(self: Any, driver: str, pool: str, device: str) -> float | None:
            own = original(self, driver, pool, device)
            several = [original(self, driver, *key) for key in self.known(driver)]
            return own if own is None else max(one for one in several if one is not None)

        return holds

    patch.wrap(f"{CACHE}.holds", make)


@mutant("health-outlives-its-stream", rule="DRA-298")
def _(patch: Patch) -> None:
    """The end of a stream changes nothing."""
    patch.replace(f"{CACHE}.clear", lambda self, driver: None)


@mutant("no-second-health-stream", rule="DRA-298")
def _(patch: Patch) -> None:
    """The kubelet does not open a second stream after the first has ended."""

    def follow(self: Any, instance: Any) -> None:
        self._one_stream(instance)

    patch.replace(f"{WATCHER}._follow", follow)


@mutant("stream-without-a-report-not-opened-again", rule="DRA-298")
def _(patch: Patch) -> None:
    """A health stream that ends before its first report is the last one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def one_stream(self: Any, instance: Any) -> tuple[str, bool, bool]:
            error, received, supported = original(self, instance)
            return error, received, supported and received

        return one_stream

    patch.wrap(f"{WATCHER}._one_stream", make)


@mutant("message-not-truncated", rule="DRA-299")
def _(patch: Patch) -> None:
    """Messages are not truncated."""
    patch.replace("dra_conformance.kubelet.health:cut_message", lambda message: message)


@mutant("truncated-message-without-dots", rule="DRA-299")
def _(patch: Patch) -> None:
    """A truncated message does not end with an ellipsis."""
    patch.replace("dra_conformance.kubelet.health:cut_message", lambda message: message[:1024])


@mutant("message-without-its-gate", rule="DRA-299")
def _(patch: Patch) -> None:
    """Messages are shown although their gate is off."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def shown(container: Any, records: Any, cache: Any, gates: Any) -> Any:
            return original(container, records, cache, replace(gates, resource_health_status_message=True))

        return shown

    patch.wrap(SHOWN, make)


@mutant("only-bad-health-has-a-message", rule="DRA-299")
def _(patch: Patch) -> None:
    """The message of a healthy device is not shown."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def get(self: Any, driver: str, pool: str, device: str) -> tuple[str, str]:
            health, message = original(self, driver, pool, device)
            return health, "" if health == "Healthy" else message

        return get

    patch.wrap(f"{CACHE}.get", make)


@mutant("shared-cdi-id-listed-twice", rule="DRA-300")
def _(patch: Patch) -> None:
    """Devices that share a CDI device ID are listed separately."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda driver, device: f"{original(driver, device)}-{device.device_name}"

    patch.wrap("dra_conformance.kubelet.health:_resource_id", make)


@mutant("unhealthy-pods-deleted", rule="DRA-301")
def _(patch: Patch) -> None:
    """The kubelet deletes pods whose devices are unhealthy."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(self: Any, pod: Any, state: Any) -> None:
            # The status is written first, so that only the deletion is wrong.
            original(self, pod, state)
            records = self._claims.records_of(pod)
            for container in pod["spec"]["containers"]:
                shown = allocated_resources_status(container, records, self._health, self._gates) or ()
                if any(r["health"] == "Unhealthy" for entry in shown for r in entry["resources"]):
                    self._client.delete(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"])

        return write

    patch.wrap("dra_conformance.kubelet.pods:PodWorkers._write_running", make)


@mutant("health-without-its-gate", rule="DRA-302")
def _(patch: Patch) -> None:
    """Health is watched and shown although the gate is off."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def shown(container: Any, records: Any, cache: Any, gates: Any) -> Any:
            return original(container, records, cache, replace(gates, resource_health_status=True))

        return shown

    patch.wrap(SHOWN, make)


@mutant("xid-ignored", rule="NV-118")
def _(patch: Patch) -> None:
    """The driver does not process XID events."""
    patch.replace(f"{BOOK}.xid", lambda self, uuid, gi, ci, xid: None)


@mutant("xid-taints-the-node", rule="NV-118")
def _(patch: Patch) -> None:
    """An XID taints every device."""
    patch.replace(f"{BOOK}.concerns", lambda self, device, uuid, gi, ci: True)


@mutant("xid-withdraws-the-device", rule="NV-118")
def _(patch: Patch) -> None:
    """A device with an XID is no longer published."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda devices, counters=(): original([d for d in devices if not d.get("taints")], counters)

    patch.wrap("reference_impl.kubelet_plugin.plugin:layout", make)


@mutant("every-xid-is-no-schedule", rule="NV-119")
def _(patch: Patch) -> None:
    """Every XID has effect NoSchedule."""
    patch.replace(f"{BOOK}.effect", lambda self, xid: "NoSchedule")


@mutant("lost-gpu-ignored", rule="NV-121")
def _(patch: Patch) -> None:
    """A GPU that fell off the bus changes nothing."""
    patch.replace(f"{BOOK}.lost", lambda self: None)


@mutant("lost-gpu-ends-monitoring", rule="NV-121b")
def _(patch: Patch) -> None:
    """After a GPU fell off the bus, no event is waited for any more."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def lost(self: Any) -> None:
            original(self)
            raise SystemExit  # ends the thread that waits for events

        return lost

    patch.wrap(f"{BOOK}.lost", make)


@mutant("error-ends-monitoring", rule="NV-121d")
def _(patch: Patch) -> None:
    """After an error that is not a lost GPU, no event is waited for any more."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def wait_for_events(self: Any) -> None:
            module, real = self._nvml.module, self._nvml.module.nvmlEventSetWait_v2

            def wait(*args: Any) -> Any:
                try:
                    return real(*args)
                except module.NVMLError as error:
                    if error.value not in (module.NVML_ERROR_TIMEOUT, module.NVML_ERROR_GPU_IS_LOST):
                        raise SystemExit from error  # ends the thread that waits for events
                    raise

            module.nvmlEventSetWait_v2 = wait
            try:
                original(self)
            finally:
                module.nvmlEventSetWait_v2 = real

        return wait_for_events

    patch.wrap(f"{MONITOR}._wait_for_events", make)


@mutant("mild-taint-hides-a-serious-one", rule="NV-121c")
def _(patch: Patch) -> None:
    """A device with a taint of the effect None is healthy, whatever other taints it has."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def problem(self: Any, device: str) -> Any:
            mild = any(taint["effect"] == "None" for taint in self.taints(device))
            return "" if mild else original(self, device)

        return problem

    patch.wrap(f"{BOOK}.problem", make)


@mutant("lost-gpu-replaces-other-taints", rule="NV-121")
def _(patch: Patch) -> None:
    """A device has one taint only: that of the lost GPU replaces the taint of its own XID."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def set_taint(self: Any, devices: Any, taint: Any, message: str) -> None:
            for device in devices:
                held = self._taints.get(device.name, {})
                for key in [key for key in held if key != taint.key]:
                    del held[key]
            original(self, devices, taint, message)

        return set_taint

    patch.wrap(f"{BOOK}._set", make)


@mutant("unmonitored-gpu-without-taint", rule="NV-122")
def _(patch: Patch) -> None:
    """A GPU whose events cannot be monitored gets no taint."""
    patch.replace(f"{BOOK}.unmonitored", lambda self, uuid, reason: None)


@mutant("milder-xid-ignored", rule="NV-123")
def _(patch: Patch) -> None:
    """A milder XID does not replace a worse one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def set_taint(self: Any, devices: Any, taint: Any, message: str) -> None:
            held = [d for d in devices if any(t.effect == "NoSchedule" for t in self._taints.get(d.name, {}).values())]
            original(self, [d for d in devices if taint.effect != "None" or d not in held], taint, message)

        return set_taint

    patch.wrap(f"{BOOK}._set", make)


@mutant("xid-of-an-instance-taints-the-gpu", rule="NV-124")
def _(patch: Patch) -> None:
    """An XID in one MIG device taints all MIG devices of the GPU."""

    def concerns(self: Any, device: Any, uuid: str, gpu_instance: int, compute_instance: int) -> bool:
        return bool(full_gpu(device).uuid == uuid)

    patch.replace(f"{BOOK}.concerns", concerns)


def comparing(patch: Patch, same: Callable[[Mig, int, int], bool]) -> None:
    """Compare an event and a MIG device in another way."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def concerns(self: Any, device: Any, uuid: str, gpu_instance: int, compute_instance: int) -> bool:
            if isinstance(device, Mig) and full_gpu(device).uuid == uuid and gpu_instance != WHOLE_GPU:
                return same(device, gpu_instance, compute_instance)
            return bool(original(self, device, uuid, gpu_instance, compute_instance))

        return concerns

    patch.wrap(f"{BOOK}.concerns", make)


@mutant("gpu-instance-of-an-xid-not-compared", rule="NV-124")
def _(patch: Patch) -> None:
    """An XID taints every MIG device that has its compute instance id, which is 0 in each GPU instance."""
    comparing(patch, lambda device, gpu_instance, compute_instance: device.ci_id == compute_instance)


@mutant("compute-instance-of-an-xid-not-compared", rule="NV-124")
def _(patch: Patch) -> None:
    """An XID taints the MIG device of its GPU instance, whatever its compute instance."""
    comparing(patch, lambda device, gpu_instance, compute_instance: device.gi_id == gpu_instance)


@mutant("xid-of-gpu-taints-no-mig-device", rule="NV-124b")
def _(patch: Patch) -> None:
    """An XID of the whole GPU does not taint its MIG devices."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def concerns(self: Any, device: Any, uuid: str, gpu_instance: int, compute_instance: int) -> bool:
            found = original(self, device, uuid, gpu_instance, compute_instance)
            return bool(found and not (isinstance(device, Mig) and gpu_instance == WHOLE_GPU))

        return concerns

    patch.wrap(f"{BOOK}.concerns", make)


@mutant("taints-kept-after-restart", rule="NV-125")
def _(patch: Patch) -> None:
    """After a restart, the driver keeps the taints of the previous process."""
    # Shared by all instances, so that a driver that is started again in this process finds the old taints.
    kept: dict[str, Any] = {}

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(self: Any, *args: Any, **options: Any) -> None:
            original(self, *args, **options)
            self._taints = kept

        return init

    patch.wrap(f"{BOOK}.__init__", make)


@mutant("tainted-device-not-prepared", rule="NV-126")
def _(patch: Patch) -> None:
    """Prepare refuses devices with an NVML error."""
    # Filled by one patched method and read by the other.
    sick: list[int] = []

    def remember(original: Callable[..., Any]) -> Callable[..., Any]:
        def xid(self: Any, *args: Any) -> None:
            sick.append(1)
            original(self, *args)

        return xid

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def prepare(self: Any, claim: Any) -> Any:
            if sick:
                raise RuntimeError("the device is not healthy")
            return original(self, claim)

        return prepare

    patch.wrap(f"{BOOK}.xid", remember)
    patch.wrap("reference_impl.kubelet_plugin.prepare:ClaimPreparer.prepare", make)


@mutant("every-event-is-an-xid", rule="NV-127")
def _(patch: Patch) -> None:
    """Any NVML event taints its device."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def register(self: Any) -> None:
            original(self)
            module = self._nvml.module
            for handle in self._nvml.handles():
                module.nvmlDeviceRegisterEvents(handle, module.nvmlEventTypeSingleBitEccError, self._events)

        return register

    patch.wrap(f"{MONITOR}._register", make)


# Faults that only show with a second claim, device, driver or stream.


@mutant("health-of-the-last-claim", rule="DRA-295")
def _(patch: Patch) -> None:
    """Of the claims of a container only the last one is shown."""
    patch.wrap(SHOWN, _entries(lambda entries: entries[-1:]))


@mutant("health-of-the-first-claim", rule="DRA-295")
def _(patch: Patch) -> None:
    """Of the claims of a container only the first one is shown."""
    patch.wrap(SHOWN, _entries(lambda entries: entries[:1]))


@mutant("health-under-another-id", rule="DRA-295")
def _(patch: Patch) -> None:
    """A device without a CDI id is shown by its name alone."""
    patch.replace("dra_conformance.kubelet.health:_resource_id", lambda driver, device: device.device_name)


@mutant("health-of-the-claims-exchanged", rule="DRA-295")
def _(patch: Patch) -> None:
    """The devices of one claim are shown under the name of another."""

    def change(entries: Any) -> Any:
        names = [entry["name"] for entry in reversed(entries)]
        return [{**entry, "name": name} for entry, name in zip(entries, names, strict=True)]

    patch.wrap(SHOWN, _entries(change))


@mutant("health-of-the-other-driver", rule="DRA-295")
def _(patch: Patch) -> None:
    """The health of a device is looked up by pool and name, without its driver."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def get(self: Any, driver: str, pool: str, device: str) -> tuple[str, str]:
            found = [original(self, other, pool, device) for other in list(self._drivers)]
            sick = [one for one in found if one[0] == "Unhealthy"]
            seen: tuple[str, str] = sick[0] if sick else original(self, driver, pool, device)
            return seen

        return get

    patch.wrap(f"{CACHE}.get", make)


@mutant("one-stream-ends-all-health", rule="DRA-298")
def _(patch: Patch) -> None:
    """The end of one driver's stream makes the devices of all drivers Unknown."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def clear(self: Any, driver: str) -> None:
            for other in list(self._drivers):
                original(self, other)

        return clear

    patch.wrap(f"{CACHE}.clear", make)
    patch.replace("dra_conformance.kubelet.health:HealthWatcher._one_stream", _ending_for_all)


def _ending_for_all(self: Any, instance: Any) -> tuple[str, bool, bool]:
    """Read one stream, and report at its end that the devices of every driver have changed."""
    from dra_api.rpc import RpcError

    received, reason = False, "the driver ended the stream"
    try:
        for devices in instance.client.watch_health(instance.health):
            received = True
            self._take(instance.driver, devices)
    except RpcError as error:
        reason = str(error)
    finally:
        drivers = list(self.cache._drivers)
        self.cache.clear(instance.driver)
        if received and not instance.stopping.is_set():
            for driver in drivers:
                self._on_change(driver)
    return reason, received, True


@mutant("no-third-stream", rule="DRA-298")
def _(patch: Patch) -> None:
    """The kubelet opens one more stream of a driver and then no other."""
    streams: dict[int, int] = {}

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def one_stream(self: Any, instance: Any) -> tuple[str, bool, bool]:
            if streams.get(id(instance), 0) >= 2:
                return "enough", False, True
            reason, received, supported = original(self, instance)
            streams[id(instance)] = streams.get(id(instance), 0) + received
            return reason, received, supported

        return one_stream

    patch.wrap(f"{WATCHER}._one_stream", make)


@mutant("shared-id-hides-the-others", rule="DRA-300")
def _(patch: Patch) -> None:
    """A claim with a shared CDI id has one entry for all of its devices."""

    def change(entries: Any) -> Any:
        return [
            {**entry, "resources": entry["resources"][:1] if "shared" in str(entry) else entry["resources"]}
            for entry in entries
        ]

    patch.wrap(SHOWN, _entries(change))


@mutant("one-unmonitored-gpu-taints-all", rule="NV-122")
def _(patch: Patch) -> None:
    """A GPU without events makes all GPUs of the node unmonitored."""

    def make(original: Any) -> Any:
        def unmonitored(self: Any, uuid: str, reason: str) -> None:
            for gpu in self._found.gpus:
                original(self, gpu.uuid, reason)

        return unmonitored

    patch.wrap("reference_impl.kubelet_plugin.health:DeviceHealthBook.unmonitored", make)


@mutant("unmonitored-gpu-is-healthy", rule="NV-122b")
def _(patch: Patch) -> None:
    """A GPU without events is reported as Healthy."""
    patch.replace(f"{BOOK}.is_monitored", lambda self, device: True)


@mutant("taint-keeps-first-xid", rule="NV-123")
def _(patch: Patch) -> None:
    """A taint that is in the slice stays as it is if key and effect are the same, whatever its value is."""
    patch.replace(
        "reference_impl.kubelet_plugin.slices:_without_time",
        lambda taint: frozenset((key, taint[key]) for key in ("key", "effect")),
    )


@mutant("gpus-after-an-unmonitored-one-not-registered", rule="NV-122c")
def _(patch: Patch) -> None:
    """The driver registers for no events of the GPUs after one that has none."""

    def register(self: Any) -> None:
        module = self._nvml.module
        self._events = module.nvmlEventSetCreate()
        for gpu, handle in zip(self._found.gpus, self._nvml.handles(), strict=True):
            try:
                module.nvmlDeviceRegisterEvents(handle, module.nvmlEventTypeXidCriticalError, self._events)
            except module.NVMLError as error:
                self._book.unmonitored(gpu.uuid, str(error))
                return

    patch.replace(f"{MONITOR}._register", register)


@mutant("ended-pod-runs-again", rule="DRA-295e")
def _(patch: Patch) -> None:
    """The kubelet writes a pod that has ended as Running when the health of its device changes."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def resync(self: Any, driver: str) -> None:
            original(self, driver)
            with self._lock:
                ended = [(self._pods[uid], state) for uid, state in self._states.items() if state.ended]
            for pod, state in ended:
                started_at = self._now()
                status = pod_status.running(pod, now=started_at, started_at=started_at, pod_ip="10.0.0.9", health={})
                self._writer.write(pod, state.written, status)

        return resync

    patch.wrap("dra_conformance.kubelet.pods:PodWorkers.resync", make)


@mutant("end-of-a-pod-clears-health", rule="DRA-295e")
def _(patch: Patch) -> None:
    """When a pod ends, the kubelet deletes the health of all devices of its drivers."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def end(self: Any, pod: Any, state: Any, phase: Any) -> None:
            drivers = {driver for record in self._claims.records_of(pod).values() for driver in record.drivers}
            original(self, pod, state, phase)
            for driver in drivers:
                self._health.clear(driver)
                self.resync(driver)

        return end

    patch.wrap("dra_conformance.kubelet.pods:PodWorkers._end", make)


@mutant("first-end-ends-updates-of-a-claim", rule="DRA-295e")
def _(patch: Patch) -> None:
    """Once a pod has ended, a change of health updates no pod of the node."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def resync(self: Any, driver: str) -> None:
            if not any(state.ended for state in self._states.values()):
                original(self, driver)

        return resync

    patch.wrap("dra_conformance.kubelet.pods:PodWorkers.resync", make)


def _reports(patch: Patch, change: Callable[[list[Any]], list[Any]]) -> None:
    """Change the devices of each report before the kubelet stores them."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, driver, devices: original(self, driver, change(list(devices)))

    patch.wrap(f"{CACHE}.update", make)


@mutant("report-with-a-nameless-device-dropped", rule="DRA-295f")
def _(patch: Patch) -> None:
    """A report with a device without a name is not stored at all."""
    _reports(patch, lambda devices: devices if all(device.device_name for device in devices) else [])


@mutant("report-looked-up-without-its-driver", rule="DRA-295f")
def _(patch: Patch) -> None:
    """A report about a device of another driver changes that one if the own driver has no such device."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def get(self: Any, driver: str, pool: str, device: str) -> tuple[str, str]:
            seen: tuple[str, str] = original(self, driver, pool, device)
            others = [original(self, other, pool, device) for other in list(self._drivers)]
            return next((one for one in others if one[0] == "Unhealthy"), seen)

        return get

    patch.wrap(f"{CACHE}.get", make)


@mutant("report-without-its-pool", rule="DRA-295f")
def _(patch: Patch) -> None:
    """The health of a device is looked up by its name, whatever the pool."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def get(self: Any, driver: str, pool: str, device: str) -> tuple[str, str]:
            keys = [key for key in list(self._drivers.get(driver, {})) if key[1] == device] or [(pool, device)]
            seen: tuple[str, str] = original(self, driver, *keys[-1])
            return seen

        return get

    patch.wrap(f"{CACHE}.get", make)


@mutant("first-entry-of-a-device-counts", rule="DRA-295g")
def _(patch: Patch) -> None:
    """Of several entries of a device in one report the first one counts."""
    _reports(patch, lambda devices: devices[::-1])


@mutant("worst-entry-of-a-device-counts", rule="DRA-295g")
def _(patch: Patch) -> None:
    """Of several entries of a device in one report an unhealthy one counts."""
    _reports(patch, lambda devices: sorted(devices, key=lambda device: device.health == HealthStatus.UNHEALTHY))


@mutant("only-first-reports-of-a-stream", rule="DRA-298b")
def _(patch: Patch) -> None:
    """The kubelet reads the first 500 reports of a stream and ignores the others."""
    taken: dict[str, int] = {}

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def take(self: Any, driver: str, devices: Any) -> None:
            taken[driver] = taken.get(driver, 0) + 1
            if taken[driver] <= 500:
                original(self, driver, devices)

        return take

    patch.wrap(f"{WATCHER}._take", make)


@mutant("long-report-cut", rule="DRA-298b")
def _(patch: Patch) -> None:
    """The kubelet stores the first 1,000 devices of a report."""
    _reports(patch, lambda devices: devices[:1000])
