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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.informer import Change, Informer
from dra_api.objects import NODES, RESOURCE_SLICES, Obj, name_of, owner_reference
from dra_api.workqueue import WorkQueue

log = logging.getLogger(__name__)

MAX_DEVICES = 64
"""Devices of a slice. Without taints and counters twice as many are allowed, but a taint would move them all then."""

_SYNC = "sync"


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


@dataclass(frozen=True, slots=True)
class _Plan:
    """The writes that bring a pool to its wanted content: slices to delete, specs to update, new slices."""

    delete: list[Obj] = field(default_factory=list)
    update: list[tuple[Obj, Obj]] = field(default_factory=list)
    create: list[Obj] = field(default_factory=list)


def layout(devices: Sequence[Obj], counters: Sequence[Obj] = ()) -> list[SliceContent]:
    """Return devices in slices within the API's limits; counter sets come first, in slices of their own."""
    content = [SliceContent(shared_counters=tuple(counters[i : i + 8])) for i in range(0, len(counters), 8)]
    return content + [SliceContent(tuple(devices[i : i + MAX_DEVICES])) for i in range(0, len(devices), MAX_DEVICES)]


def partitioned_layout(gpus: Sequence[tuple[Obj | None, Sequence[Obj]]], *, counters_apart: bool) -> list[SliceContent]:
    """Return one slice a GPU, given as its counter set (if it has one) and its devices.

    From Kubernetes 1.35 on counter sets must lie apart from devices, in slices of their own at the front; before, they
    must lie in the slice of the devices that consume them (rules NV-038, NV-039).
    """
    counters = [counter_set for counter_set, _ in gpus if counter_set is not None]
    content = layout((), counters) if counters_apart else []
    for counter_set, devices in gpus:
        own = layout(devices)
        if counter_set is not None and not counters_apart:
            own[0] = SliceContent(own[0].devices, (counter_set,))
        content += own
    return content


