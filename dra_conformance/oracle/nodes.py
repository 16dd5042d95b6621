"""Node selectors, and the nodes that can use a device.

Pure functions. Answers are True, False, or None when they depend on labels of a node that is not in the cluster data.

Source: k8s.io/component-helpers scheduling/corev1/nodeaffinity and k8s.io/apimachinery pkg/labels (v0.36); rules
DRA-141 to DRA-144, DRA-197, DRA-198.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dra_conformance.oracle.schema import (
    Device,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ResourceSlice,
)

OPTIONAL_CALLS = "DRAOptionalNodeOperations"
"""The gate, and the feature in status.declaredFeatures of a Node, for slices with skipNodeOperations."""

# Go's strconv.ParseInt(s, 10, 64): ASCII digits with one optional sign. Python's int() also takes underscores, spaces,
# digits of other scripts and numbers of any size.
_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT64 = range(-(2**63), 2**63)
_MOST_DIGITS = 19


@dataclass(frozen=True, slots=True)
class NodeView:
    """The part of a node that decides about devices; `labels` is None for a node of which only the name is known.

    `declared` are the features that its kubelet declares.
    """

    name: str
    labels: dict[str, str] | None = None
    declared: tuple[str, ...] = ()

    @property
    def calls_optional(self) -> bool | None:
        """Whether the node can do without calls of drivers (skipNodeOperations); None if it is not known."""
        return None if self.labels is None else OPTIONAL_CALLS in self.declared


@dataclass(frozen=True, slots=True)
class NodeAccess:
    """The nodes that can use a device: one of the three forms, or none of them."""

    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False

    def includes(self, node: NodeView) -> bool | None:
        """Whether a node can use the device."""
        if self.node_name:
            return self.node_name == node.name
        if self.node_selector is not None:
            return selects(self.node_selector, node)
        return self.all_nodes


def node_access(resource_slice: ResourceSlice, device: Device) -> NodeAccess:
    """Return the nodes that can use a device: the device's own if its slice has perDeviceNodeSelection."""
    owner = device if resource_slice.spec.per_device_node_selection else resource_slice.spec
    return NodeAccess(owner.node_name, owner.node_selector, owner.all_nodes)


def selects(selector: NodeSelector | None, node: NodeView) -> bool | None:
    """Whether a node selector selects a node; no selector selects every node, one without terms none."""
    if selector is None:
        return True
    answers = [_term(term, node) for term in selector.node_selector_terms]
    return True if True in answers else None if None in answers else False


def _term(term: NodeSelectorTerm, node: NodeView) -> bool | None:
    if not term.match_expressions and not term.match_fields:
        return False
    answers: list[bool | None] = [
        requirement.key == "metadata.name" and _matches(requirement, node.name) for requirement in term.match_fields
    ]
    for requirement in term.match_expressions:
        known = node.labels is not None
        answers.append(_matches(requirement, (node.labels or {}).get(requirement.key)) if known else None)
    # One requirement that is known to fail decides, whatever the unknown labels are.
    return False if False in answers else None if None in answers else True


def _matches(requirement: NodeSelectorRequirement, value: str | None) -> bool:
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
    # Gt and Lt need exactly one value: apimachinery's labels.NewRequirement refuses any other number of them.
    found, bound = parse_int(value or ""), parse_int(values[0] if len(values) == 1 else "")
    if found is None or bound is None:
        return False
    return found > bound if operator == "Gt" else found < bound


def parse_int(text: str) -> int | None:
    """Return the value that Go's `strconv.ParseInt(text, 10, 64)` returns, or None if it returns an error."""
    if not _INTEGER.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:  # int() raises ValueError for a text of several thousand digits
        return None
    value = -int(digits) if text.startswith("-") else int(digits)
    return value if value in _INT64 else None


def only_node(selector: NodeSelector | None) -> str:
    """Return the node that a selector pins to in the form that schedulers write, or an empty text (DRA-141)."""
    terms = selector.node_selector_terms if selector else []
    if len(terms) != 1 or terms[0].match_expressions or len(terms[0].match_fields) != 1:
        return ""
    field = terms[0].match_fields[0]
    named = field.key == "metadata.name" and field.operator == "In" and len(field.values) == 1
    return field.values[0] if named else ""


def requirements(selectors: Iterable[NodeSelector | None]) -> frozenset[tuple[str, str, str, tuple[str, ...]]]:
    """Return all requirements of all terms, unordered: those of a correctly merged term (DRA-144)."""
    return frozenset(
        (kind, requirement.key, requirement.operator, tuple(sorted(requirement.values)))
        for selector in selectors
        if selector is not None
        for term in selector.node_selector_terms
        for kind, found in (("label", term.match_expressions), ("field", term.match_fields))
        for requirement in found
    )
