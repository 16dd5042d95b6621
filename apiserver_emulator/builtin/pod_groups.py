"""PodGroups of scheduling.k8s.io/v1beta1 (1.37, gate GenericWorkload), as far as DRA is concerned. Stateless.

The claims of a group and their statuses are validated in full, the scheduling policy is present, and of the spec only
minCount of a gang can change. Each group gets the finalizer that `controllers.pod_groups` removes from a deleted group.

Source: k8s.io/api/scheduling/v1beta1 types.go, pkg/registry/scheduling/podgroup/strategy.go,
plugin/pkg/admission/scheduling/podgroupprotection, release 1.37; rules DRA-551, DRA-554b; observed on kube-apiserver
1.37.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from apiserver_emulator.dra.canonical import same
from apiserver_emulator.dra.checks import label, subdomain, unique
from apiserver_emulator.dra.rules import Rules
from apiserver_emulator.resource_types import Column, ResourceTable, ResourceType
from apiserver_emulator.strategy import BaseStrategy, RequestContext, keep_all_but_status
from dra_api.status import FieldError, invalid, required

Obj = dict[str, Any]

GATE = "GenericWorkload"
CLAIMS_GATE = "DRAWorkloadResourceClaims"
FINALIZER = "scheduling.k8s.io/podgroup-protection"
FIRST_MINOR = 37
CLAIMS_MAX = 4
_REFERENCES = ("resourceClaimName", "resourceClaimTemplateName")
_POLICIES = ("basic", "gang")
_MODES = ("single", "all")


class PodGroupStrategy(BaseStrategy):
    """The rules of PodGroups: a spec of which only minCount changes, and a status that names the claims."""

    status_subresource = True

    def default(self, obj: Obj) -> None:
        """The disruption mode, and the statuses without empty lists."""
        spec = obj.setdefault("spec", {})
        _without_empty(spec, "resourceClaims")
        spec.setdefault("disruptionMode", {"single": {}})
        _without_empty(obj.setdefault("status", {}), "resourceClaimStatuses")

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """Status is wiped; claims go if their gate is off; the priority is that of no priority class."""
        obj["status"] = {}
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if FINALIZER not in finalizers:
            finalizers.append(FINALIZER)
        if not ctx.enabled(CLAIMS_GATE):
            obj["spec"].pop("resourceClaims", None)
        obj["spec"].setdefault("priority", 0)

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """One policy, and at most four claims."""
        spec = obj["spec"]
        policy = spec.get("schedulingPolicy") or {}
        found = _one_of(policy, "spec.schedulingPolicy", _POLICIES)
        found += _min_count(policy)
        found += _one_of(spec["disruptionMode"], "spec.disruptionMode", _MODES)
        return found + _entries(spec.get("resourceClaims") or [], "spec.resourceClaims", _claim, ctx)

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Restore status or spec; statuses of claims go if their gate is off and there were none."""
        if ctx.subresource != "status":
            new["status"] = old.get("status") or {}
            return
        keep_all_but_status(new, old)
        status = new.setdefault("status", {})
        if not ctx.enabled(CLAIMS_GATE) and not (old.get("status") or {}).get("resourceClaimStatuses"):
            status.pop("resourceClaimStatuses", None)

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """An immutable spec, except minCount; statuses of entries that the spec has."""
        if ctx.subresource != "status":
            spec, before = new["spec"], old["spec"]
            # The generated validation reports no value.
            changed = [
                invalid(f"spec.{field}", None, "field is immutable")
                for field in sorted({*spec, *before} - {"schedulingPolicy"})
                if not same(spec.get(field), before.get(field))
            ]
            policy = spec.get("schedulingPolicy") or {}
            return changed + _policy_change(policy, before.get("schedulingPolicy") or {})
        statuses = new["status"].get("resourceClaimStatuses") or []
        unknown = _unknown_names(statuses, new["spec"])
        return unknown + _entries(statuses, "status.resourceClaimStatuses", _claim_name, ctx)


def _entries(
    values: list[Obj], path: str, each: Callable[[Obj, str], list[FieldError]], ctx: RequestContext
) -> list[FieldError]:
    """At most four entries with different names, each of them valid."""
    return unique(
        values,
        path,
        CLAIMS_MAX,
        each,
        key=lambda item: str(item.get("name")),
        key_field="",
        rules=Rules.of(ctx),
        show=dict,
    )


