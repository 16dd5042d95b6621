"""Another release of the API server on the same storage: how it reads what the release before has stored.

A release drops the fields that it does not know when it reads an object, and they are lost when it writes the object.
Objects that it has not written are complete again for a release that knows the fields. Source: serialization of the
API server (decoding into the internal type), docs/concepts/overview/kubernetes-api (storage versions).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from apiserver_emulator.core import Core
from apiserver_emulator.field_validation import conform
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import Key, Record

Obj = dict[str, Any]


class StoredObjects:
    """The objects that the release of now reads without some of their fields, as they are in the storage."""

    def __init__(self) -> None:
        self._whole: dict[str, tuple[int, Obj]] = {}

    def read_by(self, core: Core, resources: Iterable[ResourceType]) -> None:
        """Let the server of `core` read what is stored of some resources, in its own storage versions."""
        whole, self._whole = self._whole, {}
        for resource in resources:
            node = core.node(resource, resource.storage_version)

            def read(_: Key, record: Record, resource: ResourceType = resource, node: Any = node) -> Obj:
                uid = record.obj["metadata"]["uid"]
                rv, stored = whole.get(uid, (0, record.obj))
                if rv != record.rv:
                    stored = record.obj
                obj = copy.deepcopy(stored)
                obj["apiVersion"] = resource.storage_api_version
                unknown: list[str] = []
                if node is not None:
                    conform(obj, node, "", unknown)
                if unknown:
                    self._whole[uid] = (record.rv, stored)
                return obj

            core.store.reread(resource.storage_key, read)
