"""Attribute values of devices, compared as matchAttribute and distinctAttribute require.

Pure functions. A device's attribute is a set of values, each with its type; a scalar is a set of one.

Source: KEP-4381, KEP-5491 (lists: match when the intersection of all is not empty, distinct when pairwise disjoint);
rules DRA-168 to DRA-176, DRA-209.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from dra_conformance.oracle.pools import PoolDevice
from dra_conformance.oracle.schema import Constraint, ExactDeviceRequest

Values = frozenset[tuple[str, object]]
Compared = Values | str | None
_KIND_OF_LIST = {"ints": "int", "bools": "bool", "strings": "string", "versions": "version"}


def attribute_of(constraint: Constraint) -> tuple[str, bool]:
    """Return the attribute's qualified name, and whether values must match (rather than be distinct)."""
    match = bool(constraint.match_attribute)
    return (constraint.match_attribute or constraint.distinct_attribute), match


def values(pool_device: PoolDevice, attribute: str, *, lists: bool = True) -> Values | None:
    """Return a device's values of a fully qualified attribute, or None if it has no such attribute (DRA-169).

    With `lists` off (feature gate DRAListTypeAttributes), an attribute with a list does not count.
    """
    found = pool_device.device.attributes.get(attribute)
    domain, _, name = attribute.rpartition("/")
    # A device may list attributes of its driver's domain without the domain.
    if found is None and domain == pool_device.driver:
        found = pool_device.device.attributes.get(name)
    return None if found is None else _values(found, lists=lists)


def compared(pool_device: PoolDevice, request: ExactDeviceRequest, attribute: str, *, lists: bool = True) -> Compared:
    """Return the values of a device that serves a request: of the attribute that the request derives, or published.

    A text says why the expression of a derived attribute fails, which ends an attempt to allocate (DRA-511).
    """
    expression = request.expressions.get(attribute)
    if expression is None:
        return values(pool_device, attribute, lists=lists)
    found = pool_device.derive(expression)
    return found if isinstance(found, str) else _values(found, lists=lists) or None


def _values(found: Mapping[str, Any], *, lists: bool) -> Values | None:
    # There is exactly one: `well_formed` rejects other attributes.
    kind, value = next(iter(found.items()))
    if kind not in _KIND_OF_LIST:
        return frozenset({(kind, value)})
    return frozenset((_KIND_OF_LIST[kind], one) for one in value) if lists else None


def satisfied(seen: Sequence[Values], *, match: bool) -> bool:
    """Whether devices with these values may be allocated together."""
    if match:
        return not seen or bool(frozenset.intersection(*seen))
    return all(one.isdisjoint(other) for one, other in combinations(seen, 2))


def show(found: Values | None) -> str:
    """Return values as text for messages."""
    if found is None:
        return "none"
    texts = sorted(str(value).lower() if isinstance(value, bool) else str(value) for _, value in found)
    kinds = {kind for kind, _ in found}
    return f"{'|'.join(texts)} ({'/'.join(sorted(kinds))})"
