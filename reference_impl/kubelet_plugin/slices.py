"""The publisher of a driver's ResourceSlices.

The driver sets the wanted content (`publish`), a watch of the API server delivers the stored slices. One thread writes
the differences between `start` and `stop`. The slices stay when the plugin stops (rule NV-014): the kubelet deletes
them, or the garbage collector after the deletion of the Node.

Source: k8s.io/dynamic-resource-allocation/resourceslice v0.36.0 (resourceslicecontroller.go); rules DRA-288 to DRA-294,
NV-014, NV-019, NV-048. Limits: k8s.io/api resource/v1 types.go v0.36 (128 devices a slice, 64 with taints or counters).
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dra_api.client import ApiError, Conflict, Invalid, KubeClient, NotFound
from dra_api.clock import Clock
from dra_api.informer import Change, Informer
from dra_api.objects import NODES, RESOURCE_SLICES, Obj, meta, name_of, owner_reference, uid_of
from dra_api.transport import TransportError
from dra_api.workqueue import WorkQueue
from reference_impl.runtime import ComponentError

log = logging.getLogger(__name__)

MAX_DEVICES = 128
MAX_DEVICES_WITH_TAINTS = 64
_SYNC = "sync"


class InvalidSlicesError(Exception):
    """The content to publish is inconsistent; nothing was written (rule DRA-293)."""


class DroppedFieldsError(Exception):
    """The API server stored less than was sent: a feature gate is off there (rule DRA-292)."""


@dataclass(frozen=True, slots=True)
class SliceContent:
    """The content of one slice: devices or shared counters."""

    devices: tuple[Obj, ...] = ()
    shared_counters: tuple[Obj, ...] = ()

    def fields(self) -> Obj:
        """Return the fields of the spec that hold this content."""
        spec: Obj = {}
        if self.devices:
            spec["devices"] = list(self.devices)
        if self.shared_counters:
            spec["sharedCounters"] = list(self.shared_counters)
        return spec


@dataclass(slots=True)
class _Accepted:
    """A content from which the API server dropped fields, and the result."""

    wanted: Obj
    stored: Obj


@dataclass(frozen=True, slots=True)
class _Plan:
    """The writes that bring a pool to its wanted content."""

    delete: list[Obj] = field(default_factory=list)
    update: list[tuple[Obj, Obj]] = field(default_factory=list)
    create: list[tuple[int, Obj]] = field(default_factory=list)


def layout(devices: Sequence[Obj], counters: Sequence[Obj] = ()) -> list[SliceContent]:
    """Return devices in slices within the API's limits; counter sets come first, in slices of their own."""
    restricted = any(device.get("taints") or device.get("consumesCounters") for device in devices)
    limit = MAX_DEVICES_WITH_TAINTS if restricted else MAX_DEVICES
    content = [SliceContent(shared_counters=tuple(counters[i : i + 8])) for i in range(0, len(counters), 8)]
    content += [SliceContent(devices=tuple(devices[i : i + limit])) for i in range(0, len(devices), limit)]
    return content or [SliceContent()]


def partitioned_layout(gpus: Sequence[tuple[Obj | None, Sequence[Obj]]], *, counters_apart: bool) -> list[SliceContent]:
    """Return one slice a GPU, given as its counter set (if it has one) and its devices.

    From Kubernetes 1.35 on counter sets must lie apart from devices, in slices of their own at the front; before, they
    must lie in the slice of the devices that consume them (rules NV-038, NV-039).
    """
    counters = [counter_set for counter_set, _ in gpus if counter_set is not None]
    apart = layout((), counters) if counters_apart and counters else []
    rest = []
    for counter_set, devices in gpus:
        contents = layout(devices)
        if counter_set is not None and not counters_apart:
            contents[0] = SliceContent(devices=contents[0].devices, shared_counters=(counter_set,))
        rest += [entry for entry in contents if entry.fields()]
    return [*apart, *rest] or [SliceContent()]