class SlicePublisher:
    """Publishes one pool, named after the node, for one driver.

    Arguments:
        driver, node_name: owner of the slices; every other slice of this driver on this node is removed.
        resync_delay: seconds until a change by others is reverted.
        annotations: annotations of new slices.

    `publish` is called once before `start`, and again for every change.
    """

    _wanted: tuple[SliceContent, ...]

    def __init__(
        self,
        client: KubeClient,
        *,
        clock: Clock,
        driver: str,
        node_name: str,
        resync_delay: float,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._driver = driver
        self._node_name = node_name
        self._resync_delay = resync_delay
        self._annotations = dict(annotations or {})
        self._accepted: dict[str, tuple[Obj, Obj]] = {}
        self._synced_once = threading.Event()
        self._queue: WorkQueue[str] = WorkQueue(clock, base_delay=0.05, max_delay=5.0)
        self._informer = Informer(
            client,
            RESOURCE_SLICES,
            field_selector=f"spec.nodeName={node_name},spec.driver={driver}",
            clock=clock,
        )
        self._thread = threading.Thread(target=self._work, name=f"slices-{driver}", daemon=True)

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to watch and to write, in a thread."""
        self._informer.on_change(self._seen)
        self._informer.start()
        self._thread.start()

    def stop(self) -> None:
        """End the thread; the slices stay."""
        self._queue.shut_down()
        self._informer.stop()
        self._thread.join()

    def publish(self, content: Sequence[SliceContent]) -> None:
        """Publish `content` as the whole pool; an empty pool is a slice without devices."""
        self._wanted = tuple(content) or (SliceContent(),)
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
            except Exception as error:  # whatever failed is tried again
                log.warning("slices of %s on %s: %r; will try again", self._driver, self._node_name, error)
                self._queue.add_rate_limited(key)
            finally:
                self._queue.done(key)

    def sync(self) -> None:
        """Write the differences between the wanted and the stored slices."""
        if trouble := self._informer.wait_served(30):
            raise TimeoutError(f"the driver {trouble}")
        node = self._client.get(NODES, self._node_name)
        plan = self.plan(self._wanted, self._informer.list(), node)
        # Deleted first: with old slices beside new ones, the pool would have too many of them.
        for obsolete in plan.delete:
            self._delete(obsolete)
        for spec, old in plan.update:
            self._stored(spec, self._client.update(RESOURCE_SLICES, {**old, "spec": keep_times(spec, old["spec"])}))
        for new in plan.create:
            self._stored(new["spec"], self._client.create(RESOURCE_SLICES, new))
        self._synced_once.set()

    def plan(self, wanted: Sequence[SliceContent], there: Sequence[Obj], node: Obj) -> _Plan:
        """Return the slices to delete, update and create.

        Slices are matched by the index in their name. The generation stays when nothing is new and at most one slice
        changes; otherwise every slice gets the next one (rules DRA-289, DRA-289b).
        """
        mine = [old for old in there if self.is_mine(old)]
        # Slices that are deleted below count too: consumers may have seen their generation.
        top = max((old["spec"]["pool"]["generation"] for old in mine), default=0)
        matched: dict[int, Obj] = {}
        for old in mine:
            index = slice_index(name_of(old))
            if index is not None and index < len(wanted):
                matched[index] = old
        kept = [name_of(old) for old in matched.values()]
        plan = _Plan(delete=[old for old in there if name_of(old) not in kept])
        unchanged = len(mine) == len(matched) == len(wanted)
        generation = self.next_generation(wanted, matched, top) if unchanged else top + 1
        for index, content in enumerate(wanted):
            spec = self._spec(content, generation, len(wanted))
            if index not in matched:
                plan.create.append(self._new(index, spec, node))
            elif not self._same(spec, matched[index]):
                plan.update.append((spec, matched[index]))
        return plan

    def is_mine(self, found: Obj) -> bool:
        """Return whether a slice belongs to the pool that this publisher writes."""
        return bool(found["spec"]["pool"]["name"] == self._node_name)

    def next_generation(self, wanted: Sequence[SliceContent], matched: dict[int, Obj], top: int) -> int:
        """Return the generation after a change of slices that are all there already (rules DRA-289, DRA-289b)."""
        changed = [
            index for index, old in matched.items() if not self._same(self._spec(wanted[index], top, len(wanted)), old)
        ]
        return top if len(changed) <= 1 else top + 1

    # -- one slice -------------------------------------------------------------------------------------------------

    def _spec(self, content: SliceContent, generation: int, count: int) -> Obj:
        return {
            "driver": self._driver,
            "nodeName": self._node_name,
            "pool": {"name": self._node_name, "generation": generation, "resourceSliceCount": count},
            **content.fields(),
        }

    def _new(self, index: int, spec: Obj, node: Obj) -> Obj:
        # With the Node as owner, the garbage collector deletes the slices after the Node (rule NV-019).
        owner = owner_reference({"apiVersion": NODES.api_version, "kind": NODES.kind, **node})
        name = f"{index:05d}-{self._driver}-{self._node_name}-"
        metadata: Obj = {"generateName": name, "ownerReferences": [owner]}
        if self._annotations:
            metadata["annotations"] = self._annotations
        return {"metadata": metadata, "spec": spec}

    def _same(self, spec: Obj, old: Obj) -> bool:
        stored = old["spec"]
        # A slice that the API server stored without some fields is as wanted: another update would change nothing.
        return keep_times(spec, stored) == stored or self._accepted.get(name_of(old)) == (spec, stored)

    def _stored(self, spec: Obj, stored: Obj) -> None:
        """Remember the result of a write."""
        self._informer.assume(stored)
        self._accepted[name_of(stored)] = spec, stored["spec"]
        if keep_times(spec, stored["spec"]) != stored["spec"]:
            log.warning("the API server dropped fields of slice %s: a feature gate is off there", name_of(stored))

    def _delete(self, obsolete: Obj) -> None:
        self._client.delete(RESOURCE_SLICES, name_of(obsolete))


def slice_index(name: str) -> int | None:
    """Return the index in a slice's name, `00001-…`; None for names of another origin."""
    match = re.match(r"([0-9]{5})-", name)
    return int(match.group(1)) if match else None


def keep_times(spec: Obj, stored: Obj) -> Obj:
    """Return `spec` with the stored `timeAdded` of every taint that is otherwise unchanged (rule DRA-294)."""
    times = {
        (device["name"], _without_time(taint)): taint
        for device in stored.get("devices") or ()
        for taint in device.get("taints") or ()
    }
    devices = [
        {**device, "taints": [times.get((device["name"], _without_time(taint)), taint) for taint in device["taints"]]}
        if "taints" in device
        else device
        for device in spec.get("devices") or ()
    ]
    return {**spec, "devices": devices} if devices else spec


def _without_time(taint: Obj) -> frozenset[tuple[str, str]]:
    return frozenset((key, value) for key, value in taint.items() if key != "timeAdded")
