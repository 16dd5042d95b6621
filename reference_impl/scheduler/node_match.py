"""Node selectors: the one matcher behind slices, allocations, pods' node affinity and nodeSelector.

Pure functions over the API's own dicts; nothing is kept.

Source: k8s.io/component-helpers scheduling/corev1/nodeaffinity (v0.36): terms are alternatives, requirements of one
term all hold, an empty term matches nothing, matchFields knows metadata.name alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import Obj, meta, name_of


class NodeSelectorError(ValueError):
    """A node selector that cannot be understood."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What matching needs to know of a node: its name and its labels."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, node: Obj) -> NodeFacts:
        """The facts of a Node object."""
        return cls(name_of(node), meta(node).get("labels") or {})


def matches(selector: Obj | None, node: NodeFacts) -> bool:
    """Whether a v1.NodeSelector selects `node`; no selector selects every node. Raises NodeSelectorError."""
    if selector is None:
        return True
    return any(term_matches(term, node) for term in selector.get("nodeSelectorTerms") or ())


def term_matches(term: Obj, node: NodeFacts) -> bool:
    """Whether one term selects `node`: all its requirements hold, and it has at least one."""
    expressions = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    for requirement in fields:
        if requirement.get("key") != "metadata.name":
            raise NodeSelectorError(f"matchFields knows only metadata.name, not {requirement.get('key')!r}")
        if not requirement_holds(requirement, node.name):
            return False
    return all(requirement_holds(requirement, node.labels.get(requirement["key"])) for requirement in expressions)


def requirement_holds(requirement: Mapping[str, Any], value: str | None) -> bool:
    """Whether one requirement holds for a label's value; None is a label that the node lacks."""
    operator = requirement.get("operator")
    values = requirement.get("values") or ()
    if operator == "In":
        return value is not None and value in values
    if operator == "NotIn":
        return value is None or value not in values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if operator in ("Gt", "Lt"):
        return _compare(operator, value, values)
    raise NodeSelectorError(f"unknown node selector operator {operator!r}")


def _compare(operator: str, value: str | None, values: Any) -> bool:
    if len(values) != 1:
        raise NodeSelectorError(f"operator {operator} takes exactly one value, not {len(values)}")
    try:
        bound = int(values[0])
    except ValueError as error:
        raise NodeSelectorError(f"operator {operator} takes an integer, not {values[0]!r}") from error
    try:
        number = int(value) if value is not None else None
    except ValueError:
        return False
    if number is None:
        return False
    return number > bound if operator == "Gt" else number < bound
