"""Constraints: what matchAttribute and distinctAttribute say about the devices of a claim.

Pure functions. A device's attribute is a set of values, each with its type; a scalar is a set of one.

Source: KEP-4381, KEP-5491 (lists: match when the intersection of all is not empty, distinct when pairwise disjoint);
rules DRA-168 to DRA-176, DRA-209.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from dra_conformance.oracle.pools import Listed
from dra_conformance.oracle.schema import Constraint

Values = frozenset[tuple[str, object]]
_KIND_OF_LIST = {"ints": "int", "bools": "bool", "strings": "string", "versions": "version"}


def attribute_of(constraint: Constraint) -> tuple[str, bool]:
    """The attribute's qualified name, and whether values must match (rather than be distinct)."""
    match = bool(constraint.match_attribute)
    return (constraint.match_attribute or constraint.distinct_attribute), match


def values(listed: Listed, attribute: str, *, lists: bool = True) -> Values | None:
    """A device's values of a fully qualified attribute; None where it has none (DRA-169)."""
    found = listed.device.attributes.get(attribute)
    domain, _, name = attribute.rpartition("/")
    if found is None and domain == listed.driver:
        found = listed.device.attributes.get(name)
    if found is None:
        return None
    kind, value = next(iter(found.items()))
    if kind not in _KIND_OF_LIST:
        return frozenset({(kind, value)})
    return frozenset((_KIND_OF_LIST[kind], one) for one in value) if lists else None


def holds(seen: Sequence[Values], *, match: bool) -> bool:
    """Whether devices with these values may be together."""
    if match:
        return not seen or bool(frozenset.intersection(*seen))
    return all(one.isdisjoint(other) for one, other in combinations(seen, 2))


def show(found: Values | None) -> str:
    """Values as messages say them."""
    if found is None:
        return "none"
    texts = sorted(str(value).lower() if isinstance(value, bool) else str(value) for _, value in found)
    kinds = {kind for kind, _ in found}
    return f"{'|'.join(texts)} ({'/'.join(sorted(kinds))})"
