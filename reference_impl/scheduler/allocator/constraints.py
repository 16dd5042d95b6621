"""Constraints between the devices of a claim: matchAttribute and distinctAttribute, also over list attributes.

A constraint's state is an immutable value that grows with each device, so going back is keeping the old value.

Source: allocator matchAttributeConstraint (v0.36), constraint.go; list attributes by KEP-5491; distinct values among
all devices, not only neighbours (kubernetes/kubernetes#140600); rules DRA-168 to DRA-176, DRA-209.
"""

from __future__ import annotations

from typing import TypeAlias

from reference_impl.scheduler.allocator.model import AttributeValue, Constraint, Device, Features

Values: TypeAlias = frozenset[AttributeValue]
# matchAttribute: the values that all devices so far have in common, None before the first.
# distinctAttribute: the values taken so far, None before the first.
State: TypeAlias = Values | None


def values(device: Device, attribute: str, features: Features) -> Values | None:
    """Return the values of a device's attribute; None makes the device unusable under a constraint (DRA-169)."""
    found = device.attribute(attribute)
    if found is None or not found.values or (found.is_list and not features.list_attributes):
        return None
    return frozenset(found.values)


def match(state: State, offered: Values) -> Values:
    """Return the common values after a device with `offered` joins; nothing means that it cannot join (DRA-168,
    DRA-175).
    """
    return offered if state is None else state & offered


def distinct(state: State, offered: Values) -> bool:
    """Return whether a device with `offered` differs from every device so far (DRA-174)."""
    return state is None or state.isdisjoint(offered)


def add(constraint: Constraint, state: State, offered: Values) -> tuple[bool, State]:
    """Return whether a device with `offered` may join, and the state with it."""
    if constraint.kind == "matchAttribute":
        common = match(state, offered)
        return bool(common), common
    return distinct(state, offered), offered if state is None else state | offered