def check(content: Sequence[SliceContent]) -> None:
    """Refuse duplicate names and counters that do not exist. Raises InvalidSlicesError (rule DRA-293)."""
    names: set[str] = set()
    sets = {counters["name"]: counters["counters"] for entry in content for counters in entry.shared_counters}
    for device in (device for entry in content for device in entry.devices):
        if device["name"] in names:
            raise InvalidSlicesError(f"two devices are named {device['name']!r}")
        names.add(device["name"])
        for consumed in device.get("consumesCounters") or ():
            missing = set(consumed["counters"]) - set(sets.get(consumed["counterSet"], ()))
            if consumed["counterSet"] not in sets or missing:
                raise InvalidSlicesError(
                    f"device {device['name']!r} consumes {sorted(missing)} of counter set {consumed['counterSet']!r}, "
                    "which no slice of the pool offers"
                )


class SlicePublisher:
    """Publishes one pool, named after the node, for one driver.

    Arguments:
        driver, node_name: owner of the slices; every other slice of this driver on this node is removed.
        resync_delay: seconds until a change by others is reverted.
        on_error: called once for each problem that a retry cannot solve.
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        clock: Clock,
        driver: str,
        node_name: str,
        resync_delay: float,
        on_error: Callable[[Exception], None],
    ) -> None:
        self._client = client
        self._clock = clock
        self._driver = driver
        self._node_name = node_name
        self._resync_delay = resync_delay
        self._on_error = on_error
        self._lock = threading.Lock()
        self._wanted: tuple[SliceContent, ...] | None = None
        self._accepted: dict[int, _Accepted] = {}
        self._synced_once = threading.Event()
        self._queue: WorkQueue[str] = WorkQueue(clock, base_delay=0.05, max_delay=5.0)
        self._informer: Informer | None = None
        self._thread: threading.Thread | None = None

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to watch and to write, in a thread. Raises ComponentError when the server has no ResourceSlices."""
        try:
            self._client.require(RESOURCE_SLICES)
        except LookupError as error:
            raise ComponentError(f"slices cannot be published: {error}") from error
        self._informer = Informer(
            self._client,
            RESOURCE_SLICES,
            field_selector=f"spec.nodeName={self._node_name},spec.driver={self._driver}",
            clock=self._clock,
        )
        self._informer.on_change(self._seen)
        self._informer.start()
        self._thread = threading.Thread(target=self._work, name=f"slices-{self._driver}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; the slices stay. Idempotent."""
        self._queue.shut_down()
        if self._informer is not None:
            self._informer.stop()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def publish(self, content: Sequence[SliceContent]) -> None:
        """Publish `content` as the whole pool. Raises InvalidSlicesError, and then changes nothing."""
        check(content)
        with self._lock:
            self._wanted = tuple(content)
        self._queue.add(_SYNC)

    def wait_published(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for the first complete publication."""
        return self._clock.wait(self._synced_once, timeout)

    def _seen(self, change: Change) -> None:
        # Delayed, so that the events of the publisher's own writes lead to one check.
        self._queue.add_after(_SYNC, self._resync_delay)

    # -- reconciling -----------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while (key := self._queue.get()) is not None:
            try:
                self.sync()
                self._queue.forget(key)
            except Invalid as error:  # sending the same again cannot help; the next change may
                self._on_error(error)
                self._queue.forget(key)
            except (ApiError, TransportError, OSError) as error:
                log.log(
                    logging.DEBUG if isinstance(error, (Conflict, NotFound)) else logging.WARNING,
                    "slices of %s on %s: %s; will try again",
                    self._driver,
                    self._node_name,
                    error,
                )
                self._queue.add_rate_limited(key)
            except Exception:  # one bad object must not end the work on all others
                log.exception("slices of %s on %s: a bug", self._driver, self._node_name)
                self._queue.add_rate_limited(key)
            finally:
                self._queue.done(key)

    def sync(self) -> None:
        """Write the differences between the wanted and the stored slices."""
        informer = self._informer
        with self._lock:
            wanted = self._wanted
        if wanted is None or informer is None:
            return
        if trouble := informer.wait_served(30):
            raise TimeoutError(f"the driver {trouble}")
        node = self._client.get(NODES, self._node_name)
        plan = self.plan(list(wanted), informer.list(), node)
        # Deleted first: with old slices beside new ones, the pool would have too many of them.
        for obsolete in plan.delete:
            self._delete(obsolete)
        for new, old in plan.update:
            stored = self._client.update(RESOURCE_SLICES, new)
            informer.assume(stored)
            self._compare(slice_index(name_of(old)) or 0, new, stored)
        for index, new in plan.create:
            stored = self._client.create(RESOURCE_SLICES, new)
            informer.assume(stored)
            self._compare(index, new, stored)
        self._synced_once.set()

    def plan(self, wanted: Sequence[SliceContent], there: Sequence[Obj], node: Obj) -> _Plan:
        """Return the slices to delete, update and create.

        Slices are matched by the index in their name. The generation stays when nothing is new and at most one slice
        changes; otherwise every slice gets the next one (rule DRA-289).
        """
        plan = _Plan()
        matched: dict[int, Obj] = {}
        top = 0
        for old in sorted(there, key=name_of):
            index = slice_index(name_of(old))
            if self.is_mine(old):
                # Slices that are deleted below count too: consumers may have seen their generation.
                top = max(top, int(old["spec"]["pool"].get("generation") or 0))
            if not self.is_mine(old) or index is None or index >= len(wanted) or index in matched:
                plan.delete.append(old)
            else:
                matched[index] = old
        generation = self.next_generation(wanted, matched, top, node)
        for index, content in enumerate(wanted):
            if index not in matched:
                plan.create.append((index, self._new(index, self._spec(content, generation, len(wanted)), node)))
                continue
            old = matched[index]
            spec = self._spec(content, generation, len(wanted))
            if not self._same(index, spec, old, node):
                plan.update.append((self._changed(old, spec, node), old))
        return plan

    def is_mine(self, found: Obj) -> bool:
        """Return whether a slice belongs to the pool that this publisher writes."""
        return bool(found["spec"]["pool"].get("name") == self._node_name)

    def next_generation(self, wanted: Sequence[SliceContent], matched: dict[int, Obj], top: int, node: Obj) -> int:
        """Return the pool's generation after this change (rule DRA-289)."""
        new = [index for index in range(len(wanted)) if index not in matched]
        mixed = any(old["spec"]["pool"].get("generation") != top for old in matched.values())
        changed = [
            index
            for index, old in matched.items()
            if not self._same(index, self._spec(wanted[index], top, len(wanted)), old, node)
        ]
        return top if not new and not mixed and len(changed) <= 1 else top + 1

    # -- one slice -------------------------------------------------------------------------------------------------

    def _spec(self, content: SliceContent, generation: int, count: int) -> Obj:
        return {
            "driver": self._driver,
            "nodeName": self._node_name,
            "pool": {"name": self._node_name, "generation": generation, "resourceSliceCount": count},
            **content.fields(),
        }

    def _new(self, index: int, spec: Obj, node: Obj) -> Obj:
        return {
            "metadata": {
                "generateName": f"{index:05x}-{self._driver}-{self._node_name}-",
                "ownerReferences": [self.owner(node)],
            },
            "spec": spec,
        }

    def _changed(self, old: Obj, spec: Obj, node: Obj) -> Obj:
        kept = keep_times(spec, old["spec"])
        return {**old, "metadata": {**meta(old), "ownerReferences": [self.owner(node)]}, "spec": kept}

    def owner(self, node: Obj) -> Obj:
        """Return the owner reference to the Node, which makes the garbage collector delete its slices (rule NV-019)."""
        node = {"apiVersion": NODES.api_version, "kind": NODES.kind, **node}
        return owner_reference(node)

    def _same(self, index: int, spec: Obj, old: Obj, node: Obj) -> bool:
        # The Node was recreated: with the old owner the garbage collector would delete the slice.
        if [o.get("uid") for o in meta(old).get("ownerReferences") or ()] != [uid_of(node)]:
            return False
        stored = old["spec"]
        if keep_times(spec, stored) == stored:
            return True
        accepted = self._accepted.get(index)
        # The server received the same content before and stored it like this: another update would change nothing.
        return accepted is not None and accepted.wanted == spec and accepted.stored == stored

    def _compare(self, index: int, sent: Obj, stored: Obj) -> None:
        spec = sent["spec"]
        if keep_times(spec, stored["spec"]) == stored["spec"]:
            self._accepted.pop(index, None)
            return
        before = self._accepted.get(index)
        self._accepted[index] = _Accepted(drop_kept_times(spec, self._wanted_times(index)), stored["spec"])
        if before is None:
            self._on_error(
                DroppedFieldsError(
                    f"the API server dropped fields of slice {name_of(stored)}: "
                    f"{', '.join(lost(spec, stored['spec']))}. A DRA feature gate is off there; "
                    "the slice stays without them"
                )
            )

    def _wanted_times(self, index: int) -> SliceContent | None:
        with self._lock:
            return self._wanted[index] if self._wanted is not None and index < len(self._wanted) else None

    def _delete(self, obsolete: Obj) -> None:
        try:
            self._client.delete(
                RESOURCE_SLICES,
                name_of(obsolete),
                uid=uid_of(obsolete),
                # A slice that was changed since it was read is decided about again.
                resource_version=str(meta(obsolete).get("resourceVersion") or "") or None,
            )
        except NotFound:
            return


def slice_index(name: str) -> int | None:
    """Return the index in a slice's name, `00001-…`; None for names of another origin."""
    match = re.match(r"([0-9a-f]{5,})-", name)
    return int(match.group(1), 16) if match else None


def keep_times(spec: Obj, stored: Obj) -> Obj:
    """Return `spec` with the stored `timeAdded` of every taint that is otherwise unchanged (rule DRA-294)."""
    before = {
        (device.get("name"), _taint(taint)): taint["timeAdded"]
        for device in stored.get("devices") or ()
        for taint in device.get("taints") or ()
        if taint.get("timeAdded")
    }
    if not before or not spec.get("devices"):
        return spec
    devices = []
    for device in spec["devices"]:
        if device.get("taints"):
            taints = [
                taint
                if taint.get("timeAdded") or (device["name"], _taint(taint)) not in before
                else {**taint, "timeAdded": before[device["name"], _taint(taint)]}
                for taint in device["taints"]
            ]
            device = {**device, "taints": taints}
        devices.append(device)
    return {**spec, "devices": devices}


def drop_kept_times(spec: Obj, content: SliceContent | None) -> Obj:
    """Return the spec with its devices as the driver gave them."""
    return spec if content is None else {**spec, **content.fields()}


def _taint(taint: Obj) -> tuple[str, str, str]:
    return (taint.get("key") or "", taint.get("value") or "", taint.get("effect") or "")


def lost(sent: object, stored: object, where: str = "spec") -> list[str]:
    """Return paths of fields that were sent and are not stored as sent."""
    if isinstance(sent, dict) and isinstance(stored, dict):
        return [
            path
            for key, value in sent.items()
            for path in ([f"{where}.{key}"] if key not in stored else lost(value, stored[key], f"{where}.{key}"))
        ]
    if isinstance(sent, list) and isinstance(stored, list) and len(sent) == len(stored):
        return [path for i, value in enumerate(sent) for path in lost(value, stored[i], f"{where}[{i}]")]
    return [] if sent == stored else [where]