def _without_empty(part: Obj, field: str) -> None:
    if not part.get(field):
        part.pop(field, None)


def _one_of(value: Obj, path: str, fields: tuple[str, ...]) -> list[FieldError]:
    given = [field for field in fields if value.get(field) is not None]
    names = ", ".join(f"`{field}`" for field in fields)
    if not given:
        return [invalid(path, "", f"must specify one of: {names}")]
    if len(given) > 1:
        return [invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {names}")]
    return []


def _min_count(policy: Obj) -> list[FieldError]:
    path = "spec.schedulingPolicy.gang.minCount"
    if policy.get("gang") is None:
        return []
    count = policy["gang"].get("minCount")
    if not count:
        return [required(path)]
    return [invalid(path, count, "must be greater than or equal to 1")] if count < 1 else []


def _policy_change(new: Obj, old: Obj) -> list[FieldError]:
    """One policy, of the same kind as before; a gang may change its minCount."""
    path = "spec.schedulingPolicy"
    found = _one_of(new, path, _POLICIES)
    has, had = ([policy.get(name) is not None for name in ("basic", "gang")] for policy in (new, old))
    if has[0] != had[0]:
        found.append(invalid(f"{path}.basic", None, "field is immutable"))
    if has[1] == had[1]:
        return found + _min_count(new)
    change = "cannot be set once created" if has[1] else "cannot be cleared once set"
    return [*found, invalid(f"{path}.gang", None, f"field {change}")]


def _claim(entry: Obj, path: str) -> list[FieldError]:
    found = _one_of(entry, path, _REFERENCES)
    found += _in_bytes(label(entry["name"], f"{path}.name")) if entry.get("name") else [required(f"{path}.name")]
    for field in _REFERENCES:
        if entry.get(field) is not None:
            found += _in_bytes(subdomain(entry[field], f"{path}.{field}"))
    return found


def _unknown_names(statuses: list[Obj], spec: Obj) -> list[FieldError]:
    names = {str(entry.get("name")) for entry in spec.get("resourceClaims") or ()}
    text = "must match the name of an entry in `spec.resourceClaims`"
    return [
        invalid(f"status.resourceClaimStatuses[{at}].name", entry.get("name", ""), text)
        for at, entry in enumerate(statuses)
        if entry.get("name", "") not in names
    ]


def _claim_name(entry: Obj, path: str) -> list[FieldError]:
    name = entry.get("resourceClaimName")
    return [] if name is None else _in_bytes(subdomain(name, f"{path}.resourceClaimName"))


def _in_bytes(errors: list[FieldError]) -> list[FieldError]:
    """The generated validation of this kind counts bytes, as its messages say."""
    return [
        replace(error, detail=error.detail.replace(" characters", " bytes", 1))
        if "no more than" in error.detail
        else error
        for error in errors
    ]


def _policy(group: Obj) -> str:
    return next(
        (name.capitalize() for name in _POLICIES if name in group["spec"].get("schedulingPolicy", {})), "<none>"
    )


def _workload(group: Obj) -> str:
    return str((group["spec"].get("workloadRef") or {}).get("workloadName") or "<none>")


def _state(group: Obj) -> str:
    conditions = (group.get("status") or {}).get("conditions") or ()
    initial = [item for item in conditions if item.get("type") == "PodGroupInitiallyScheduled"]
    return str(initial[0].get("reason")) if initial else "Pending"


_POD_GROUPS = ResourceType(
    "scheduling.k8s.io",
    "podgroups",
    "PodGroup",
    ("v1beta1",),
    "v1beta1",
    subresources=("status",),
    strategy=PodGroupStrategy(),
    columns=(Column("Policy", _policy), Column("Workload", _workload), Column("Status", _state)),
)


def register(table: ResourceTable, *, minor: int, feature_gates: Mapping[str, bool]) -> None:
    """Serve PodGroups if the release has them and their gate is on."""
    if minor >= FIRST_MINOR and feature_gates.get(GATE, False):
        table.add(_POD_GROUPS)
