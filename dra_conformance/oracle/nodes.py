"""Where devices can be used: node selectors, and the four ways in which a slice says which nodes it is for.

Pure functions. Answers are True, False, or None: it depends on labels of a node that we have not seen.

Source: k8s.io/component-helpers scheduling/corev1/nodeaffinity (v0.36); rules DRA-141 to DRA-144, DRA-197, DRA-198.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dra_conformance.oracle.schema import Device, NodeSelector, Requirement, Slice, Term


@dataclass(frozen=True, slots=True)
class Place:
    """A node as selectors see it; `labels` is None for a node that is known by name only."""

    name: str
    labels: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """To which nodes a device is offered: exactly one form, or none at all."""

    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False

    def to(self, place: Place) -> bool | None:
        """Whether a node may use the device."""
        if self.node_name:
            return self.node_name == place.name
        if self.node_selector is not None:
            return selects(self.node_selector, place)
        return self.all_nodes


def offer(piece: Slice, device: Device) -> Offer:
    """Who may use a device: its slice says it, or the device itself in a perDeviceNodeSelection slice."""
    said = device if piece.spec.per_device_node_selection else piece.spec
    return Offer(said.node_name, said.node_selector, said.all_nodes)


def selects(selector: NodeSelector | None, place: Place) -> bool | None:
    """Whether a node selector selects a node; no selector selects every node, one without terms none."""
    if selector is None:
        return True
    answers = [_term(term, place) for term in selector.node_selector_terms]
    return True if True in answers else None if None in answers else False


def _term(term: Term, place: Place) -> bool | None:
    if not term.match_expressions and not term.match_fields:
        return False
    answers: list[bool | None] = [
        requirement.key == "metadata.name" and _holds(requirement, place.name) for requirement in term.match_fields
    ]
    for requirement in term.match_expressions:
        known = place.labels is not None
        answers.append(_holds(requirement, (place.labels or {}).get(requirement.key)) if known else None)
    return False if False in answers else None if None in answers else True


def _holds(requirement: Requirement, value: str | None) -> bool:
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return _compares(operator, value, requirement.values)
        case _:
            return False


def _compares(operator: str, value: str | None, values: list[str]) -> bool:
    try:
        seen, bound = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return seen > bound if operator == "Gt" else seen < bound


def only_node(selector: NodeSelector | None) -> str:
    """The node that a selector pins to by name, as schedulers write it; empty when it does not (DRA-141)."""
    terms = selector.node_selector_terms if selector else []
    if len(terms) != 1 or terms[0].match_expressions or len(terms[0].match_fields) != 1:
        return ""
    field = terms[0].match_fields[0]
    named = field.key == "metadata.name" and field.operator == "In" and len(field.values) == 1
    return field.values[0] if named else ""


def requirements(selectors: Iterable[NodeSelector | None]) -> frozenset[tuple[str, str, str, tuple[str, ...]]]:
    """All requirements of all terms, in no order: what a merged term must hold (DRA-144)."""
    return frozenset(
        (kind, requirement.key, requirement.operator, tuple(sorted(requirement.values)))
        for selector in selectors
        if selector is not None
        for term in selector.node_selector_terms
        for kind, found in (("label", term.match_expressions), ("field", term.match_fields))
        for requirement in found
    )
