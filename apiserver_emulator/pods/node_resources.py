"""What devices use of their node in the status of pods: validation, and dropping without DRANodeAllocatableResources.

Pure functions. Source: pkg/apis/core/validation/validation.go (validateNodeAllocatableResourceClaimStatus) and
pkg/api/pod/util.go, release 1.37; rules DRA-537, DRA-537b and DRA-537c.
"""

from __future__ import annotations

from apiserver_emulator.dra.node_allocatable import is_allocatable, overhead_errors
from dra_api.objects import Obj
from dra_api.quantity import Quantity
from dra_api.status import FieldError, invalid

FIELD = "nodeAllocatableResourceClaimStatuses"
_NAME_TEXT = "must be a node allocatable resource name"


def errors(pod: Obj) -> list[FieldError]:
    """Return the errors in what the devices of a pod's claims use of its node."""
    status = pod.get("status") or {}
    claims = _claims(pod)
    problems: list[FieldError] = []
    for at, entry in enumerate(status.get(FIELD) or ()):
        path = f"status.{FIELD}[{at}]"
        name = entry.get("resourceClaimName")
        if not name:
            continue
        if name not in claims:
            problems.append(invalid(f"{path}.resourceClaimName", name, "no mapping found in pod reference"))
        problems += _mapping_errors(entry.get("mapping") or [], f"{path}.mapping")
        problems += _overhead_errors(entry.get("overhead") or [], f"{path}.overhead")
    return problems


def drop_unused(new: Obj, old: Obj) -> None:
    """Drop the field of the disabled feature from a status, unless the stored one has it."""
    if not (old.get("status") or {}).get(FIELD):
        (new.get("status") or {}).pop(FIELD, None)


def _claims(pod: Obj) -> set[str]:
    """Return the names of the claims of a pod: those that its spec names, and those that were generated for it."""
    entries = [
        *((pod.get("spec") or {}).get("resourceClaims") or ()),
        *((pod.get("status") or {}).get("resourceClaimStatuses") or ()),
    ]
    return {str(entry["resourceClaimName"]) for entry in entries if entry.get("resourceClaimName") is not None}


def _mapping_errors(mappings: list[Obj], path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    for at, mapping in enumerate(mappings):
        problems += _name_errors(mapping, f"{path}[{at}]")
        quantity = mapping.get("quantity")
        if quantity is not None and Quantity.parse(str(quantity)).sign < 0:
            problems.append(invalid(f"{path}[{at}].quantity", quantity, "must be non-negative"))
    return problems


def _overhead_errors(overheads: list[Obj], path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    for at, overhead in enumerate(overheads):
        problems += _name_errors(overhead, f"{path}[{at}]")
        problems += overhead_errors(overhead, f"{path}[{at}]")
    return problems


def _name_errors(used: Obj, path: str) -> list[FieldError]:
    name = str(used.get("name", ""))
    return [] if is_allocatable(name) else [invalid(f"{path}.name", name, _NAME_TEXT)]
