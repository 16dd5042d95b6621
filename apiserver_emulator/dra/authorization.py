"""Permissions that depend on content: admin access by namespace label, and granular status authorization (1.36).

Source: pkg/registry/resource/utils.go, release 1.36; rules DRA-096 to DRA-099, DRA-231, DRA-232, DRA-238. Nothing is
kept between calls; answers come from the request's context.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra.canonical import same
from apiserver_emulator.dra.checks import subdomain
from apiserver_emulator.dra.requests import requests_of
from apiserver_emulator.strategy import RequestContext
from dra_api.allocations import results_of_status
from dra_api.request import User
from dra_api.status import FieldError, forbidden_field, qualified

Obj = dict[str, Any]

ADMIN_LABEL = "resource.kubernetes.io/admin-access"
GROUP = "resource.k8s.io"
CLAIMS = "resourceclaims"
BINDING = "binding"
DRIVER = "driver"
ASSOCIATED = "associated-node:"
ARBITRARY = "arbitrary-node:"
NODE_NAME_EXTRA = "authentication.kubernetes.io/node-name"


def authorized_for_admin(spec: Obj, ctx: RequestContext) -> list[FieldError]:
    """Return errors for admin access without the namespace label (DRA-231). The path has no `.exactly`, as upstream."""
    for at, request in enumerate(requests_of(spec)):
        if (request.get("exactly") or {}).get("adminAccess"):
            return _admin(f"spec.devices.requests[{at}].adminAccess", ctx)
    return []


def authorized_for_admin_status(new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
    """An allocation that grants admin access needs the label at the moment it is written (DRA-238)."""
    if _granted(old) is not None:
        return []
    at = _granted(new)
    return [] if at is None else _admin(f"status.allocation.devices.results[{at}].adminAccess", ctx)


def _granted(status: Obj) -> int | None:
    return next((at for at, result in enumerate(results_of_status(status)) if result.get("adminAccess")), None)


def _admin(path: str, ctx: RequestContext) -> list[FieldError]:
    if ctx.namespace_labels(ctx.namespace).get(ADMIN_LABEL) == "true":
        return []
    text = f"admin access to devices requires the `{ADMIN_LABEL}: true` label on the containing namespace"
    return [forbidden_field(path, text)]


def authorized_for_binding(new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
    """Changing allocation or reservedFor needs resourceclaims/binding in the whole cluster (DRA-096)."""
    if same(new.get("allocation"), old.get("allocation")) and same(new.get("reservedFor"), old.get("reservedFor")):
        return []
    if ctx.allowed(ctx.verb, GROUP, CLAIMS, BINDING, "", ""):
        return []
    text = (
        "changing status.allocation or status.reservedFor requires "
        f'resource="resourceclaims/binding", verb="{ctx.verb}" permission: '
        + _refusal(ctx.user, ctx.verb, BINDING, namespace="", name="")
    )
    return [forbidden_field("status.allocation", text)]


def authorized_for_devices(new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
    """Changing a driver's device status needs that driver's permission, on its node or any (DRA-097 to DRA-099)."""
    verbs = [ARBITRARY + ctx.verb]
    if _runs_on(ctx.user, allocated_node(new.get("allocation"))):
        # First, as in upstream's message.
        verbs.insert(0, ASSOCIATED + ctx.verb)
    found: list[FieldError] = []
    for driver in sorted(modified_drivers(new, old)):
        if any(ctx.allowed(verb, GROUP, CLAIMS, DRIVER, ctx.namespace, driver) for verb in verbs):
            continue
        listed = " ".join(verbs)
        text = (
            f'changing status.devices requires resource="resourceclaims/driver", verb="[{listed}]" permission: '
            + _refusal(ctx.user, verbs[0], DRIVER, namespace=ctx.namespace, name=driver)
        )
        found.append(forbidden_field("status.devices", text))
    return found


def _refusal(user: User, verb: str, subresource: str, *, namespace: str, name: str) -> str:
    subject = qualified(CLAIMS, GROUP)
    named = f' "{name}"' if name else ""
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    return (
        f'{subject}{named} is forbidden: User "{user.name}" cannot {verb} resource "{CLAIMS}/{subresource}" '
        f'in API group "{GROUP}" {where}'
    )


def modified_drivers(new: Obj, old: Obj) -> set[str]:
    """Drivers of which an entry was added, removed or changed; the order of entries does not matter."""
    before = {_key(device): device for device in old.get("devices") or ()}
    found: set[str] = set()
    for device in new.get("devices") or ():
        known = before.pop(_key(device), None)
        if known is None or not same(known, device):
            found.add(device.get("driver", ""))
    return found | {device.get("driver", "") for device in before.values()}


def _key(device: Obj) -> tuple[str, ...]:
    return tuple(device.get(name) or "" for name in ("driver", "pool", "device", "shareID"))


def allocated_node(allocation: Obj | None) -> str:
    """Return the node that an allocation is bound to by name; empty if it is not exactly one."""
    terms: list[Obj] = ((allocation or {}).get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1:
        return ""
    fields = terms[0].get("matchFields") or []
    if terms[0].get("matchExpressions") or len(fields) != 1:
        return ""
    values = fields[0].get("values") or []
    if fields[0].get("key") != "metadata.name" or fields[0].get("operator") != "In" or len(values) != 1:
        return ""
    return str(values[0])


def _runs_on(user: User, node: str) -> bool:
    if not node or not _is_service_account(user.name):
        return False
    names = tuple(user.extra.get(NODE_NAME_EXTRA, ()))
    return names == (node,) and not subdomain(node, "")


def _is_service_account(name: str) -> bool:
    parts = name.split(":")
    return len(parts) == 4 and parts[:2] == ["system", "serviceaccount"] and all(parts[2:])
