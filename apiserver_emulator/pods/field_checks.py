"""Validation of a pod's resources, tolerations, node selection, ports and mounts, with upstream's texts.

Pure functions over a pod's spec. Source: pkg/apis/core/validation/validation.go, release 1.36; observed on
kube-apiserver 1.36.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from apiserver_emulator.metadata import LABEL_VALUE, VALUE_TEXT, qualified_name_problems
from dra_api.quantity import Quantity, QuantityError
from dra_api.status import FieldError, duplicate, forbidden_field, invalid, not_found_field, not_supported, required

Obj = dict[str, Any]

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn")


def resource_errors(container: Obj, field: str) -> list[FieldError]:
    """Return the errors in a container's resources: requests above limits, bad amounts of extended resources."""
    resources = container.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    problems: list[FieldError] = []
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name, text in amounts.items():
            if _extended(name) and amount(text) % 1000:
                problems.append(invalid(f"{field}.resources.{kind}[{name}]", str(text), "must be an integer"))
    for name, text in requests.items():
        where = f"{field}.resources.requests"
        if name in limits:
            if _extended(name) and amount(text) != amount(limits[name]):
                detail = f"must be equal to {name} limit of {limits[name]}"
                problems.append(invalid(where, str(text), detail))
            elif amount(text) > amount(limits[name]):
                detail = f"must be less than or equal to {name} limit of {limits[name]}"
                problems.append(invalid(where, str(text), detail))
        elif _extended(name):
            problems.append(required(f"{field}.resources.limits", "Limit must be set for non overcommitable resources"))
    return problems


def _extended(name: str) -> bool:
    """Neither Kubernetes' own nor a quota's name (IsExtendedResourceName)."""
    domain, slash, _ = name.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io") and not name.startswith("requests.")


def amount(text: Any) -> int:
    """Return a quantity in thousandths; 0 for invalid text, which the schema has refused already."""
    try:
        return Quantity.parse(str(text)).milli_value
    except QuantityError:
        return 0


def gate_errors(spec: Obj) -> list[FieldError]:
    """Scheduling gates have names, each once."""
    problems: list[FieldError] = []
    seen: set[str] = set()
    for at, gate in enumerate(spec.get("schedulingGates") or ()):
        name = gate.get("name", "")
        field = f"spec.schedulingGates[{at}]"
        problems += [invalid(field, name, text) for text in qualified_name_problems(name)]
        if name in seen:
            problems.append(duplicate(field, name))
        seen.add(name)
    return problems


def toleration_errors(tolerations: list[Obj], field: str = "spec.tolerations") -> list[FieldError]:
    """validateTolerations."""
    problems: list[FieldError] = []
    for at, toleration in enumerate(tolerations):
        where = f"{field}[{at}]"
        key, given = toleration.get("key", ""), toleration.get("operator", "")
        operator = given or "Equal"
        effect, value = toleration.get("effect", ""), toleration.get("value", "")
        if key:
            problems += [invalid(f"{where}.key", key, text) for text in qualified_name_problems(key)]
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            problems.append(invalid(f"{where}.operator", given, detail))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            problems.append(invalid(f"{where}.effect", effect, detail))
        if operator == "Equal" and not LABEL_VALUE.match(value):
            problems.append(invalid(f"{where}.operator", value, VALUE_TEXT))
        elif operator == "Exists" and value:
            problems.append(invalid(f"{where}.operator", value, "value must be empty when `operator` is 'Exists'"))
        elif operator not in ("Equal", "Exists"):
            problems.append(not_supported(f"{where}.operator", operator, ("Equal", "Exists")))
        if effect and effect not in _EFFECTS:
            problems.append(not_supported(f"{where}.effect", effect, _EFFECTS))
    return problems


def taint_errors(taints: list[Obj]) -> list[FieldError]:
    """validateNodeTaints."""
    problems: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for at, taint in enumerate(taints):
        field = f"metadata.taints[{at}]"
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        problems += [invalid(f"{field}.key", key, text) for text in qualified_name_problems(key)]
        if not LABEL_VALUE.match(value):
            problems.append(invalid(f"{field}.value", value, VALUE_TEXT))
        if not effect:
            problems.append(required(f"{field}.effect"))
        elif effect not in _EFFECTS:
            problems.append(not_supported(f"{field}.effect", effect, _EFFECTS))
        if (key, effect) in seen:
            problems.append(replace(duplicate(field, taint), detail="taints must be unique by key and effect pair"))
        seen.add((key, effect))
    return problems


def selection_errors(spec: Obj) -> list[FieldError]:
    """The node selector, and the required part of node affinity."""
    problems: list[FieldError] = []
    for key, value in (spec.get("nodeSelector") or {}).items():
        problems += [invalid("spec.nodeSelector", key, text) for text in qualified_name_problems(key)]
        if not LABEL_VALUE.match(value):
            problems.append(invalid("spec.nodeSelector", value, VALUE_TEXT))
    wanted = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if wanted is not None:
        field = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        terms = wanted.get("nodeSelectorTerms") or []
        if not terms:
            problems.append(required(field, "must have at least one node selector term"))
        for at, term in enumerate(terms):
            for number, expression in enumerate(term.get("matchExpressions") or ()):
                problems += _expression_errors(expression, f"{field}[{at}].matchExpressions[{number}]")
    return problems


def _expression_errors(expression: Obj, field: str) -> Iterator[FieldError]:
    operator, values = expression.get("operator", ""), expression.get("values") or []
    if operator in ("In", "NotIn") and not values:
        yield required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield forbidden_field(f"{field}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt") and len(values) != 1:
        yield required(f"{field}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    elif operator not in _OPERATORS:
        yield invalid(f"{field}.operator", operator, "not a valid selector operator")
    for text in qualified_name_problems(expression.get("key", "")):
        yield invalid(f"{field}.key", expression.get("key", ""), text)


def port_errors(container: Obj, field: str) -> list[FieldError]:
    """Return the errors in a container's ports: they must be between 1 and 65535."""
    problems: list[FieldError] = []
    for at, port in enumerate(container.get("ports") or ()):
        number = port.get("containerPort", 0)
        if not number:
            problems.append(required(f"{field}.ports[{at}].containerPort"))
        elif not 0 < number < 65536:
            detail = "must be between 1 and 65535, inclusive"
            problems.append(invalid(f"{field}.ports[{at}].containerPort", number, detail))
    return problems


def name_errors(container: Obj, field: str) -> list[FieldError]:
    """Return the errors in a container's environment variables without a name."""
    variables = enumerate(container.get("env") or ())
    return [required(f"{field}.env[{at}].name") for at, variable in variables if not variable.get("name")]


def volume_errors(spec: Obj) -> list[FieldError]:
    """Return the errors in volumes without a name."""
    volumes = enumerate(spec.get("volumes") or ())
    return [required(f"spec.volumes[{at}].name") for at, volume in volumes if not volume.get("name")]


def mount_errors(container: Obj, field: str, volumes: set[str]) -> list[FieldError]:
    """Return the errors in volume mounts: each needs a volume of the pod and a mount path of its own."""
    problems: list[FieldError] = []
    paths: set[str] = set()
    for at, mount in enumerate(container.get("volumeMounts") or ()):
        where = f"{field}.volumeMounts[{at}]"
        name, path = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            problems.append(required(f"{where}.name"))
        if name not in volumes:
            problems.append(not_found_field(f"{where}.name", name))
        if not path:
            problems.append(required(f"{where}.mountPath"))
        elif path in paths:
            problems.append(invalid(f"{where}.mountPath", path, "must be unique"))
        paths.add(path)
    return problems
