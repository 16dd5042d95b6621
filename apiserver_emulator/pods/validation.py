"""Validation of pods: claims, containers, status, immutable fields, with upstream's texts.

Stateless. Source: pkg/apis/core/validation/validation.go (resource claims, update immutability), release 1.36; rules
DRA-045 to DRA-049.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver_emulator.dra.checks import subdomain
from apiserver_emulator.metadata import LABEL, LABEL_TEXT, SUBDOMAIN, SUBDOMAIN_TEXT, too_long_name
from apiserver_emulator.pods import field_checks
from dra_api.objects import Obj
from dra_api.status import FieldError, duplicate, forbidden_field, invalid, not_supported, required

_ENTRY = "must match the name of an entry in spec.initContainers.name or"
_RESOURCE = (
    "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
    "spec.containers.resources.requests"
)
_CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")


def containers(spec: Obj) -> Iterator[tuple[str, Obj]]:
    """All containers with their field paths, init containers last as upstream validates them."""
    for field in _CONTAINER_LISTS:
        for at, container in enumerate(spec.get(field) or ()):
            yield f"spec.{field}[{at}]", container


def _label_error(field: str, value: Any) -> list[FieldError]:
    text = str(value)
    problems: list[FieldError] = []
    if len(text) > 63:
        problems.append(invalid(field, text, too_long_name(63)))
    if not LABEL.match(text):
        problems.append(invalid(field, text, LABEL_TEXT))
    return problems


def container_errors(spec: Obj) -> list[FieldError]:
    """Structure: there are containers, each with a name of its own and an image."""
    problems = image_errors(spec)
    if not spec.get("containers"):
        problems.append(required("spec.containers"))
    names: set[str] = set()
    for field, container in containers(spec):
        name = container.get("name", "")
        if not name:
            problems.append(required(f"{field}.name"))
        else:
            problems += _label_error(f"{field}.name", name)
        if name and name in names:
            problems.append(duplicate(f"{field}.name", name))
        names.add(name)
    return problems


def image_errors(spec: Obj) -> list[FieldError]:
    """Return the errors in the images of all containers."""
    problems: list[FieldError] = []
    for field, container in containers(spec):
        image = container.get("image", "")
        if not image:
            problems.append(required(f"{field}.image"))
        elif image.strip() != image:
            problems.append(invalid(f"{field}.image", image, "must not have leading or trailing whitespace"))
    return problems


def spec_errors(spec: Obj) -> list[FieldError]:
    """Return the errors in a pod's spec outside of containers and claims."""
    problems: list[FieldError] = []
    if spec.get("restartPolicy") not in ("Always", "OnFailure", "Never"):
        problems.append(
            not_supported("spec.restartPolicy", spec.get("restartPolicy"), ["Always", "OnFailure", "Never"])
        )
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2**31 - 1:
        problems.append(invalid("spec.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        problems.append(forbidden_field("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    if spec.get("nodeName") and not SUBDOMAIN.match(spec["nodeName"]):
        problems.append(invalid("spec.nodeName", spec["nodeName"], SUBDOMAIN_TEXT))
    problems += field_checks.selection_errors(spec)
    problems += field_checks.toleration_errors(spec.get("tolerations") or [])
    problems += field_checks.gate_errors(spec)
    return problems + _group_errors(spec)


def _group_errors(spec: Obj) -> list[FieldError]:
    group = spec.get("schedulingGroup")
    if group is None:
        return []
    field, name = "spec.schedulingGroup.podGroupName", group.get("podGroupName")
    if name is None:
        return [invalid(field, None, "must specify one of: `podGroupName`")]
    return subdomain(name, field)


def claim_errors(spec: Obj) -> list[FieldError]:
    """Return the errors in the pod's claims and in the claims of its containers (rules DRA-045, 046, 047)."""
    problems: list[FieldError] = []
    names: set[str] = set()
    for at, claim in enumerate(spec.get("resourceClaims") or ()):
        field = f"spec.resourceClaims[{at}]"
        name = claim.get("name", "")
        if not name:
            problems.append(required(f"{field}.name"))
        elif name in names:
            problems.append(duplicate(f"{field}.name", name))
        else:
            problems += _label_error(f"{field}.name", name)
            names.add(name)
        by_name, by_template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
        # The message shows the internal type.
        as_go = {"Name": name, "ResourceClaimName": by_name, "ResourceClaimTemplateName": by_template}
        if by_name is not None and by_template is not None:
            problems.append(
                invalid(
                    field,
                    as_go,
                    "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
                )
            )
        if by_name is None and by_template is None:
            problems.append(
                invalid(
                    field,
                    as_go,
                    "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
                )
            )
        for key in ("resourceClaimName", "resourceClaimTemplateName"):
            value = claim.get(key)
            if value is not None and (len(value) > 253 or not SUBDOMAIN.match(value)):
                text = too_long_name(253) if len(value) > 253 else SUBDOMAIN_TEXT
                problems.append(invalid(f"{field}.{key}", value, text))
    for where, container in containers(spec):
        problems += _container_claim_errors(container, f"{where}.resources.claims", names)
    return problems


def _container_claim_errors(container: Obj, field: str, names: set[str]) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: dict[str, set[str]] = {}
    for at, reference in enumerate((container.get("resources") or {}).get("claims") or ()):
        where = f"{field}[{at}]"
        name, request = reference.get("name", ""), reference.get("request", "")
        if not name:
            problems.append(required(where))
            continue
        if request:
            problems += _label_error(f"{where}.request", request)
        requests = seen.setdefault(name, set())
        # a claim is referenced once as a whole, or by distinct requests, never both
        if request in requests or (requests and (not request or "" in requests)):
            problems.append(duplicate(where, f"{name}/{request}" if request and "" not in requests else name))
        requests.add(request)
        if name not in names:
            known = f": {', '.join(sorted(names))}" if names else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{known}"
            problems.append(FieldError("FieldValueNotFound", where, detail, name))
    return problems


def status_errors(pod: Obj, *, minor: int) -> list[FieldError]:
    """Rules DRA-049 and DP-160."""
    problems: list[FieldError] = []
    status, spec = pod.get("status") or {}, pod["spec"]
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for at, entry in enumerate(status.get("resourceClaimStatuses") or ()):
        field = f"status.resourceClaimStatuses[{at}]"
        name = entry.get("name", "")
        if name in seen:
            problems.append(duplicate(f"{field}.name", name))
        seen.add(name)
        if name not in known:
            problems.append(invalid(f"{field}.name", name, "must match the name of an entry in `spec.resourceClaims`"))
        claim = entry.get("resourceClaimName")
        if claim is not None and (len(claim) > 253 or not SUBDOMAIN.match(claim)):
            text = too_long_name(253) if len(claim) > 253 else SUBDOMAIN_TEXT
            # Up to 1.35 the field of the error is the entry's name; observed on kube-apiserver 1.35.3 and 1.36.2.
            problems.append(invalid(f"{field}.{'resourceClaimName' if minor >= 36 else 'name'}", claim, text))
    extended = status.get("extendedResourceClaimStatus")
    if extended is not None:
        problems += _extended_errors(extended, spec)
    return problems


def _extended_errors(extended: Obj, spec: Obj) -> list[FieldError]:
    field = "status.extendedResourceClaimStatus"
    problems: list[FieldError] = []
    claim = extended.get("resourceClaimName", "")
    if not claim:
        problems.append(required(f"{field}.resourceClaimName"))
    elif len(claim) > 253 or not SUBDOMAIN.match(claim):
        text = too_long_name(253) if len(claim) > 253 else SUBDOMAIN_TEXT
        problems.append(invalid(f"{field}.resourceClaimName", claim, text))
    mappings = extended.get("requestMappings") or []
    if not mappings:
        problems.append(required(f"{field}.requestMappings", "at least one request mapping is required"))
    by_name = {container["name"]: container for _, container in containers(spec)}
    seen: set[tuple[str, str, str]] = set()
    for at, mapping in enumerate(mappings):
        where = f"{field}.requestMappings[{at}]"
        key = (mapping.get("containerName", ""), mapping.get("resourceName", ""), mapping.get("requestName", ""))
        if key in seen:
            problems += [
                duplicate(f"{where}.{name}", value)
                for name, value in zip(("containerName", "resourceName", "requestName"), key, strict=True)
            ]
        seen.add(key)
        container = by_name.get(key[0])
        if container is None:
            problems.append(invalid(f"{where}.containerName", key[0], f"{_ENTRY} spec.containers.name"))
        elif key[1] not in ((container.get("resources") or {}).get("requests") or {}):
            problems.append(invalid(f"{where}.resourceName", key[1], _RESOURCE))
        # Upstream's path lacks the mapping.
        problems += _label_error(f"{field}.requestName", key[2])
    return problems


_UPDATE_TEXT = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def immutability_errors(new: Obj, old: Obj) -> list[FieldError]:
    """Return the errors in changes of immutable fields."""
    problems: list[FieldError] = []
    for field in _CONTAINER_LISTS[:2]:
        if len(new.get(field) or ()) != len(old.get(field) or ()):
            problems.append(forbidden_field(f"spec.{field}", "pod updates may not add or remove containers"))
    if problems:
        return problems
    problems += image_errors(new)
    before, after = old.get("activeDeadlineSeconds"), new.get("activeDeadlineSeconds")
    if after is not None and not 0 <= after <= 2**31 - 1:
        problems.append(invalid("spec.activeDeadlineSeconds", after, "must be between 0 and 2147483647, inclusive"))
        return problems
    if before is not None and (after is None or after > before):
        problems.append(
            invalid(
                "spec.activeDeadlineSeconds",
                after,
                "must not update from a positive integer to nil value"
                if after is None
                else "must be less than or equal to previous value",
            )
        )
    tolerations = new.get("tolerations") or []
    missing = [t for t in old.get("tolerations") or () if not any(_same_toleration(t, n) for n in tolerations)]
    if missing:
        problems.append(
            forbidden_field("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
        )
    else:
        # They are validated as part of the pod as well.
        problems += field_checks.toleration_errors(tolerations)
    old_gates = [g.get("name") for g in old.get("schedulingGates") or ()]
    for at, gate in enumerate(new.get("schedulingGates") or ()):
        if gate.get("name") not in old_gates:
            problems.append(
                forbidden_field(
                    f"spec.schedulingGates[{at}].name",
                    f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
                )
            )
    if old_gates:
        problems += _narrowing_errors(new, old)
    if _fixed(new, gated=bool(old_gates)) != _fixed(old, gated=bool(old_gates)):
        problems.append(forbidden_field("spec", _UPDATE_TEXT))
    return problems


def resize_errors(new: Obj, old: Obj) -> list[FieldError]:
    """Return the errors in an update through the subresource resize: only CPU and memory may change.

    Not checked: whether the QoS class changes, resources of the whole pod, and whether the node supports it.
    """
    problems: list[FieldError] = []
    pairs = [(field, new.get(field) or [], old.get(field) or []) for field in _CONTAINER_LISTS[:2]]
    for field, after, before in pairs:
        if len(after) != len(before):
            problems.append(forbidden_field(f"spec.{field}", f"{field} may not be added or removed on resize"))
            continue
        for at, (one, was) in enumerate(zip(after, before, strict=True)):
            if one.get("name") != was.get("name"):
                text = f"{field} may not be renamed or reordered on resize"
                problems.append(forbidden_field(f"spec.{field}[{at}].name", text))
    if problems:
        return problems
    for field, after, before in pairs:
        for at, (one, was) in enumerate(zip(after, before, strict=True)):
            for kind in ("requests", "limits"):
                if set(_resources(was).get(kind) or ()) - set(_resources(one).get(kind) or ()):
                    text = f"resource {kind} cannot be removed"
                    problems.append(forbidden_field(f"spec.{field}[{at}].resources.{kind}", text))
            if _not_resizable(one) != _not_resizable(was):
                where = "spec" if field == "containers" else f"spec.{field}[{at}]"
                problems.append(forbidden_field(where, "only cpu and memory resources are mutable"))
    return problems


def _resources(container: Obj) -> Obj:
    found: Obj = container.get("resources") or {}
    return found


def _not_resizable(container: Obj) -> Obj:
    """Return the resources of a container without CPU and memory, and without empty parts."""
    found = dict(_resources(container))
    for kind in ("requests", "limits"):
        found[kind] = {name: str(text) for name, text in (found.get(kind) or {}).items() if name not in _RESIZABLE}
    return {key: value for key, value in found.items() if value}


_RESIZABLE = ("cpu", "memory")


def _narrowing_errors(new: Obj, old: Obj) -> list[FieldError]:
    """The node selection of a gated pod may only become narrower (KEP-3838)."""
    problems: list[FieldError] = []
    selector = new.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in (old.get("nodeSelector") or {}).items()):
        text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        problems.append(invalid("spec.nodeSelector", selector, text))
    after, before = _required_terms(new), _required_terms(old)
    field = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    if before and len(after) != len(before):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        problems.append(invalid(field, after, text))
    elif before:
        text = "only additions are allowed (no mutations or deletions)"
        problems += [
            invalid(f"{field}[{at}]", term, text)
            for at, (term, earlier) in enumerate(zip(after, before, strict=True))
            if not all(_begins(term.get(part) or [], earlier.get(part) or []) for part in _TERM_PARTS)
        ]
    return problems


_TERM_PARTS = ("matchExpressions", "matchFields")


def _begins(longer: list[Obj], start: list[Obj]) -> bool:
    return longer[: len(start)] == start


def _required_terms(spec: Obj) -> list[Obj]:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    wanted = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    found: list[Obj] = wanted.get("nodeSelectorTerms") or []
    return found


def _same_toleration(old: Obj, new: Obj) -> bool:
    return {k: v for k, v in old.items() if k != "tolerationSeconds"} == {
        k: v for k, v in new.items() if k != "tolerationSeconds"
    }


def _fixed(spec: Obj, *, gated: bool) -> Obj:
    """The part of a pod spec that no update may change."""
    fixed = {
        k: v
        for k, v in spec.items()
        if k not in ("activeDeadlineSeconds", "tolerations", "schedulingGates", *_CONTAINER_LISTS)
    }
    if gated:
        # Judged by _narrowing_errors.
        fixed.pop("nodeSelector", None)
        fixed.pop("affinity", None)
    for field in _CONTAINER_LISTS:
        if field in spec:
            fixed[field] = [{k: v for k, v in c.items() if k != "image"} for c in spec[field]]
    return fixed
