"""Validating admission of a write before it is committed."""

from __future__ import annotations

from apiserver_emulator.core import Core
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.strategy import RequestContext
from dra_api.objects import Obj
from dra_api.request import RequestInfo


def admit(
    core: Core,
    resource: ResourceType,
    operation: str,
    info: RequestInfo,
    ctx: RequestContext,
    obj: Obj | None,
    old: Obj | None,
) -> None:
    """Call every interested admission plugin with the options of the write. A plugin raises to refuse."""
    for check in core.admission:
        if check.interested(resource, operation, info):
            kind = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}[operation]
            options: Obj = {**ctx.options, "kind": kind, "apiVersion": "meta.k8s.io/v1"}
            if ctx.dry_run:
                options["dryRun"] = ["All"]
            check.review(resource, operation, info, ctx, obj, old, options)
