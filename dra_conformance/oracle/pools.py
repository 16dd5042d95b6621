"""Pools: which slices are current, whether all of them are there, and whether they contradict each other.

Built once for a cluster; immutable, but for the answers that devices gave to selectors.

Source: KEP-4381 and k8s.io/dynamic-resource-allocation/structured (v0.36); rules DRA-145 to DRA-150, DRA-193, DRA-194.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from dra_api.cel import CelError, DeviceView, compile_selector
from dra_conformance.oracle.nodes import Offer, Place, offer
from dra_conformance.oracle.schema import Device, Slice, Taint

PoolId = tuple[str, str]
DeviceId = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class Listed:
    """A device where it is listed. `taints` are its own and those that rules lay over it."""

    device: Device
    piece: Slice
    taints: tuple[Taint, ...]
    _answers: dict[str, bool | str] = field(default_factory=dict, repr=False)

    @property
    def driver(self) -> str:
        """The driver that offers it."""
        return self.piece.spec.driver

    @cached_property
    def id(self) -> DeviceId:
        """Driver, pool and device."""
        return (self.driver, self.piece.spec.pool.name, self.device.name)

    @cached_property
    def offer(self) -> Offer:
        """The nodes that may use it."""
        return offer(self.piece, self.device)

    @cached_property
    def consumes(self) -> dict[tuple[str, str], int]:
        """What it takes of the pool's counters, in billionths, by set and counter."""
        taken: dict[tuple[str, str], int] = {}
        for entry in self.device.consumes_counters:
            for name, counter in entry.counters.items():
                key = (entry.counter_set, name)
                taken[key] = taken.get(key, 0) + counter.value.scaled_value(-9)
        return taken

    def answer(self, expression: str) -> bool | str:
        """Whether a CEL expression selects the device, or the words in which it fails."""
        known = self._answers.get(expression)
        if known is None:
            try:
                known = compile_selector(expression, stored=True).matches(self._view)
            except CelError as error:
                known = str(error)
            self._answers[expression] = known
        return known

    @cached_property
    def _view(self) -> DeviceView:
        return DeviceView(
            self.driver,
            self.device.attributes,
            {name: {"value": str(capacity.value)} for name, capacity in self.device.capacity.items()},
            self.device.allow_multiple_allocations,
        )


class Pool:
    """All slices of one pool of one driver; `current` are those of the newest generation, by name."""

    def __init__(self, pool_id: PoolId, slices: Iterable[Slice], listed: Iterable[Listed]) -> None:
        self.id = pool_id
        self.slices = list(slices)
        self.generation = max(piece.spec.pool.generation for piece in self.slices)
        self.current = sorted(
            (piece for piece in self.slices if piece.spec.pool.generation == self.generation),
            key=lambda piece: piece.metadata.name,
        )
        self.by_name: dict[str, list[Listed]] = {}
        for entry in listed:
            if entry.piece.spec.pool.generation == self.generation:
                self.by_name.setdefault(entry.device.name, []).append(entry)

    @property
    def title(self) -> str:
        """Driver and pool, as messages say it."""
        return "/".join(self.id)

    @cached_property
    def counts(self) -> frozenset[int]:
        """How many slices the current generation says it has; more than one number is a contradiction."""
        return frozenset(piece.spec.pool.resource_slice_count for piece in self.current)

    @property
    def complete(self) -> bool:
        """Whether all slices of the newest generation are there (DRA-146)."""
        return len(self.current) in self.counts

    def devices(self, place: Place, *, unsure: bool = False) -> Iterator[Listed]:
        """The current devices that a node may use; with `unsure` also those of which we cannot tell."""
        for entries in self.by_name.values():
            for entry in entries:
                offered = entry.offer.to(place)
                if offered or (unsure and offered is None):
                    yield entry

    @cached_property
    def counters(self) -> dict[tuple[str, str], int]:
        """The pool's counters, in billionths, by set and counter (DRA-193)."""
        return {
            (found.name, name): counter.value.scaled_value(-9)
            for piece in self.current
            for found in piece.spec.shared_counters
            for name, counter in found.counters.items()
        }

    @cached_property
    def counter_fault(self) -> str:
        """What is wrong with the counters, or an empty text (DRA-194)."""
        names = [found.name for piece in self.current for found in piece.spec.shared_counters]
        for name in names:
            if names.count(name) > 1:
                return f"counter set {name} is defined twice"
        for entries in self.by_name.values():
            for entry in entries:
                for counter_set, counter in entry.consumes:
                    if (counter_set, counter) not in self.counters:
                        return f"device {entry.device.name} consumes the unknown counter {counter_set}/{counter}"
        return ""

    def fault(self, place: Place, *, partitionable: bool = True) -> str:
        """Why no device of the pool may be used on a node, or an empty text (DRA-146, DRA-149, DRA-194).

        Names are judged over all devices of the slices that the node sees, also those that perDeviceNodeSelection keeps
        for other nodes: results name devices by pool and name alone. Without partitionable devices such slices are not
        read at all, and nothing is asked of counters.
        """
        if not self.complete:
            wanted = max(self.counts)
            return f"{len(self.current)} of {wanted} slices of generation {self.generation} are published"
        seen: set[str] = set()
        for piece in self.current:
            spec = piece.spec
            if not partitionable and (spec.per_device_node_selection or spec.shared_counters):
                continue
            if not any(offer(piece, device).to(place) for device in spec.devices):
                continue
            for device in spec.devices:
                if device.name in seen:
                    return f"device {device.name} is listed twice"
                seen.add(device.name)
        return self.counter_fault if partitionable else ""
