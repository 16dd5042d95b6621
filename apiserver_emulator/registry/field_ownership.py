"""managedFields of an object that is created or replaced, in the version of the request."""

from __future__ import annotations

import orjson

from apiserver_emulator import managed_fields
from apiserver_emulator.core import Core
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import Record
from dra_api.clock import timestamp
from dra_api.objects import Obj


def account(
    core: Core, resource: ResourceType, version: str, new: Obj, old: Record | None, *, manager: str, subresource: str
) -> None:
    """Set managedFields of a stored object: the manager owns the fields that differ from `old` in `version`."""
    converter = core.converter(resource, version)
    shown, shown_old = new, old.obj if old is not None else None
    if converter:
        shown = converter(orjson.loads(orjson.dumps(new)))
        shown_old = converter(old.copy()) if old is not None else None
    managed_fields.update(
        shown,
        shown_old,
        core.node(resource, version),
        manager=manager,
        subresource=subresource,
        time=timestamp(core.clock.now()),
        resource=resource,
    )
    # Conversion made a copy: its managedFields go back into the stored object.
    if shown is not new:
        new["metadata"].pop("managedFields", None)
        if recorded := shown["metadata"].get("managedFields"):
            new["metadata"]["managedFields"] = recorded
