"""Saves the objects of a scenario at the moment of a failure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

import orjson

from dra_api.objects import Obj, Resource, name_of, namespace_of
from dra_api.private_file import write_private
from dra_conformance.core.events.observer import Observer


def save(
    folder: Path,
    observer: Observer,
    resources: Iterable[Resource],
    *,
    namespace: str,
    suffix: str,
    nodes: Collection[str],
) -> None:
    """Write the observed objects of a scenario to `objects.json` in `folder`.

    An object belongs to the scenario by its namespace, by the suffix in its name, or by the node that it names.
    """
    # Without the look-ahead the suffix of scenario 1 would also match scenario 12.
    suffixed = re.compile(rf"{re.escape(suffix)}(?!\d)")

    def belongs(resource: Resource, obj: Obj) -> bool:
        if resource.namespaced:
            return namespace_of(obj) == namespace
        node = str((obj.get("spec") or {}).get("nodeName") or "")
        return bool(suffixed.search(name_of(obj))) or node.endswith(suffix) or node in nodes

    objects = [
        {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        for resource in resources
        for obj in observer.list(resource)
        if belongs(resource, obj)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    # Private: opaque parameters may have secrets, against the rules of DRA.
    write_private(folder / "objects.json", orjson.dumps(objects, option=orjson.OPT_INDENT_2))
