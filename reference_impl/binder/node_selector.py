"""Whether a node matches a core/v1 NodeSelector: terms are alternatives, requirements in a term must all hold.

Pure functions over objects that the caller owns. Source: k8s.io/component-helpers scheduling/corev1/nodeaffinity
v0.36: an empty term matches nothing; `Gt` and `Lt` compare whole numbers; fields know `metadata.name` only.
"""

from __future__ import annotations

from dra_api.objects import Obj, meta, name_of


def matches(selector: Obj | None, node: Obj) -> bool:
    """Whether `node` matches `selector`; no selector matches every node."""
    if selector is None:
        return True
    labels = {str(key): str(value) for key, value in (meta(node).get("labels") or {}).items()}
    fields = {"metadata.name": name_of(node)}
    return any(_term(term, labels, fields) for term in selector.get("nodeSelectorTerms") or ())


def _term(term: Obj, labels: dict[str, str], fields: dict[str, str]) -> bool:
    expressions = term.get("matchExpressions") or []
    on_fields = term.get("matchFields") or []
    if not expressions and not on_fields:
        return False
    return all(_requirement(item, labels) for item in expressions) and all(
        _requirement(item, fields) for item in on_fields
    )


def _requirement(requirement: Obj, values: dict[str, str]) -> bool:
    found = values.get(str(requirement.get("key")))
    wanted = [str(value) for value in requirement.get("values") or ()]
    match requirement.get("operator"):
        case "In":
            return found in wanted
        case "NotIn":
            return found not in wanted
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case "Gt" | "Lt" as operator:
            try:
                have, limit = int(found or ""), int(wanted[0])
            except (ValueError, IndexError):
                return False
            return have > limit if operator == "Gt" else have < limit
    return False
