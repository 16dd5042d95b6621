"""Node selectors: the one matcher for slices, devices, allocations and the node affinity of pods.

Pure functions over the API's own dicts.

Source: k8s.io/component-helpers scheduling/corev1/nodeaffinity and k8s.io/apimachinery pkg/labels (v0.36). A selector
matches if one of its terms matches; a term matches if it has requirements and all of them hold. The API server checks
keys, operators and the number of values; it does not check whether a value that is compared is an integer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import Obj, meta, name_of

_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})")  # 2**63 has 19 digits
_INT64 = range(-(2**63), 2**63)


class NodeSelectorError(ValueError):
    """A node selector that is invalid."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """The properties of a node that decide about devices: name and labels, which selectors match, and the features that
    its kubelet declares (`status.declaredFeatures`).
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    declared: frozenset[str] = frozenset()

    @classmethod
    def of(cls, node: Obj) -> NodeFacts:
        """Return the facts of a Node object."""
        declared = (node.get("status") or {}).get("declaredFeatures") or ()
        return cls(name_of(node), meta(node).get("labels") or {}, frozenset(declared))


def matches(selector: Obj | None, node: NodeFacts) -> bool:
    """Return whether a v1.NodeSelector matches `node`; no selector (None) matches every node.

    Raises NodeSelectorError if a term is invalid and none of the others matches, as LazyErrorNodeSelector.Match does.
    """
    if selector is None:
        return True
    invalid: NodeSelectorError | None = None
    for term in selector.get("nodeSelectorTerms") or ():
        try:
            if term_matches(term, node):
                return True
        except NodeSelectorError as error:
            invalid = invalid or error
    if invalid:
        raise invalid
    return False


def matches_if_valid(selector: Obj | None, node: NodeFacts) -> bool:
    """Return whether a v1.NodeSelector matches `node`; an invalid selector matches no node."""
    try:
        return matches(selector, node)
    except NodeSelectorError:
        return False


def term_matches(term: Obj, node: NodeFacts) -> bool:
    """Return whether one term matches `node`. A term without requirements matches nothing.

    Raises NodeSelectorError if a requirement is invalid, even if another requirement of the term does not hold.
    """
    labels = [_label_test(requirement) for requirement in term.get("matchExpressions") or ()]
    fields = term.get("matchFields") or ()
    if not labels and not fields:
        return False
    return all(test(node.labels) for test in labels) and all(_is_selected(field, node) for field in fields)


def parse_int64(text: str) -> int | None:
    """Return `text` as a 64-bit integer, or None if Go's strconv.ParseInt(text, 10, 64) refuses it.

    Python's int() is more tolerant: it takes underscores, white space, digits of other scripts and any size.
    """
    found = _INTEGER.fullmatch(text)
    if not found:
        return None
    number = int(found[1] + found[2])
    return number if number in _INT64 else None


_Test = Callable[[Mapping[str, str]], bool]


def _label_test(requirement: Mapping[str, Any]) -> _Test:
    """Return the test for one of `matchExpressions`. Raises NodeSelectorError as labels.NewRequirement fails."""
    key, operator = requirement["key"], requirement["operator"]
    values: Sequence[str] = requirement.get("values") or ()
    if operator == "In":
        return lambda labels: labels.get(key) in values
    if operator == "NotIn":
        return lambda labels: labels.get(key) not in values  # true for a node without the label, as upstream
    if operator in ("Exists", "DoesNotExist"):
        return lambda labels: (key in labels) is (operator == "Exists")
    bound = parse_int64(values[0])
    # A value must be a label value as well, and these begin with a letter or digit: a sign is invalid.
    if bound is None or values[0].startswith(("+", "-")):
        raise NodeSelectorError(f"operator {operator} takes an integer, not {values[0]!r}")
    return lambda labels: _compare(operator, labels.get(key), bound)


def _is_selected(requirement: Mapping[str, Any], node: NodeFacts) -> bool:
    """Return whether one of `matchFields` holds; the only field is metadata.name, with one value."""
    return (node.name == requirement["values"][0]) is (requirement["operator"] == "In")


def _compare(operator: str, value: str | None, bound: int) -> bool:
    """Return whether a label compares as `operator` says; a label that is missing or no integer does not."""
    number = parse_int64(value) if value is not None else None
    if number is None:
        return False
    return number > bound if operator == "Gt" else number < bound
