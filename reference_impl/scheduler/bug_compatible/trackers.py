"""Constraints as a release keeps them: changed in place with every device that joins or leaves.

Deviations: first-of-constraint-unchecked; until 1.36 distinct-forgets, list-intersection-not-restored; in 1.34
distinct-compares-places. Each tracker lives for one attempt on one node.

Source: matchAttributeConstraint and distinctAttributeConstraint of k8s.io/dynamic-resource-allocation v0.34.13 to
v0.37.2.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from reference_impl.scheduler.allocator.model import (
    Attribute,
    AttributeValue,
    Constraint,
    Device,
    DeviceId,
    SubRequest,
)
from reference_impl.scheduler.bug_compatible.deviations import Release


class Tracker(Protocol):
    """One constraint of one claim during one walk."""

    def add(self, request: SubRequest, device: Device) -> bool:
        """Let a device join; False, with nothing changed, if the constraint forbids it."""
        ...

    def remove(self, request: SubRequest) -> None:
        """Let the device of a request leave that joined last."""
        ...


def tracker_for(constraint: Constraint, *, lists: bool, release: Release) -> Tracker:
    """Return the tracker of a constraint; `lists`: compare list attributes as sets."""
    if constraint.kind == "distinctAttribute" and release.has("distinct-compares-places"):
        return DistinctPlaces(constraint)
    if constraint.kind == "distinctAttribute":
        return (ForgetfulDistinct if release.has("distinct-forgets") else Distinct)(constraint, lists=lists)
    if not lists:
        return UncheckedMatch(constraint)
    return (NarrowingMatch if release.has("list-intersection-not-restored") else Match)(constraint)


class UncheckedMatch:
    """matchAttribute of single values (first-of-constraint-unchecked): all must have the value of the first."""

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint
        self._first: Attribute | None = None
        self._count = 0

    def add(self, request: SubRequest, device: Device) -> bool:
        """See Tracker."""
        if not self._constraint.covers(request):
            return True
        offered = device.attribute(self._constraint.attribute)
        if offered is None:
            return False
        if self._count == 0:
            self._first = offered
        elif offered.is_list or not offered.values or offered != self._first:
            return False
        self._count += 1
        return True

    def remove(self, request: SubRequest) -> None:
        """See Tracker."""
        self._count -= self._constraint.covers(request)


class NarrowingMatch:
    """matchAttribute over lists (list-intersection-not-restored): what is in common only ever shrinks."""

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint
        self._common: frozenset[AttributeValue] = frozenset()
        self._count = 0

    def add(self, request: SubRequest, device: Device) -> bool:
        """See Tracker."""
        if not self._constraint.covers(request):
            return True
        offered = device.attribute(self._constraint.attribute)
        if offered is None or not offered.values:
            return False
        common = frozenset(offered.values) if self._count == 0 else self._common & frozenset(offered.values)
        if not common:
            return False
        # `remove` does not widen it again: that is the deviation.
        self._common = common
        self._count += 1
        return True

    def remove(self, request: SubRequest) -> None:
        """See Tracker."""
        self._count -= self._constraint.covers(request)


class Match:
    """matchAttribute over lists since 1.37: what is in common is known for every number of devices."""

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint
        self._common: list[frozenset[AttributeValue]] = []

    def add(self, request: SubRequest, device: Device) -> bool:
        """See Tracker."""
        if not self._constraint.covers(request):
            return True
        offered = device.attribute(self._constraint.attribute)
        if offered is None or not offered.values:
            return False
        common = frozenset(offered.values)
        if self._common:
            common &= self._common[-1]
        if not common:
            return False
        self._common.append(common)
        return True

    def remove(self, request: SubRequest) -> None:
        """See Tracker."""
        if self._constraint.covers(request):
            self._common.pop()


class Distinct:
    """distinctAttribute since 1.37: the attribute of every device. With list attributes off, the first may have a
    list (first-of-constraint-unchecked).
    """

    def __init__(self, constraint: Constraint, *, lists: bool) -> None:
        self._constraint = constraint
        self._lists = lists
        self._of: list[Attribute] = []

    def add(self, request: SubRequest, device: Device) -> bool:
        """See Tracker."""
        if not self._constraint.covers(request):
            return True
        offered = device.attribute(self._constraint.attribute)
        if offered is None or not _differs(offered, self._of, lists=self._lists):
            return False
        self._of.append(offered)
        return True

    def remove(self, request: SubRequest) -> None:
        """See Tracker."""
        if self._constraint.covers(request):
            self._of.pop()


class ForgetfulDistinct:
    """distinctAttribute (distinct-forgets): one attribute a request is remembered, and none after one left."""

    def __init__(self, constraint: Constraint, *, lists: bool) -> None:
        self._constraint = constraint
        self._lists = lists
        self._of: dict[str, Attribute] = {}
        self._count = 0

    def add(self, request: SubRequest, device: Device) -> bool:
        """See Tracker."""
        if not self._constraint.covers(request):
            return True
        offered = device.attribute(self._constraint.attribute)
        if offered is None or (self._count and not _differs(offered, self._of.values(), lists=self._lists)):
            return False
        # One entry for each request: the next device of the request replaces it.
        self._of[request.parent] = offered
        self._count += 1
        return True

    def remove(self, request: SubRequest) -> None:
        """See Tracker."""
        if self._constraint.covers(request):
            self._of.pop(request.parent, None)
            self._count -= 1


def _differs(offered: Attribute, others: Collection[Attribute], *, lists: bool) -> bool:
    """Whether an attribute has no value in common with others; `lists`: they may be lists."""
    if lists:
        taken = {value for other in others for value in other.values}
        return bool(offered.values) and taken.isdisjoint(offered.values)
    if others and (offered.is_list or not offered.values):
        return False
    return offered not in others


class DistinctPlaces:
    """distinctAttribute (distinct-compares-places, distinct-forgets): a value is the same only within one device."""

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint
        self._of: dict[str, DeviceId] = {}
        self._count = 0

    def add(self, request: SubRequest, device: Device) -> bool:
        """See Tracker."""
        if not self._constraint.covers(request):
            return True
        if device.attribute(self._constraint.attribute) is None:
            return False
        if self._count and device.id in self._of.values():
            return False
        self._of[request.parent] = device.id
        self._count += 1
        return True

    def remove(self, request: SubRequest) -> None:
        """See Tracker."""
        if self._constraint.covers(request):
            self._of.pop(request.parent, None)
            self._count -= 1
